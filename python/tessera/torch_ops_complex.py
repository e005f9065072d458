"""Converts ops of torch on complex numbers to ops on their real and imaginary parts, and Fourier
transforms to matmuls with constant tables."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Sequence

import torch

from . import groups, torch_ops_composites
from .errors import ImportFailure
from .graph_text import Value
from .torch_complex import HANDLERS, PARTS, Complex, Parts, handles, is_complex_tensor
from .torch_importer import HANDLERS as REAL_HANDLERS
from .torch_importer import Importer, argument, element_of, positive
from .torch_ops_elementwise import with_slope
from .torch_ops_matmuls import contract

# The largest size of a dimension that is transformed: its table has so many rows and columns.
TRANSFORMED = 4096


# Operands.

@dataclasses.dataclass(eq=False)
class RealOp:
    """An op of real numbers in place of a complex node, as handlers of real ops read it: values of
    the graph are among its arguments."""
    target: Any
    args: Sequence[Any]
    kwargs: dict[str, Any]
    meta: dict[str, Any]


def parts_of(importer: Importer, item: Any) -> Parts:
    """Real and imaginary part of a number, a value or a constant."""
    if isinstance(item, complex):
        return item.real, item.imag or None
    if isinstance(item, (bool, int, float)):
        return item, None
    constant = importer.constants.get(item)
    if constant is not None and is_complex_tensor(constant) and item not in importer.written:
        constant = constant.detach().resolve_conj()
        importer.written[item] = Complex(importer.write(constant.real),
                                         importer.write(constant.imag))
    found = importer.found(item)
    return (found.real, found.imag) if isinstance(found, Complex) else (found, None)


def part_element(node: Any) -> str:
    """The element type of a result's parts."""
    dtype = node.meta["val"].dtype
    return element_of(PARTS.get(dtype, dtype))


def operand(importer: Importer, node: Any, item: Any) -> tuple[Value, Value | None]:
    """The parts of an argument in the shape and type of the node's result; a real argument has no
    second one."""
    shape, element, graph = tuple(node.meta["val"].shape), part_element(node), importer.graph

    def fit(part: Any) -> Value:
        if isinstance(part, Value):
            return graph.expand(graph.cast(part, element), shape)
        return graph.constant(part, shape, element)
    real, imag = parts_of(importer, item)
    return fit(real), None if imag is None else fit(imag)


def pair(importer: Importer, node: Any, item: Any) -> Complex:
    """An argument in the shape and type of the node's result; a real one has zeros."""
    real, imag = operand(importer, node, item)
    return Complex(real, zeros_like(importer, real) if imag is None else imag)


def zeros_like(importer: Importer, x: Value) -> Value:
    return importer.graph.constant(0, x.shape, x.element)


def whole(importer: Importer, item: Any) -> Complex:
    """A value or a constant in its own shape and type."""
    real, imag = parts_of(importer, item)
    assert isinstance(real, Value), "expects a tensor"
    return Complex(real, imag if isinstance(imag, Value) else zeros_like(importer, real))


def real_op(node: Any, args: Sequence[Any]) -> RealOp:
    """The op of a node on real numbers."""
    def real(item: Any) -> Any:
        return torch.empty(item.shape, dtype=PARTS[item.dtype], device="meta") \
            if is_complex_tensor(item) else item
    value = torch.utils._pytree.tree_map(real, node.meta["val"])
    return RealOp(node.target, args, dict(node.kwargs), {**node.meta, "val": value})


def join(real: Any, imag: Any) -> Any:
    """A pair of two values, or pairs of two lists of values."""
    return [Complex(*both) for both in zip(real, imag)] if isinstance(real, list) else \
        Complex(real, imag)


# Complex numbers.

