"""Converts the ops of torch to nn, arith, math and tensor, with a handler for each.

An op that nn has (layer_norm, gelu, attention) becomes that op; the compiler's passes recognize
groups of ops."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import LETTERS, Value
from .torch_experts import Choice
from .torch_importer import (HANDLERS, IDENTITIES, Importer, argument, element_of, handles,
                             is_random, place, positive)

# Elementwise.

for _name, _op in {"neg": "arith.negf", "exp": "math.exp", "log": "math.log", "tanh": "math.tanh",
                   "rsqrt": "math.rsqrt", "sqrt": "math.sqrt", "erf": "math.erf",
                   "abs": "math.absf", "cos": "math.cos", "sin": "math.sin", "log1p": "math.log1p",
                   "expm1": "math.expm1", "floor": "math.floor", "ceil": "math.ceil",
                   "round": "math.roundeven"}.items():
    def _unary(importer: Importer, node: Any, op: str = _op) -> Value:
        x = importer.operand(node, node.args[0])
        if not x.is_float:
            if op != "arith.negf":
                raise ImportFailure(f"{place(node)}: expects floats but got {x.type}")
            return importer.graph.binary(
                "arith.subi", importer.graph.constant(0, x.shape, x.element), x)
        return importer.graph.unary(op, x)
    HANDLERS[f"aten.{_name}.default"] = _unary


def binary_op(importer: Importer, node: Any, floats: str, integers: str | None,
              bools: str | None = None) -> Value:
    x, y = (importer.operand(node, node.args[i]) for i in (0, 1))
    name = floats if x.is_float else bools if x.element == "i1" else integers
    if name is None:
        raise ImportFailure(f"{place(node)}: expects other elements of {node.target} but got "
                            f"{x.type}")
    alpha = argument(node, 2, "alpha", 1)
    if alpha != 1:
        scale = importer.graph.constant(alpha, y.shape, y.element)
        y = importer.graph.binary("arith.mulf" if y.is_float else "arith.muli", y, scale)
    return importer.graph.binary(name, x, y)


for _names, _ops in {("add.Tensor", "add.Scalar"): ("arith.addf", "arith.addi", "arith.ori"),
                     ("sub.Tensor", "sub.Scalar"): ("arith.subf", "arith.subi"),
                     ("mul.Tensor", "mul.Scalar"): ("arith.mulf", "arith.muli", "arith.andi"),
                     ("div.Tensor", "div.Scalar"): ("arith.divf", None),
                     ("maximum.default", "max.other"): ("arith.maximumf", "arith.maxsi"),
                     ("minimum.default", "min.other"): ("arith.minimumf", "arith.minsi"),
                     ("__and__.Tensor", "bitwise_and.Tensor", "logical_and.default"):
                         (None, "arith.andi", "arith.andi"),
                     ("__or__.Tensor", "bitwise_or.Tensor", "logical_or.default"):
                         (None, "arith.ori", "arith.ori")}.items():
    def _binary(importer: Importer, node: Any, ops: tuple = _ops) -> Value:
        return binary_op(importer, node, *ops)
    for _name in _names:
        HANDLERS[f"aten.{_name}"] = _binary

for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    def _compare(importer: Importer, node: Any, predicate: str = _name) -> Value:
        parts = [item.meta["val"] if isinstance(item, torch.fx.Node) else item
                 for item in node.args[:2]]
        common = torch.result_type(*parts)
        like = Value("", (), element_of(common))
        x, y = (importer.operand(node, item, like) for item in node.args[:2])
        return importer.graph.compare(predicate, x, y)
    HANDLERS[f"aten.{_name}.Tensor"] = HANDLERS[f"aten.{_name}.Scalar"] = _compare


@handles("aten.rsub.Tensor", "aten.rsub.Scalar")
def convert_reversed_subtraction(importer: Importer, node: Any) -> Value:
    x, y, graph = *(importer.operand(node, item) for item in node.args[:2]), importer.graph
    alpha = argument(node, 2, "alpha", 1)
    if alpha != 1:
        x = graph.binary("arith.mulf" if x.is_float else "arith.muli", x,
                         graph.constant(alpha, x.shape, x.element))
    return graph.binary("arith.subf" if x.is_float else "arith.subi", y, x)


@handles("aten.pow.Tensor_Scalar", "aten.square.default")
def convert_power(importer: Importer, node: Any) -> Value:
    x, exponent = importer.operand(node, node.args[0]), argument(node, 1, "exponent", 2)
    if not x.is_float and exponent not in (1, 2, 3, 4):
        raise ImportFailure(f"{place(node)}: expects floats but got {x.type}")
    return groups.power(importer.graph, x, exponent)


@handles("aten.pow.Scalar")
def convert_power_of(importer: Importer, node: Any) -> Value:
    x, base = importer.operand(node, node.args[1]), node.args[0]
    if not x.is_float or base <= 0:
        raise ImportFailure(f"{place(node)}: expects a positive number to the power of floats but "
                            f"got {base} and {x.type}")
    factor = importer.graph.constant(math.log(base), x.shape, x.element)
    return importer.graph.unary("math.exp", importer.graph.binary("arith.mulf", x, factor))


@handles("aten.tril.default", "aten.triu.default")
def convert_triangle(importer: Importer, node: Any) -> Value:
    x, graph, diagonal = importer.value(node.args[0]), importer.graph, argument(node, 1, "diagonal", 0)
    shown = torch.ones(x.shape[-2:], dtype=torch.bool)
    shown = shown.tril(diagonal) if "tril" in str(node.target) else shown.triu(diagonal)
    mask = graph.broadcast(importer.write(shown), x.shape, [len(x.shape) - 2, len(x.shape) - 1])
    return graph.select(mask, x, graph.constant(0, x.shape, x.element))


@handles("aten.roll.default")
def convert_roll(importer: Importer, node: Any) -> Value:
    x, dims = importer.value(node.args[0]), argument(node, 2, "dims", [])
    shifts = node.args[1]
    if not dims:
        raise ImportFailure(f"{place(node)}: expects a roll with dimensions")
    for shift, dim in zip(shifts, dims):
        dim = positive(dim, len(x.shape))
        size = x.shape[dim]
        start = -shift % size
        if start:
            x = importer.graph.concat([importer.graph.slice(x, dim, start, size - start),
                                       importer.graph.slice(x, dim, 0, start)], dim)
    return x


@handles("aten.leaky_relu.default")
def convert_leaky_relu(importer: Importer, node: Any) -> Value:
    x, graph = importer.operand(node, node.args[0]), importer.graph
    slope = graph.constant(argument(node, 1, "negative_slope", 0.01), x.shape, x.element)
    zero = graph.constant(0, x.shape, x.element)
    return graph.select(graph.compare("gt", x, zero), x, graph.binary("arith.mulf", x, slope))


@handles("aten.elu.default")
def convert_elu(importer: Importer, node: Any) -> Value:
    """x, or alpha (exp(x) - 1) for x below zero; the exponential and the gradients stay finite."""
    x, graph = importer.operand(node, node.args[0]), importer.graph
    if argument(node, 2, "scale", 1) != 1 or argument(node, 3, "input_scale", 1) != 1:
        raise ImportFailure(f"{place(node)}: expects an elu without scales")
    zero = graph.constant(0, x.shape, x.element)
    is_above = graph.compare("gt", x, zero)
    low = graph.unary("math.expm1", graph.select(is_above, zero, x))
    alpha = graph.constant(argument(node, 1, "alpha", 1), x.shape, x.element)
    return graph.select(is_above, x, graph.binary("arith.mulf", low, alpha))


@handles("aten.reciprocal.default")
def convert_reciprocal(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    return importer.graph.binary("arith.divf", importer.graph.constant(1, x.shape, x.element), x)


@handles("aten.sigmoid.default")
def convert_sigmoid(importer: Importer, node: Any) -> Value:
    return groups.sigmoid(importer.graph, importer.operand(node, node.args[0]))


@handles("aten.copy.default", "aten.fill.Scalar", "aten.fill.Tensor")
def convert_copy(importer: Importer, node: Any) -> Value:
    return importer.operand(node, node.args[1])


@handles("aten.relu.default")
def convert_relu(importer: Importer, node: Any) -> Value:
    return groups.relu(importer.graph, importer.operand(node, node.args[0]))


@handles("aten.softplus.default")
def convert_softplus(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    return groups.softplus(importer.graph, x, argument(node, 1, "beta", 1),
                           argument(node, 2, "threshold", 20))


@handles("aten.clamp.default", "aten.clamp_min.default")
def convert_clamp(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    low, high = (None if bound is None else importer.graph.constant(bound, x.shape, x.element)
                 for bound in (argument(node, 1, "min"), argument(node, 2, "max")))
    return groups.clamp(importer.graph, x, low, high)


@handles("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def convert_where(importer: Importer, node: Any) -> Value:
    condition = importer.operand(node, node.args[0], Value("", (), "i1"))
    x, y = (importer.operand(node, item) for item in node.args[1:3])
    return importer.graph.select(condition, x, y)


@handles("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def convert_masked_fill(importer: Importer, node: Any) -> Value:
    x, filled = (importer.operand(node, node.args[i]) for i in (0, 2))
    mask = importer.operand(node, node.args[1], Value("", (), "i1"))
    return importer.graph.select(mask, filled, x)


@handles("aten.logical_not.default", "aten.bitwise_not.default")
def convert_not(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    ones = importer.graph.constant(True if x.element == "i1" else -1, x.shape, x.element)
    return importer.graph.binary("arith.xori", x, ones)


@handles("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten._to_copy.default",
         "aten.type_as.default", "aten.to.other", "aten.float.default")
def convert_to(importer: Importer, node: Any) -> Value:
    return importer.graph.cast(importer.value(node.args[0]),
                               element_of(node.meta["val"].dtype))


@handles(*IDENTITIES)
def convert_identity(importer: Importer, node: Any) -> Value:
    if is_random(node):
        raise ImportFailure(f"{place(node)}: expects no dropout (eval mode, or p = 0) but got "
                            f"{node.args[1]}")
    return importer.value(node.args[0])


# Shapes.

@handles("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
         "aten.unsqueeze.default", "aten.squeeze.dim", "aten.squeeze.default",
         "aten.squeeze.dims", "aten.flatten.using_ints", "aten.unflatten.int",
         "aten.view_as.default", "aten.reshape_as.default")
def convert_reshape(importer: Importer, node: Any) -> Value:
    x, shape = importer.value(node.args[0]), tuple(node.meta["val"].shape)
    return importer.merged(x, shape)


@handles("aten.expand.default", "aten.expand_as.default", "aten.broadcast_to.default")
def convert_expand(importer: Importer, node: Any) -> Value:
    return importer.expanded(importer.value(node.args[0]), node.meta["val"].shape)


@handles("aten.repeat.default", "aten.tile.default")
def convert_repeat(importer: Importer, node: Any) -> Value:
    x, counts = importer.value(node.args[0]), list(node.args[1])
    return groups.tile(importer.graph, x, [1] * (len(x.shape) - len(counts)) + counts)


@handles("aten.permute.default")
def convert_permute(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    return importer.graph.transpose(x, [positive(d, len(x.shape)) for d in node.args[1]])


@handles("aten.numpy_T.default", "aten.mT.default")
def convert_reversed(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    order = list(range(len(x.shape)))
    last = len(order) if str(node.target) == "aten.numpy_T.default" else 2
    return importer.graph.transpose(x, order[:len(order) - last] + order[:-last - 1:-1])


@handles("aten.transpose.int", "aten.t.default", "aten.swapaxes.default")
def convert_transpose(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    order = list(range(len(x.shape)))
    if len(order) > 1:
        a, b = (node.args[1:3] if len(node.args) > 2 else (0, 1))
        order[a], order[b] = order[b], order[a]
    return importer.graph.transpose(x, order)


@handles("aten.slice.Tensor")
def convert_slice(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    dim = positive(argument(node, 1, "dim", 0), len(x.shape))
    start = argument(node, 2, "start") or 0
    start = min(max(start + x.shape[dim] if start < 0 else start, 0), x.shape[dim])
    size = node.meta["val"].shape[dim]
    return importer.graph.slice(x, dim, start, size, argument(node, 4, "step", 1))


@handles("aten.select.int")
def convert_select(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    dim = positive(node.args[1], len(x.shape))
    part = importer.graph.slice(x, dim, positive(node.args[2], x.shape[dim]), 1)
    return importer.graph.reshape(part, node.meta["val"].shape)


@handles("aten.split.Tensor", "aten.split_with_sizes.default", "aten.chunk.default",
         "aten.unbind.int")
def convert_split(importer: Importer, node: Any) -> list[Value]:
    x = importer.value(node.args[0])
    is_unbind = str(node.target) == "aten.unbind.int"
    dim = positive(argument(node, 1 if is_unbind else 2, "dim", 0), len(x.shape))
    parts, start = [], 0
    for part in node.meta["val"]:
        size = 1 if is_unbind else part.shape[dim]
        value = importer.graph.slice(x, dim, start, size)
        parts.append(importer.graph.reshape(value, part.shape))
        start += size
    return parts


@handles("aten.cat.default", "aten.stack.default")
def convert_cat(importer: Importer, node: Any) -> Value:
    result = node.meta["val"]
    dim = positive(argument(node, 1, "dim", 0), result.dim())
    values = [importer.graph.cast(importer.value(item), element_of(result.dtype))
              for item in node.args[0]]
    if str(node.target) == "aten.stack.default":
        values = [importer.graph.reshape(v, v.shape[:dim] + (1,) + v.shape[dim:]) for v in values]
    return importer.graph.concat([v for v in values if math.prod(v.shape)], dim)


@handles("aten.pad.default", "aten.constant_pad_nd.default")
def convert_pad(importer: Importer, node: Any) -> Value:
    x, widths = importer.value(node.args[0]), list(node.args[1])
    is_named = str(node.target) == "aten.pad.default"
    mode = argument(node, 2, "mode", "constant") if is_named else "constant"
    number = argument(node, 3 if is_named else 2, "value") or 0
    if mode != "constant":
        raise ImportFailure(f"{place(node)}: expects padding by a constant but got {mode}")
    for i in range(len(widths) // 2):
        dim = len(x.shape) - 1 - i
        for before, width in ((True, widths[2 * i]), (False, widths[2 * i + 1])):
            if width < 0:
                x = importer.graph.slice(x, dim, -width if before else 0, x.shape[dim] + width)
            elif width > 0:
                shape = list(x.shape)
                shape[dim] = width
                block = importer.graph.constant(number, shape, x.element)
                x = importer.graph.concat([block, x] if before else [x, block], dim)
    return x


# Matmuls.

def finish_linear(importer: Importer, node: Any, y: Value) -> Value:
    return importer.merged(y, node.meta["val"].shape)


@handles("aten.linear.default")
def convert_linear(importer: Importer, node: Any) -> Value:
    x, weight = (importer.value(item) for item in node.args[:2])
    bias = argument(node, 2, "bias")
    y = importer.linear(x, weight, is_transposed=True)
    y = groups.add_bias(importer.graph, y, importer.value(bias) if bias is not None else None)
    return finish_linear(importer, node, y)


@handles("aten.addmm.default")
def convert_addmm(importer: Importer, node: Any) -> Value:
    if argument(node, 3, "beta", 1) != 1 or argument(node, 4, "alpha", 1) != 1:
        raise ImportFailure(f"{place(node)}: expects addmm without factors")
    bias, x, weight = (importer.value(item) for item in node.args[:3])
    y = groups.add_bias(importer.graph, importer.linear(x, weight, is_transposed=False), bias)
    return finish_linear(importer, node, y)


@handles("aten.matmul.default", "aten.bmm.default", "aten.mm.default")
def convert_matmul(importer: Importer, node: Any) -> Value:
    x, y = (importer.value(item) for item in node.args[:2])
    if len(y.shape) == 2 and len(x.shape) >= 2:
        return finish_linear(importer, node, importer.linear(x, y, is_transposed=False))
    rank = len(x.shape)
    if rank < 2 or len(y.shape) != rank:
        raise ImportFailure(f"{place(node)}: expects matmuls of matrices but got {x.type} and "
                            f"{y.type}")
    shape = node.meta["val"].shape
    x = importer.graph.expand(x, [*shape[:-2], *x.shape[-2:]])
    y = importer.graph.expand(y, [*shape[:-2], *y.shape[-2:]])
    batch = LETTERS[3:1 + rank]
    return importer.graph.einsum(batch + "bc", batch + "ca", batch + "ba", x, y)


@handles("aten.baddbmm.default")
def convert_baddbmm(importer: Importer, node: Any) -> Value:
    added, x, y = (importer.value(item) for item in node.args[:3])
    graph, beta = importer.graph, argument(node, 3, "beta", 1)
    product = graph.einsum("abd", "adc", "abc", x, y)

    def scaled(value: Value, factor: float) -> Value:
        constant = graph.constant(factor, value.shape, value.element)
        return value if factor == 1 else graph.binary("arith.mulf", value, constant)
    product = scaled(product, argument(node, 4, "alpha", 1))
    if beta == 0:
        # torch ignores the summand, even if it is not finite.
        return product
    return graph.binary("arith.addf", scaled(graph.expand(added, product.shape), beta), product)


@handles("aten.cumsum.default")
def convert_cumsum(importer: Importer, node: Any) -> Value:
    """A cumulative sum: a matmul with a triangle of ones in at least f32; exact for integers."""
    x, graph = importer.value(node.args[0]), importer.graph
    dim, element = positive(node.args[1], len(x.shape)), element_of(node.meta["val"].dtype)
    if not x.is_float:
        return groups.integer_cumsum(graph, graph.cast(x, element), dim)
    wide, size = graph.cast(x, x.element if x.bits >= 32 else "f32"), x.shape[dim]
    letters = LETTERS[2:2 + len(x.shape)]
    left = letters[:dim] + "b" + letters[dim + 1:]
    total = graph.einsum(left, "ab", left.replace("b", "a"), wide,
                         graph.cast(groups.triangle(graph, size), wide.element))
    return graph.cast(total, element)


@handles("aten.einsum.default")
def convert_einsum(importer: Importer, node: Any) -> Value:
    spec = node.args[0].replace(" ", "")
    operands, _, result = spec.partition("->")
    parts = operands.split(",")
    if "." in spec or len(parts) != 2 or "->" not in spec:
        raise ImportFailure(f"{place(node)}: expects an einsum of two tensors with a result but "
                            f"got {spec}")
    x, y = (importer.value(item) for item in node.args[1])
    return importer.graph.einsum(*parts, result, x, y)


# Reductions.

def reduction(importer: Importer, node: Any, kind: str) -> Value:
    x, result = importer.value(node.args[0]), node.meta["val"]
    if kind in ("sum", "mean"):
        x = importer.graph.cast(x, element_of(result.dtype))
    dims = argument(node, 1, "dim")
    dims = list(range(len(x.shape))) if dims is None or dims == [] else \
        [positive(d, len(x.shape)) for d in (dims if isinstance(dims, (list, tuple)) else [dims])]
    if kind == "mean":
        y = importer.graph.cast(groups.mean(importer.graph, x, dims), x.element)
    else:
        y = importer.graph.reduce(kind, x, dims)
    return importer.graph.reshape(y, result.shape)


for _name, _kind in {"sum.dim_IntList": "sum", "sum.default": "sum", "mean.dim": "mean",
                     "mean.default": "mean", "amax.default": "max", "amin.default": "min",
                     "max.default": "max", "min.default": "min"}.items():
    HANDLERS[f"aten.{_name}"] = lambda importer, node, kind=_kind: reduction(importer, node, kind)


def dimensions(node: Any, index: int, x: Value) -> list[int]:
    """The dimensions of a reduction; all of them if none is given."""
    dims = argument(node, index, "dim")
    dims = [] if dims is None else dims if isinstance(dims, (list, tuple)) else [dims]
    return [positive(d, len(x.shape)) for d in dims] or list(range(len(x.shape)))


@handles("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim")
def convert_vector_norm(importer: Importer, node: Any) -> Value:
    """The root of a sum of squares, with the gradient 0 at 0."""
    graph, result = importer.graph, node.meta["val"]
    element = element_of(result.dtype)
    x = groups.wide(graph, graph.cast(importer.value(node.args[0]), element))
    if argument(node, 1, "ord" if "linalg" in str(node.target) else "p", 2) not in (2, None):
        raise ImportFailure(f"{place(node)}: expects a norm of order 2")
    square = graph.reduce("sum", graph.binary("arith.mulf", x, x), dimensions(node, 2, x))
    zero = graph.constant(0, square.shape, x.element)
    is_zero = graph.compare("eq", square, zero)
    one = graph.constant(1, square.shape, x.element)
    root = graph.unary("math.sqrt", graph.select(is_zero, one, square))
    return graph.reshape(graph.cast(graph.select(is_zero, zero, root), element), result.shape)


@handles("aten.var.correction", "aten.var.dim")
def convert_variance(importer: Importer, node: Any) -> Value:
    graph, result = importer.graph, node.meta["val"]
    x = groups.wide(graph, importer.value(node.args[0]))
    dims = dimensions(node, 1, x)
    correction = argument(node, 2, "unbiased", True) if "dim" in str(node.target) else \
        argument(node, 2, "correction")
    kept = [i for i in range(len(x.shape)) if i not in dims]
    moved = graph.binary("arith.subf", x,
                         graph.broadcast(groups.mean(graph, x, dims), x.shape, kept))
    square = graph.reduce("sum", graph.binary("arith.mulf", moved, moved), dims)
    count = math.prod(x.shape[d] for d in dims)
    rest = count - (1 if correction is None else correction)
    if rest <= 0:
        raise ImportFailure(f"{place(node)}: expects more numbers than the correction but got "
                            f"{count}")
    variance = graph.binary("arith.divf", square, graph.constant(rest, square.shape, x.element))
    return graph.reshape(graph.cast(variance, element_of(result.dtype)), result.shape)


@handles("aten.softmax.int", "aten._softmax.default")
def convert_softmax(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    dim = positive(node.args[1], len(x.shape))
    rows = importer.rows(x) if dim == len(x.shape) - 1 else x
    y = importer.graph.op(f"nn.softmax {rows.name} dim {len(rows.shape) - len(x.shape) + dim} : "
                          f"{rows.type}", rows.shape, x.element)
    return importer.merged(y, x.shape)


@handles("aten.topk.default")
def convert_top_k(importer: Importer, node: Any) -> list[Value]:
    """The largest or smallest elements of the last dimension, and their positions."""
    x, k, graph = importer.value(node.args[0]), node.args[1], importer.graph
    if positive(argument(node, 2, "dim", -1), len(x.shape)) != len(x.shape) - 1 or not x.is_float:
        raise ImportFailure(f"{place(node)}: expects the largest floats of the last dimension")
    rows, kind = importer.rows(x), "" if argument(node, 3, "largest", True) else "smallest "
    shape = rows.shape[:-1] + (k,)
    ids = Value("", shape, "i32")
    ids = graph.op(f"nn.top_k {k} {kind}{rows.name} : {rows.type} -> {ids.type}", shape, "i32")
    found = Value("", shape, x.element)
    found = graph.op(f"nn.take_along_axis {rows.name}, {ids.name} : {rows.type}, {ids.type} -> "
                     f"{found.type}", shape, x.element)
    wide = graph.cast(ids, "i64")
    importer.choices[wide] = Choice(ids, x.shape[-1], importer.biased.get(node, ""))
    return [importer.merged(value, x.shape[:-1] + (k,)) for value in (found, wide)]


@handles("aten.log_softmax.int", "aten._log_softmax.default")
def convert_log_softmax(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    return groups.log_softmax(importer.graph, x, positive(node.args[1], len(x.shape)))


@handles("aten.logsumexp.default")
def convert_logsumexp(importer: Importer, node: Any) -> Value:
    result = node.meta["val"]
    x = importer.graph.cast(importer.value(node.args[0]), element_of(result.dtype))
    return importer.graph.reshape(
        groups.logsumexp(importer.graph, x, dimensions(node, 1, x)), result.shape)


# Ops that nn has.

def vector(importer: Importer, node: Any, item: Any, like: Value, number: float) -> Value:
    if item is None:
        return importer.graph.constant(number, like.shape[-1:], like.element)
    return importer.value(item)


@handles("aten.detach.default")
def convert_detach(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    if node not in importer.trained:
        return x
    importer.trained.remove(node)
    return importer.stop_gradient(x)


@handles("aten.layer_norm.default")
def convert_layer_norm(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    if list(node.args[1]) != list(x.shape[-1:]):
        raise ImportFailure(f"{place(node)}: expects a norm of the last dimension but got "
                            f"{list(node.args[1])}")
    gamma = vector(importer, node, argument(node, 2, "weight"), x, 1)
    beta = vector(importer, node, argument(node, 3, "bias"), x, 0)
    eps = groups.literal_eps(argument(node, 4, "eps", 1e-5))
    return importer.graph.op(
        f"nn.layer_norm {x.name}, {gamma.name}, {beta.name} eps {eps} : {x.type}, {gamma.type}, {beta.type}", x.shape, x.element)


@handles("aten.rms_norm.default")
def convert_rms_norm(importer: Importer, node: Any) -> Value:
    x, eps = importer.value(node.args[0]), argument(node, 3, "eps")
    if list(node.args[1]) != list(x.shape[-1:]):
        raise ImportFailure(f"{place(node)}: expects a norm of the last dimension but got "
                            f"{list(node.args[1])}")
    # torch computes norms of 16-bit floats in f32.
    eps = torch.finfo(torch.float64 if x.element == "f64" else torch.float32).eps \
        if eps is None else eps
    gamma = vector(importer, node, argument(node, 2, "weight"), x, 1)
    return importer.graph.op(f"nn.rms_norm {x.name}, {gamma.name} eps {groups.literal_eps(eps)} : "
                             f"{x.type}, {gamma.type}", x.shape, x.element)


@handles("aten.gelu.default")
def convert_gelu(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    kind = "tanh" if argument(node, 1, "approximate", "none") == "tanh" else "erf"
    return importer.graph.unary(f"nn.gelu <{kind}>", x)


@handles("aten.silu.default")
def convert_silu(importer: Importer, node: Any) -> Value:
    return importer.graph.unary("nn.silu", importer.value(node.args[0]))


@handles("aten.embedding.default")
def convert_embedding(importer: Importer, node: Any) -> Value:
    table, ids = (importer.value(item) for item in node.args[:2])
    if argument(node, 3, "scale_grad_by_freq", False) and node in importer.trained:
        raise ImportFailure(f"{place(node)}: expects gradients of rows that are not scaled "
                            "(scale_grad_by_freq)")
    rows, padding = importer.embedding(table, ids), argument(node, 2, "padding_idx", -1)
    if padding >= 0 and node in importer.trained and importer.has_loss():
        # The padding row has no gradient.
        ids, graph = importer.unmerged.get(ids, ids), importer.graph
        is_padding = graph.compare("eq", ids, graph.constant(padding, ids.shape, ids.element))
        is_padding = graph.broadcast(is_padding, rows.shape, range(len(ids.shape)))
        rows = graph.select(is_padding, importer.stop_gradient(rows), rows)
    return importer.merged(rows, node.meta["val"].shape)


@handles("aten.scaled_dot_product_attention.default")
def convert_attention(importer: Importer, node: Any) -> Value:
    q, k, v = (importer.value(item) for item in node.args[:3])
    if argument(node, 4, "dropout_p", 0.0):
        raise ImportFailure(f"{place(node)}: expects attention without dropout")
    if any(len(x.shape) != 4 for x in (q, k, v)):
        raise ImportFailure(f"{place(node)}: expects attention of [batch, head, position, dim]")
    scale = argument(node, 6, "scale")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    mask, is_causal = argument(node, 3, "attn_mask"), argument(node, 5, "is_causal", False)
    visibility = groups.Visibility(is_causal, False, False)
    if mask is not None:
        visibility = groups.read_mask(constant_array(importer.constants.get(mask)), q.shape[2],
                                      k.shape[2], is_causal)
    if visibility.has_mask:
        return groups.masked_attention(importer.graph, q, k, v, scale, importer.value(mask),
                                       visibility)
    k, v = (importer.repeated.get(x, x) for x in (k, v))
    if k.shape[1] != v.shape[1]:
        k, v = (importer.value(item) for item in node.args[1:3])
    return groups.grouped_attention(importer.graph, q, k, v, scale, visibility.is_causal)


def constant_array(tensor: torch.Tensor | None) -> Any:
    if tensor is None:
        return None
    tensor = tensor.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


@handles("aten.cross_entropy_loss.default")
def convert_cross_entropy(importer: Importer, node: Any) -> Value:
    logits, labels = (importer.value(item) for item in node.args[:2])
    kind, ignore = argument(node, 3, "reduction", 1), argument(node, 4, "ignore_index", -100)
    if argument(node, 2, "weight") is not None or argument(node, 5, "label_smoothing", 0.0):
        raise ImportFailure(f"{place(node)}: expects a cross entropy without weights and smoothing")
    if labels.shape != logits.shape[:1] * (len(logits.shape) > 1) + logits.shape[2:]:
        raise ImportFailure(f"{place(node)}: expects labels that are ids")
    if len(logits.shape) > 2:
        # The classes of more than two dimensions are in dimension 1.
        logits = importer.graph.transpose(logits, [0, *range(2, len(logits.shape)), 1])
    logits, labels = importer.unmerged_rows(logits, labels)
    kinds = ("none", "mean", "sum")
    result = importer.cross_entropy(logits, labels, ignore, kinds[kind],
                                    element_of(node.meta["val"].dtype))
    return importer.merged(result, node.meta["val"].shape)


def find_choice(importer: Importer, index: Value) -> Choice | None:
    """The choice whose ids a value is, in any shape."""
    return importer.choices.get(importer.unmerged.get(index, index))


@handles("aten.scatter.value")
def convert_scatter(importer: Importer, node: Any) -> Value:
    """A number at the positions of a top_k in the last dimension."""
    x, index = (importer.value(node.args[i]) for i in (0, 2))
    graph, rank = importer.graph, len(x.shape)
    if positive(node.args[1], rank) != rank - 1 or index.shape[:-1] != x.shape[:-1] or \
            not find_choice(importer, index):
        raise ImportFailure(f"{place(node)}: expects positions of a top_k in the last dimension")
    spread = index.shape + x.shape[-1:]
    count = Value("", x.shape[-1:], index.element)
    count = graph.op(f"nn.iota : {count.type}", count.shape, count.element)
    is_there = graph.compare("eq", graph.broadcast(index, spread, range(rank)),
                             graph.broadcast(count, spread, [rank]))
    chosen = graph.reduce("max", graph.cast(is_there, "i32"), [rank - 1])
    zero = graph.constant(0, chosen.shape, chosen.element)
    return graph.select(graph.compare("ne", chosen, zero),
                        graph.constant(node.args[3], x.shape, x.element), x)


@handles("aten.gather.default")
def convert_gather(importer: Importer, node: Any) -> Value:
    table = importer.constants.get(node.args[0])
    if table is not None and bool((table == table.flatten()[0]).all()):
        result = node.meta["val"]
        return importer.graph.constant(table.flatten()[0].item(), result.shape,
                                       element_of(result.dtype))
    x, index = (importer.value(node.args[i]) for i in (0, 2))
    dim, choice = positive(node.args[1], len(x.shape)), find_choice(importer, index)
    rows = importer.rows(x)
    if dim == len(x.shape) - 1 and index.shape[:-1] == x.shape[:-1] and x.is_float and choice:
        ids = choice.ids if choice.ids.shape[:-1] == rows.shape[:-1] else \
            importer.graph.reshape(choice.ids, index.shape)
        rows = rows if ids is choice.ids else x
        found = Value("", ids.shape, x.element)
        found = importer.graph.op(
            f"nn.take_along_axis {rows.name}, {ids.name} : {rows.type}, {ids.type} -> "
            f"{found.type}", ids.shape, x.element)
        return importer.merged(found, index.shape)
    if dim != len(x.shape) - 1 or index.shape != x.shape[:-1] + (1,):
        raise ImportFailure(f"{place(node)}: expects one element of each row of the last dimension")
    index = importer.graph.reshape(index, x.shape[:-1])
    if not x.is_float:
        picked = groups.pick_integers(importer.graph, x, index)
        return importer.graph.reshape(picked, node.meta["val"].shape)
    kind = f"tensor<{''.join(f'{n}x' for n in index.shape)}{x.element}>"
    picked = importer.graph.op(f"nn.take_along_axis {x.name}, {index.name} : {x.type}, "
                               f"{index.type} -> {kind}", index.shape, x.element)
    return importer.graph.reshape(picked, node.meta["val"].shape)


def rows_of(importer: Importer, index: Any, count: int) -> Value:
    """Row indices; negative ones count from the end."""
    if index in importer.constants:
        rows = importer.constants[index]
        return importer.write(torch.where(rows < 0, rows + count, rows))
    rows, graph = importer.value(index), importer.graph
    if index.op == "placeholder":
        return rows
    moved = graph.binary("arith.addi", rows, graph.constant(count, rows.shape, rows.element))
    zero = graph.constant(0, rows.shape, rows.element)
    return graph.select(graph.compare("lt", rows, zero), moved, rows)


def consecutive(importer: Importer, x: Value, dim: int, index: Any) -> Value | None:
    """The elements of a dimension at constant indices, if the indices are consecutive."""
    constant = importer.constants.get(index)
    if constant is None or constant.dim() != 1 or constant.dtype == torch.bool or \
            constant.numel() == 0:
        return None
    rows = [positive(int(row), x.shape[dim]) for row in constant]
    if rows != list(range(rows[0], rows[0] + len(rows))):
        return None
    return importer.graph.slice(x, dim, rows[0], len(rows))


@handles("aten.index_select.default")
def convert_index_select(importer: Importer, node: Any) -> Value:
    """Consecutive elements of a dimension, or rows of a table."""
    x, index = importer.value(node.args[0]), node.args[2]
    dim = positive(node.args[1], len(x.shape))
    part = consecutive(importer, x, dim, index)
    if part is not None:
        return part
    if dim != 0 or len(x.shape) != 2 or not x.is_float:
        raise ImportFailure(f"{place(node)}: expects constant indices one after the other, or "
                            "rows of a table of floats")
    return importer.merged(importer.embedding(x, rows_of(importer, index, x.shape[0])),
                           node.meta["val"].shape)


@handles("aten.index.Tensor")
def convert_index(importer: Importer, node: Any) -> Value:
    """Converts constant indices that are consecutive in one dimension or enumerate each dimension,
    and rows of a table, whose index counts from 0 if it is an input."""
    x, indices = importer.value(node.args[0]), node.args[1]
    shape = tuple(node.meta["val"].shape)
    given = [dim for dim, index in enumerate(indices) if index is not None]
    if len(given) == 1:
        part = consecutive(importer, x, given[0], indices[given[0]])
        if part is not None:
            return part
    found = [importer.constants.get(index) for index in indices]
    order = []
    for dim, index in enumerate(found):
        if index is None or index.numel() != x.shape[dim]:
            break
        counted = [len(shape) - index.dim() + i for i, n in enumerate(index.shape) if n != 1]
        if len(counted) > 1 or index.flatten().tolist() != list(range(x.shape[dim])):
            break
        order += counted
    else:
        if len(found) == len(x.shape) and order == sorted(order):
            return importer.graph.reshape(x, shape)
    if len(indices) == 1 and x.is_float and len(x.shape) == 2 and \
            not indices[0].meta["val"].dtype.is_floating_point and \
            indices[0].meta["val"].dtype != torch.bool:
        return importer.merged(importer.embedding(x, rows_of(importer, indices[0], x.shape[0])),
                               shape)
    raise ImportFailure(f"{place(node)}: expects indices that follow from no input and count "
                        "dimensions in order")


@handles("aten.conv2d.default", "aten.conv2d.padding")
def convert_convolution(importer: Importer, node: Any) -> Value:
    """A convolution of patches that do not overlap, as a matmul."""
    x, weight = (importer.value(item) for item in node.args[:2])
    kernel = weight.shape[2:]
    settings = [argument(node, i, name, default) for i, name, default in
                ((3, "stride", (1, 1)), (4, "padding", (0, 0)), (5, "dilation", (1, 1)))]
    # "same" pads only windows that overlap.
    settings = [tuple((0, 0) if item in ("valid", "same") else item) for item in settings]
    parts = argument(node, 6, "groups", 1)
    if settings != [kernel, (0, 0), (1, 1)] or parts != 1 or \
            any(size % part for size, part in zip(x.shape[2:], kernel)):
        raise ImportFailure(f"{place(node)}: expects a convolution of patches that do not overlap")
    y = groups.patches(importer.graph, x, weight)
    bias = argument(node, 2, "bias")
    if bias is None:
        return y
    vector_ = importer.graph.broadcast(importer.value(bias), y.shape, [1])
    return importer.graph.binary("arith.addf", y, vector_)