@handles(
    *(f"aten.{name}" for name in (
        # Shapes.
        "view.default", "reshape.default", "_unsafe_view.default", "unsqueeze.default",
        "squeeze.dim", "squeeze.default", "squeeze.dims", "flatten.using_ints", "unflatten.int",
        "expand.default", "broadcast_to.default", "repeat.default", "tile.default",
        "permute.default", "transpose.int", "t.default", "swapaxes.default", "numpy_T.default",
        "mT.default", "slice.Tensor", "select.int", "split.Tensor", "split_with_sizes.default",
        "chunk.default", "unsafe_split.Tensor", "unbind.int", "flip.default", "roll.default",
        # Copies.
        "clone.default", "contiguous.default", "alias.default", "lift_fresh_copy.default",
        "resolve_conj.default", "resolve_neg.default", "positive.default",
        # Rows of tables, sums.
        "index.Tensor", "index_select.default", "embedding.default", "neg.default",
        "sum.default", "sum.dim_IntList", "mean.default", "mean.dim")))
def convert_each_part(importer: Importer, node: Any) -> Any:
    """Converts an op that does the same with both parts."""
    name = str(node.target)
    handler = REAL_HANDLERS["aten.alias.default" if name.startswith("aten.resolve_") else name]

    def convert(take: Callable[[Complex], Value]) -> Any:
        def replace(item: Any) -> Any:
            is_pair = is_complex_tensor(item.meta.get("val"))
            return take(whole(importer, item)) if is_pair else item
        return handler(importer, real_op(node, torch.fx.node.map_arg(node.args, replace)))
    return join(convert(lambda x: x.real), convert(lambda x: x.imag))


@handles("aten.detach.default")
def convert_detach(importer: Importer, node: Any) -> Complex:
    x = whole(importer, node.args[0])
    if node not in importer.trained:
        return x
    importer.trained.remove(node)
    return Complex(importer.stop_gradient(x.real), importer.stop_gradient(x.imag))


@handles("aten.view_as_complex.default")
def convert_to_pair(importer: Importer, node: Any) -> Complex:
    """Pairs of the last dimension; neighbours of a dimension that was split into pairs."""
    x, graph = importer.value(node.args[0]), importer.graph
    shape, step = x.shape[:-1], 1
    if importer.unmerged.get(x, x).shape[-1:] != (2,) and shape:
        x, step = graph.reshape(x, (*shape[:-1], 2 * shape[-1])), 2
    last = len(x.shape) - 1
    halves = (graph.slice(x, last, i, x.shape[-1] // 2, step) for i in (0, 1))
    return Complex(*(graph.reshape(half, shape) for half in halves))


@handles("aten.view_as_real.default")
def convert_from_pair(importer: Importer, node: Any) -> Value:
    x, graph = whole(importer, node.args[0]), importer.graph
    columns = [graph.reshape(part, (*part.shape, 1)) for part in (x.real, x.imag)]
    return graph.concat(columns, len(x.shape))


@handles("aten.real.default")
def convert_real_part(importer: Importer, node: Any) -> Value:
    return whole(importer, node.args[0]).real


@handles("aten.imag.default")
def convert_imaginary_part(importer: Importer, node: Any) -> Value:
    return whole(importer, node.args[0]).imag


@handles("aten.complex.default")
def convert_complex(importer: Importer, node: Any) -> Complex:
    return Complex(*(operand(importer, node, item)[0] for item in node.args[:2]))


@handles("aten.polar.default")
def convert_polar(importer: Importer, node: Any) -> Complex:
    """A number by its size and its angle. The derivative by the size is the number's direction, of
    which torch takes the opposite one for a negative size, and none for 0."""
    (size, _), (angle, _) = (operand(importer, node, item) for item in node.args[:2])
    graph = importer.graph
    if node.args[0] in importer.trained:
        negative = graph.select(graph.compare("lt", size, 0), graph.constant(
            -1, size.shape, size.element), 0)
        sign = graph.select(graph.compare("gt", size, 0), 1, negative)
        size = with_slope(importer, importer.stop_gradient(size), size, sign)
    return Complex(*(graph.arith("mul", size, graph.unary(name, angle))
                     for name in ("math.cos", "math.sin")))


@handles("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten._to_copy.default",
         "aten.type_as.default", "aten.to.other")
def convert_to(importer: Importer, node: Any) -> Complex:
    if not is_complex_tensor(node.meta["val"]):
        raise ImportFailure("expects no cast of complex numbers to real ones; write x.real")
    return pair(importer, node, node.args[0])


@handles("aten._conj.default", "aten._conj_physical.default", "aten.conj_physical.default")
def convert_conjugate(importer: Importer, node: Any) -> Complex:
    x = whole(importer, node.args[0])
    return Complex(x.real, importer.graph.unary("arith.negf", x.imag))


@handles("aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor", "aten.sub.Scalar",
         "aten.rsub.Tensor", "aten.rsub.Scalar")
def convert_sum(importer: Importer, node: Any) -> Complex:
    """A sum or a difference; a real operand leaves the imaginary part of the other one."""
    (a, b), (c, d) = (operand(importer, node, item) for item in node.args[:2])
    name, alpha, graph = str(node.target), argument(node, 2, "alpha", 1), importer.graph
    if "rsub" in name:
        (a, b), (c, d) = (c, d), (a, b)
    if alpha != 1:
        if "rsub" in name or isinstance(alpha, complex):
            raise ImportFailure("expects no factor alpha of rsub and no complex one; multiply "
                                "before")
        c, d = graph.arith("mul", c, alpha), None if d is None else graph.arith("mul", d, alpha)
    kind = "add" if "add" in name else "sub"
    if b is None or d is None:
        negated = d if d is None or kind == "add" else graph.unary("arith.negf", d)
        imag = b if negated is None else negated
    else:
        imag = graph.arith(kind, b, d)
    return Complex(graph.arith(kind, a, c), zeros_like(importer, a) if imag is None else imag)


def multiply(importer: Importer, x: tuple[Value, Value | None],
             y: tuple[Value, Value | None]) -> Complex:
    """(a + ib) (c + id); a real operand multiplies both parts of the other one."""
    graph, ((a, b), (c, d)) = importer.graph, (x, y)
    if d is None:
        return Complex(graph.arith("mul", a, c),
                       zeros_like(importer, a) if b is None else graph.arith("mul", b, c))
    if b is None:
        return Complex(graph.arith("mul", a, c), graph.arith("mul", a, d))
    real = graph.arith("sub", graph.arith("mul", a, c), graph.arith("mul", b, d))
    return Complex(real, graph.arith("add", graph.arith("mul", a, d), graph.arith("mul", b, c)))


@handles("aten.mul.Tensor", "aten.mul.Scalar")
def convert_product(importer: Importer, node: Any) -> Complex:
    return multiply(importer, *(operand(importer, node, item) for item in node.args[:2]))


@handles("aten.square.default")
def convert_square(importer: Importer, node: Any) -> Complex:
    x = operand(importer, node, node.args[0])
    return multiply(importer, x, x)


@handles("aten.div.Tensor", "aten.div.Scalar", "aten.reciprocal.default")
def convert_quotient(importer: Importer, node: Any) -> Complex:
    """(a + ib) / (c + id): numerator times conjugate, over the square of the divisor's size, both
    of parts over its larger part."""
    numbers = (1, node.args[0]) if len(node.args) == 1 else node.args[:2]
    (a, b), (c, d) = (operand(importer, node, item) for item in numbers)
    graph = importer.graph
    if d is None:
        return Complex(graph.arith("div", a, c),
                       zeros_like(importer, a) if b is None else graph.arith("div", b, c))
    scale = larger_part(importer, c, d)
    c, d = graph.arith("div", c, scale), graph.arith("div", d, scale)
    size = graph.arith("mul", scale, graph.arith("add", graph.arith("mul", c, c),
                                                 graph.arith("mul", d, d)))
    product = multiply(importer, (a, b), (c, graph.unary("arith.negf", d)))
    return Complex(graph.arith("div", product.real, size), graph.arith("div", product.imag, size))


def larger_part(importer: Importer, x: Value, y: Value) -> Value:
    """The larger size of two parts, without a gradient."""
    graph = importer.graph
    sizes = (graph.unary("math.absf", importer.stop_gradient(part)) for part in (x, y))
    return graph.binary("arith.maximumf", *sizes)


@handles("aten.abs.default")
def convert_size(importer: Importer, node: Any) -> Value:
    """The absolute value, whose squares do not overflow; its gradient is 0 at 0."""
    x, graph = whole(importer, node.args[0]), importer.graph
    largest = larger_part(importer, x.real, x.imag)
    is_fixed = graph.binary("arith.ori", graph.compare("eq", largest, 0),
                            graph.compare("eq", largest, math.inf))
    scale = graph.select(is_fixed, 1, largest)
    shares = [graph.arith("div", part, scale) for part in (x.real, x.imag)]
    squares = graph.arith("add", *(graph.arith("mul", share, share) for share in shares))
    root = graph.unary("math.sqrt", graph.select(is_fixed, 1, squares))
    return graph.select(is_fixed, largest, graph.arith("mul", scale, root))


@handles("aten.angle.default")
def convert_angle(importer: Importer, node: Any) -> Any:
    x = whole(importer, node.args[0])
    return REAL_HANDLERS["aten.atan2.default"](importer, real_op(node, (x.imag, x.real)))


@handles("aten.exp.default")
def convert_exponential(importer: Importer, node: Any) -> Complex:
    x, graph = whole(importer, node.args[0]), importer.graph
    size = graph.unary("math.exp", x.real)
    return Complex(*(graph.arith("mul", size, graph.unary(name, x.imag))
                     for name in ("math.cos", "math.sin")))


@handles("aten.cat.default", "aten.stack.default")
def convert_concatenation(importer: Importer, node: Any) -> Any:
    items = [whole(importer, item) for item in node.args[0]]
    handler = REAL_HANDLERS[str(node.target)]
    return join(*(handler(importer, real_op(node, (parts, *node.args[1:]))) for parts in
                  ([x.real for x in items], [x.imag for x in items])))


@handles("aten.constant_pad_nd.default", "aten.pad.default")
def convert_pad(importer: Importer, node: Any) -> Any:
    if argument(node, 3 if str(node.target) == "aten.pad.default" else 2, "value"):
        raise ImportFailure("expects complex numbers that are padded by zeros")
    return convert_each_part(importer, node)


@handles("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def convert_where(importer: Importer, node: Any) -> Complex:
    x, y = (pair(importer, node, item) for item in node.args[1:3])
    graph = importer.graph
    condition = graph.expand(graph.cast(importer.value(node.args[0]), "i1"), x.shape)
    return Complex(graph.select(condition, x.real, y.real),
                   graph.select(condition, x.imag, y.imag))


@handles("aten.matmul.default", "aten.bmm.default", "aten.mm.default", "aten.mv.default",
         "aten.einsum.default")
def convert_matmul(importer: Importer, node: Any) -> Complex:
    """Matmuls of the parts of two operands."""
    is_einsum = str(node.target) == "aten.einsum.default"
    operands = node.args[1] if is_einsum else node.args[:2]
    if len(operands) != 2:
        raise ImportFailure("expects an einsum of two tensors of complex numbers; write one after "
                            "the other")
    x, y = (whole(importer, item) for item in operands)
    graph, handler = importer.graph, REAL_HANDLERS[str(node.target)]

    def product(left: Value, right: Value) -> Any:
        args = (node.args[0], [left, right]) if is_einsum else (left, right)
        return handler(importer, real_op(node, args))
    return Complex(graph.arith("sub", product(x.real, y.real), product(x.imag, y.imag)),
                   graph.arith("add", product(x.real, y.imag), product(x.imag, y.real)))


# Fourier transforms.

for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2",
              "hfft2", "ihfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn", "fftshift",
              "ifftshift"):
    HANDLERS[f"aten.fft_{_name}.default"] = torch_ops_composites.expand


def wave(rows: int, columns: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tables of cosines and sines of j k turns over the size, exact at quarter turns."""
    turns = torch.outer(torch.arange(rows), torch.arange(columns)) % size
    angles = turns.double() * (2 * math.pi / size)
    is_quarter = 4 * turns % size == 0
    cosines, sines = (torch.where(is_quarter, table.round(), table)
                      for table in (angles.cos(), angles.sin()))
    return cosines, sines


def scale_of(mode: int, size: int) -> float:
    """The factor of a transform along one dimension: none, one over the root, or one over the size.
    """
    return (1.0, size ** -0.5, 1 / size)[mode]


def check_size(size: int) -> None:
    if size > TRANSFORMED:
        raise ImportFailure(f"expects Fourier transforms of at most {TRANSFORMED} elements but got "
                            f"{size}")


def transform(importer: Importer, x: tuple[Value, Value | None], dim: int, columns: int,
              is_forward: bool, mode: int) -> Complex:
    """The first columns of the transform of a dimension."""
    graph, size = importer.graph, x[0].shape[dim]
    check_size(size)
    cosines, sines = (table * scale_of(mode, size) for table in wave(size, columns, size))
    sines = -sines if is_forward else sines
    real, imag = (contract(importer, x[0], dim, table) for table in (cosines, sines))
    if x[1] is None:
        return Complex(real, imag)
    return Complex(graph.arith("sub", real, contract(importer, x[1], dim, sines)),
                   graph.arith("add", imag, contract(importer, x[1], dim, cosines)))


@handles("aten._fft_c2c.default")
def convert_transform(importer: Importer, node: Any) -> Complex:
    source, dims, mode, is_forward = node.args
    x = whole(importer, source)
    for dim in (positive(dim, len(x.shape)) for dim in dims):
        x = transform(importer, (x.real, x.imag), dim, x.shape[dim], is_forward, mode)
    return x


@handles("aten._fft_r2c.default")
def convert_transform_of_real(importer: Importer, node: Any) -> Complex:
    """A transform of real numbers, whose last dimension has half of the columns if the others
    follow from these."""
    source, dims, mode, is_onesided = node.args
    real = groups.wide(importer.graph, importer.value(source))
    *first, last = (positive(dim, len(real.shape)) for dim in dims)
    columns = real.shape[last] // 2 + 1 if is_onesided else real.shape[last]
    x = transform(importer, (real, None), last, columns, True, mode)
    for dim in first:
        x = transform(importer, (x.real, x.imag), dim, x.shape[dim], True, mode)
    return x


@handles("aten._fft_c2r.default")
def convert_transform_to_real(importer: Importer, node: Any) -> Value:
    """The real numbers whose transform has these first columns: each column other than the first
    and the middle one counts twice, for its conjugate."""
    source, dims, mode, size = node.args
    x, graph = whole(importer, source), importer.graph
    *first, last = (positive(dim, len(x.shape)) for dim in dims)
    for dim in first:
        x = transform(importer, (x.real, x.imag), dim, x.shape[dim], False, mode)
    check_size(size)
    columns = x.shape[last]
    counts = torch.full((columns, 1), 2 * scale_of(mode, size), dtype=torch.float64)
    counts[0] /= 2
    if 2 * (columns - 1) == size:
        counts[-1] /= 2
    cosines, sines = (table * counts for table in wave(columns, size, size))
    return graph.arith("sub", contract(importer, x.real, last, cosines),
                       contract(importer, x.imag, last, sines))
