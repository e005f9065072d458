"""Converts the ops of ONNX to nn, arith, math and tensor, with a handler for each.

An op that nn has (LayerNormalization, Gelu, Attention) becomes that op; the compiler's passes
recognize groups of ops."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy

from . import groups
from .errors import ImportFailure
from .graph_text import LETTERS, Graph, Value
from .onnx_importer import (HANDLERS, Importer, attribute, element_of, element_of_type,
                            handles, positive)

# Elementwise.

for _name, _op in {"Exp": "math.exp", "Log": "math.log", "Tanh": "math.tanh", "Erf": "math.erf",
                   "Sqrt": "math.sqrt", "Cos": "math.cos", "Sin": "math.sin",
                   "Floor": "math.floor", "Ceil": "math.ceil", "Round": "math.roundeven"}.items():
    HANDLERS[_name] = lambda importer, node, op=_op: importer.graph.unary(
        op, importer.value(node.input[0]))


def fold(importer: Importer, node: Any, names: tuple[str | None, ...]) -> Value:
    """Combines all operands with an op for floats, integers or booleans."""
    values = importer.operands(node)
    x = values[0]
    name = names[0 if x.is_float else 2 if x.element == "i1" else 1]
    if name is None:
        raise ImportFailure(f"expects other elements but got {x.type}")
    for y in values[1:]:
        x = importer.graph.binary(name, x, y)
    return x


for _name, _ops in {"Add": ("arith.addf", "arith.addi", None),
                    "Sum": ("arith.addf", "arith.addi", None),
                    "Sub": ("arith.subf", "arith.subi", None),
                    "Mul": ("arith.mulf", "arith.muli", None),
                    "Div": ("arith.divf", "arith.divsi", None),
                    "Max": ("arith.maximumf", "arith.maxsi", None),
                    "Min": ("arith.minimumf", "arith.minsi", None),
                    "And": (None, None, "arith.andi"), "Or": (None, None, "arith.ori"),
                    "Xor": (None, None, "arith.xori")}.items():
    HANDLERS[_name] = lambda importer, node, ops=_ops: fold(importer, node, ops)

@handles("Mean")
def convert_mean(importer: Importer, node: Any) -> Value:
    x = fold(importer, node, ("arith.addf", None, None))
    count = importer.graph.constant(len(node.input), x.shape, x.element)
    return importer.graph.binary("arith.divf", x, count)


for _name, _predicate in {"Equal": "eq", "Less": "lt", "LessOrEqual": "le", "Greater": "gt",
                          "GreaterOrEqual": "ge"}.items():
    HANDLERS[_name] = lambda importer, node, predicate=_predicate: importer.graph.compare(
        predicate, *importer.operands(node))


@handles("Neg")
def convert_neg(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    if x.is_float:
        return graph.unary("arith.negf", x)
    return graph.binary("arith.subi", graph.constant(0, x.shape, x.element), x)


@handles("Abs")
def convert_abs(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    return importer.graph.unary("math.absf" if x.is_float else "math.absi", x)


@handles("Reciprocal")
def convert_reciprocal(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    return importer.graph.binary("arith.divf", importer.graph.constant(1, x.shape, x.element), x)


@handles("Sigmoid")
def convert_sigmoid(importer: Importer, node: Any) -> Value:
    return groups.sigmoid(importer.graph, importer.value(node.input[0]))


@handles("Relu")
def convert_relu(importer: Importer, node: Any) -> Value:
    return groups.relu(importer.graph, importer.value(node.input[0]))


@handles("Clip")
def convert_clip(importer: Importer, node: Any) -> Value:
    return groups.clamp(importer.graph, importer.value(node.input[0]), importer.operand(node, 1),
                        importer.operand(node, 2))


@handles("Pow")
def convert_pow(importer: Importer, node: Any) -> Value:
    exponent = importer.constants.get(node.input[1])
    x = importer.value(node.input[0])
    if exponent is not None and numpy.asarray(exponent).size == 1:
        shape = numpy.broadcast_shapes(x.shape, numpy.asarray(exponent).shape)
        number = float(numpy.asarray(exponent).reshape(-1)[0])
        if x.is_float or number in (1, 2, 3, 4):
            return groups.power(importer.graph, importer.graph.expand(x, shape), number)
    if not x.is_float:
        raise ImportFailure(f"expects floats but got {x.type}")
    x, y = importer.operands(node)
    return importer.graph.binary("math.powf", x, importer.graph.cast(y, x.element))


@handles("Not")
def convert_not(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    return importer.graph.binary("arith.xori", x, importer.graph.constant(True, x.shape, "i1"))


@handles("Where")
def convert_where(importer: Importer, node: Any) -> Value:
    return importer.graph.select(*importer.operands(node))


@handles("IsNaN")
def convert_is_nan(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    return importer.graph.op(f"arith.cmpf uno, {x.name}, {x.name} : {x.type}", x.shape, "i1")


@handles("Cast")
def convert_cast(importer: Importer, node: Any) -> Value:
    return importer.graph.cast(importer.value(node.input[0]),
                               element_of_type(attribute(node, "to")))


@handles("CastLike")
def convert_cast_like(importer: Importer, node: Any) -> Value:
    like = importer.constants.get(node.input[1])
    element = element_of(like.dtype) if like is not None else \
        importer.value(node.input[1]).element
    return importer.graph.cast(importer.value(node.input[0]), element)


@handles("Identity")
def convert_identity(importer: Importer, node: Any) -> Value:
    return importer.value(node.input[0])


@handles("Dropout")
def convert_dropout(importer: Importer, node: Any) -> Value:
    is_training = importer.constant(node, 2, "modes")
    ratio = importer.constant(node, 1, "ratios")
    if is_training is not None and bool(is_training) and (ratio is None or float(ratio) != 0):
        raise ImportFailure("expects no dropout but got one in training mode")
    return importer.value(node.input[0])


# Shapes.

@handles("Reshape")
def convert_reshape(importer: Importer, node: Any) -> Value:
    x, sizes = importer.value(node.input[0]), importer.numbers(node, 1, "sizes")
    if not attribute(node, "allowzero", 0):
        sizes = [x.shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    known = math.prod(size for size in sizes if size != -1)
    shape = [math.prod(x.shape) // known if size == -1 else size for size in sizes]
    return importer.merged(x, shape)


@handles("Flatten")
def convert_flatten(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    axis = positive(attribute(node, "axis", 1), len(x.shape))
    return importer.merged(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@handles("Squeeze")
def convert_squeeze(importer: Importer, node: Any) -> Value:
    x, axes = importer.value(node.input[0]), importer.numbers(node, 1, "axes")
    if axes is None:
        axes = [i for i, size in enumerate(x.shape) if size == 1]
    axes = [positive(axis, len(x.shape)) for axis in axes]
    return importer.merged(x, [size for i, size in enumerate(x.shape) if i not in axes])


@handles("Unsqueeze")
def convert_unsqueeze(importer: Importer, node: Any) -> Value:
    x, axes = importer.value(node.input[0]), importer.numbers(node, 1, "axes") or []
    rank = len(x.shape) + len(axes)
    axes, sizes = [positive(axis, rank) for axis in axes], iter(x.shape)
    return importer.merged(x, [1 if i in axes else next(sizes) for i in range(rank)])


@handles("Transpose")
def convert_transpose(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    return importer.graph.transpose(x, attribute(node, "perm", range(len(x.shape))[::-1]))


@handles("Expand")
def convert_expand(importer: Importer, node: Any) -> Value:
    x, sizes = importer.value(node.input[0]), importer.numbers(node, 1, "sizes")
    return importer.expanded(x, numpy.broadcast_shapes(x.shape, tuple(sizes or ())))


@handles("Tile")
def convert_tile(importer: Importer, node: Any) -> Value:
    x, counts = importer.value(node.input[0]), importer.numbers(node, 1, "counts") or []
    return groups.tile(importer.graph, x, counts)


@handles("Slice")
def convert_slice(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    starts, ends, axes, steps = (importer.numbers(node, i + 1, name) for i, name in
                                 enumerate(("starts", "ends", "axes", "steps")))
    assert starts is not None and ends is not None
    for start, end, axis, step in zip(starts, ends, axes or range(len(starts)),
                                      steps or [1] * len(starts)):
        dim = positive(axis, len(x.shape))
        rows = range(x.shape[dim])[start:end:step]
        if step < 0 or not rows:
            raise ImportFailure(f"expects rows of dimension {dim} in order but got {start} to "
                                f"{end} by {step}")
        x = importer.graph.slice(x, dim, rows[0], len(rows), step)
    return x


@handles("Split")
def convert_split(importer: Importer, node: Any) -> list[Value]:
    x, sizes = importer.value(node.input[0]), importer.numbers(node, 1, "split")
    dim, parts = positive(attribute(node, "axis", 0), len(x.shape)), len(node.output)
    if sizes is None:
        each = -(-x.shape[dim] // parts)
        sizes = [min(each, x.shape[dim] - i * each) for i in range(parts)]
    if min(sizes) < 0 or sum(sizes) != x.shape[dim]:
        raise ImportFailure(f"expects parts of the {x.shape[dim]} elements of dimension {dim} but "
                            f"got {sizes}")
    return [importer.graph.slice(x, dim, sum(sizes[:i]), size) for i, size in enumerate(sizes)]


@handles("Concat")
def convert_concat(importer: Importer, node: Any) -> Value:
    values = [importer.value(item) for item in node.input]
    dim = positive(attribute(node, "axis"), len(values[0].shape))
    return importer.graph.concat([value for value in values if math.prod(value.shape)], dim)


@handles("Pad")
def convert_pad(importer: Importer, node: Any) -> Value:
    x, widths = importer.value(node.input[0]), importer.numbers(node, 1, "widths") or []
    number, axes = importer.constant(node, 2, "numbers"), importer.numbers(node, 3, "axes")
    mode = attribute(node, "mode", "constant")
    if mode != "constant":
        raise ImportFailure(f"expects padding by a constant but got {mode}")
    axes = list(range(len(x.shape))) if axes is None else axes
    for i, axis in enumerate(axes):
        dim = positive(axis, len(x.shape))
        for is_before, width in ((True, widths[i]), (False, widths[len(axes) + i])):
            if width < 0:
                start = -width if is_before else 0
                x = importer.graph.slice(x, dim, start, x.shape[dim] + width)
            elif width > 0:
                shape = [width if d == dim else size for d, size in enumerate(x.shape)]
                block = importer.graph.constant(0 if number is None else numpy.asarray(
                    number).item(), shape, x.element)
                x = importer.graph.concat([block, x] if is_before else [x, block], dim)
    return x


def view(importer: Importer, x: Value, elements: Any) -> Value | None:
    """The elements of x at these linear indices, if slices, broadcasts and a transpose suffice:
    each dimension of the result follows a dimension of x, with a step, or repeats."""
    strides = [math.prod(x.shape[i + 1:]) for i in range(len(x.shape))]
    steps = [int(elements.take(1, i).flat[0] - elements.flat[0]) if size > 1 else 0
             for i, size in enumerate(elements.shape)]
    grid = numpy.ogrid[tuple(slice(size) for size in elements.shape)]
    if elements.size == 0 or any(step < 0 for step in steps) or bool(
            (elements != elements.flat[0] + sum(a * b for a, b in zip(grid, steps))).any()):
        return None
    source: dict[int, int] = {}
    first, starts = int(elements.flat[0]), []
    for dim, stride in enumerate(strides):
        starts.append(first // stride)
        first %= stride
        for i, step in enumerate(steps):
            if dim not in source and i not in source.values() and step and step % stride == 0 \
                    and starts[dim] + (elements.shape[i] - 1) * (step // stride) < x.shape[dim]:
                source[dim] = i
    if sorted(source.values()) != [i for i, step in enumerate(steps) if step]:
        return None
    for dim, start in enumerate(starts):
        size = elements.shape[source[dim]] if dim in source else 1
        step = steps[source[dim]] // strides[dim] if dim in source else 1
        x = importer.graph.slice(x, dim, start, size, step)
    kept = sorted(source)
    x = importer.graph.reshape(x, [x.shape[dim] for dim in kept])
    order = sorted(range(len(kept)), key=lambda i: source[kept[i]])
    x = importer.graph.transpose(x, order)
    return importer.graph.broadcast(x, elements.shape, sorted(source.values()))


@handles("Gather", "GatherElements", "GatherND")
def convert_gather(importer: Importer, node: Any) -> Value:
    """Rows of a table, one element of each row, or constant indices that form a view."""
    x, index = importer.value(node.input[0]), importer.constants.get(node.input[1])
    dim = positive(attribute(node, "axis", 0), len(x.shape))
    if node.op_type == "Gather" and dim == 0 and len(x.shape) == 2 and x.is_float and (
            index is None or index.size > 1):
        rows = importer.value(node.input[1]) if index is None else \
            importer.write(count_from_front(index, x.shape[0]))
        return importer.embedding(x, rows)
    if index is not None:
        numbers = numpy.arange(math.prod(x.shape)).reshape(x.shape)
        own = importer.constants.get(node.input[0])
        importer.constants[node.input[0]] = numbers
        elements = importer.evaluate(node)[0]
        del importer.constants[node.input[0]]
        if own is not None:
            importer.constants[node.input[0]] = own
        found = view(importer, x, elements)
        if found is not None:
            return found
        raise ImportFailure("expects indices that follow from no input and count elements in "
                            "order")
    rows = importer.value(node.input[1])
    if node.op_type != "GatherElements" or dim != len(x.shape) - 1 or \
            rows.shape != x.shape[:-1] + (1,):
        raise ImportFailure("expects rows of a table or one element of each row of the last "
                            "dimension")
    rows = importer.graph.reshape(rows, x.shape[:-1])
    return importer.graph.reshape(take(importer, x, rows), x.shape[:-1] + (1,))


def count_from_front(index: Any, size: int) -> Any:
    """Converts negative indices, which count from the end, to indices from the front."""
    if index.min() < -size or index.max() >= size:
        raise ImportFailure(f"expects indices of {size} rows but got {index.min()} to "
                            f"{index.max()}")
    return numpy.where(index < 0, index + size, index)


def take(importer: Importer, x: Value, index: Value) -> Value:
    """Picks one element of each row."""
    kind = f"tensor<{''.join(f'{n}x' for n in index.shape)}{x.element}>"
    return importer.graph.op(f"nn.take_along_axis {x.name}, {index.name} : {x.type}, "
                             f"{index.type} -> {kind}", index.shape, x.element)


# Matmuls.

@handles("MatMul")
def convert_matmul(importer: Importer, node: Any) -> Value:
    x, y = (importer.value(item) for item in node.input)
    # A vector is a row on the left and a column on the right; the result drops that dimension.
    is_row, is_column = len(x.shape) == 1, len(y.shape) == 1
    x = importer.graph.reshape(x, (1, *x.shape)) if is_row else x
    y = importer.graph.reshape(y, (*y.shape, 1)) if is_column else y
    result = multiply(importer, x, y)
    kept = result.shape[:-2] + (() if is_row else result.shape[-2:-1]) + \
        (() if is_column else result.shape[-1:])
    return importer.graph.reshape(result, kept)


def multiply(importer: Importer, x: Value, y: Value) -> Value:
    """A matmul of matrices or batches of them."""
    if len(y.shape) == 2 and len(x.shape) >= 2:
        return importer.merged(importer.linear(x, y, is_transposed=False),
                               x.shape[:-1] + y.shape[-1:])
    batch = numpy.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = importer.graph.expand(x, batch + x.shape[-2:])
    y = importer.graph.expand(y, batch + y.shape[-2:])
    letters = LETTERS[3:3 + len(batch)]
    return importer.graph.einsum(letters + "bc", letters + "ca", letters + "ba", x, y)


@handles("Gemm")
def convert_gemm(importer: Importer, node: Any) -> Value:
    x, weight = (importer.value(item) for item in node.input[:2])
    graph = importer.graph
    if attribute(node, "transA", 0):
        x = graph.transpose(x, [1, 0])
    y = importer.linear(x, weight, is_transposed=bool(attribute(node, "transB", 0)))
    bias = importer.operand(node, 2)
    y = scaled(importer, y, attribute(node, "alpha", 1.0))
    bias = None if bias is None else scaled(importer, bias, attribute(node, "beta", 1.0))
    shape = (x.shape[0], y.shape[-1])
    if bias is not None and len(bias.shape) == 2 and bias.shape[0] != 1:
        return graph.binary("arith.addf", graph.reshape(y, shape), graph.expand(bias, shape))
    if bias is not None and len(bias.shape) == 2:
        bias = graph.reshape(bias, bias.shape[1:])
    return importer.merged(groups.add_bias(graph, y, bias), shape)


def scaled(importer: Importer, x: Value, factor: float) -> Value:
    if factor == 1:
        return x
    number = importer.graph.constant(factor, x.shape, x.element)
    return importer.graph.binary("arith.mulf", x, number)


@handles("Einsum")
def convert_einsum(importer: Importer, node: Any) -> Value:
    spec = str(attribute(node, "equation")).replace(" ", "")
    operands, _, result = spec.partition("->")
    parts = operands.split(",")
    if "." in spec or len(parts) != 2 or "->" not in spec:
        raise ImportFailure(f"expects an einsum of two tensors with a result but got {spec}")
    for letter in set(spec) - set(",->"):
        counts = [part.count(letter) for part in (*parts, result)]
        if max(counts) > 1 or sum(counts) < 2:
            raise ImportFailure(f"expects each letter once in a tensor, and in two of the three, "
                                f"but got {spec}")
    x, y = (importer.value(item) for item in node.input)
    return importer.graph.einsum(*parts, result, x, y)


@handles("Conv")
def convert_conv(importer: Importer, node: Any) -> Value:
    """A convolution of patches that do not overlap, as a matmul."""
    x, weight = (importer.value(item) for item in node.input[:2])
    kernel = weight.shape[2:]
    ones, zeros = [1] * len(kernel), [0] * (2 * len(kernel))
    settings = [list(attribute(node, name, default)) for name, default in
                (("strides", ones), ("pads", zeros), ("dilations", ones))]
    if len(kernel) != 2 or settings != [list(kernel), zeros, ones] or \
            attribute(node, "group", 1) != 1 or \
            attribute(node, "auto_pad", "NOTSET") not in ("NOTSET", "VALID") or \
            any(size % part for size, part in zip(x.shape[2:], kernel)):
        raise ImportFailure("expects a convolution of patches that do not overlap")
    y = groups.patches(importer.graph, x, weight)
    bias = importer.operand(node, 2)
    if bias is None:
        return y
    return importer.graph.binary("arith.addf", y, importer.graph.broadcast(bias, y.shape, [1]))


# Reductions.

def reduction(importer: Importer, node: Any, kind: str) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    axes = importer.numbers(node, 1, "axes")
    if kind == "square":
        x = graph.binary("arith.mulf" if x.is_float else "arith.muli", x, x)
    if not axes:
        if attribute(node, "noop_with_empty_axes", 0):
            return x
        axes = list(range(len(x.shape)))
    axes = [positive(axis, len(x.shape)) for axis in axes]
    if kind == "mean" and x.is_float:
        y = graph.cast(groups.mean(graph, x, axes), x.element)
    else:
        y = graph.reduce(kind if kind in ("max", "min") else "sum", x, axes)
    if kind == "mean" and not x.is_float:
        count = graph.constant(math.prod(x.shape[axis] for axis in axes), y.shape, y.element)
        y = graph.binary("arith.divsi", y, count)
    if attribute(node, "keepdims", 1):
        y = graph.reshape(y, [1 if i in axes else size for i, size in enumerate(x.shape)])
    return y


for _name, _kind in {"Sum": "sum", "Mean": "mean", "Max": "max", "Min": "min",
                     "SumSquare": "square"}.items():
    HANDLERS[f"Reduce{_name}"] = lambda importer, node, kind=_kind: reduction(importer, node, kind)


@handles("Softmax")
def convert_softmax(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    dim = positive(attribute(node, "axis", -1), len(x.shape))
    return importer.graph.op(f"nn.softmax {x.name} dim {dim} : {x.type}", x.shape, x.element)


@handles("LogSoftmax")
def convert_log_softmax(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    dim = positive(attribute(node, "axis", -1), len(x.shape))
    return groups.log_softmax(importer.graph, x, dim)


# Ops that nn has.

def check_last(node: Any, x: Value, default: int) -> None:
    axis = positive(attribute(node, "axis", default), len(x.shape))
    if axis != len(x.shape) - 1:
        raise ImportFailure(f"expects a norm of the last dimension but got one from {axis} on")


def last_vector(importer: Importer, value: Value, x: Value) -> Value:
    """The factor or summand of a norm, as a vector of the last dimension of x."""
    size = x.shape[-1]
    if math.prod(value.shape) not in (1, size) or value.shape[-1:] not in ((), (1,), (size,)):
        raise ImportFailure(f"expects a vector of the {size} elements of a row but got "
                            f"{value.type}")
    graph = importer.graph
    if math.prod(value.shape) == size:
        return graph.reshape(value, (size,))
    return graph.broadcast(graph.reshape(value, ()), (size,), [])


@handles("LayerNormalization")
def convert_layer_norm(importer: Importer, node: Any) -> Value:
    x, gamma, beta = (importer.operand(node, i) for i in range(3))
    assert x is not None and gamma is not None
    check_last(node, x, -1)
    gamma = last_vector(importer, gamma, x)
    beta = importer.graph.constant(0, x.shape[-1:], x.element) if beta is None else \
        last_vector(importer, beta, x)
    eps = groups.literal_eps(attribute(node, "epsilon", 1e-5))
    return importer.graph.op(f"nn.layer_norm {x.name}, {gamma.name}, {beta.name} eps {eps} : "
                             f"{x.type}, {gamma.type}, {beta.type}", x.shape, x.element)


@handles("RMSNormalization")
def convert_rms_norm(importer: Importer, node: Any) -> Value:
    x, gamma = (importer.value(item) for item in node.input)
    check_last(node, x, -1)
    gamma = last_vector(importer, gamma, x)
    eps = groups.literal_eps(attribute(node, "epsilon", 1e-5))
    return importer.graph.op(f"nn.rms_norm {x.name}, {gamma.name} eps {eps} : {x.type}, "
                             f"{gamma.type}", x.shape, x.element)


@handles("Gelu")
def convert_gelu(importer: Importer, node: Any) -> Value:
    kind = "tanh" if attribute(node, "approximate", "none") == "tanh" else "erf"
    return importer.graph.unary(f"nn.gelu <{kind}>", importer.value(node.input[0]))


def apart(importer: Importer, x: Value, heads: int) -> Value:
    """Converts [batch, position, head x dim] to [batch, head, position, dim]."""
    batch, length, width = x.shape
    split = importer.graph.reshape(x, (batch, length, heads, width // heads))
    return importer.graph.transpose(split, [0, 2, 1, 3])


def together(importer: Importer, x: Value) -> Value:
    batch, heads, length, dim = x.shape
    return importer.graph.reshape(importer.graph.transpose(x, [0, 2, 1, 3]),
                                  (batch, length, heads * dim))


# Bit widths of the types that a softmax may have.
WIDTHS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}


@handles("Attention")
def convert_attention(importer: Importer, node: Any) -> Value:
    q, k, v = (importer.value(item) for item in node.input[:3])
    for name, left_out in (("softcap", 0.0), ("qk_matmul_output_mode", 0)):
        if attribute(node, name, left_out) != left_out:
            raise ImportFailure(f"expects attention without {name}")
    precision = attribute(node, "softmax_precision", 0)
    if precision and WIDTHS.get(element_of_type(precision), 0) < WIDTHS.get(q.element, 0):
        raise ImportFailure("expects attention whose softmax is as precise as its operands")
    if importer.has(node, 4) or importer.has(node, 5):
        raise ImportFailure("expects attention without past keys and values")
    is_flat = len(q.shape) == 3
    if is_flat:
        q = apart(importer, q, attribute(node, "q_num_heads"))
        k, v = (apart(importer, x, attribute(node, "kv_num_heads")) for x in (k, v))
    scale = attribute(node, "scale", 1 / math.sqrt(q.shape[-1]))
    is_causal = bool(attribute(node, "is_causal", 0))
    visibility = groups.Visibility(is_causal, False, False)
    if importer.has(node, 3):
        visibility = read_mask(importer, node, q.shape[2], k.shape[2], is_causal)
    if visibility.has_mask:
        mask = pad_mask(importer.graph, importer.value(node.input[3]), k.shape[2])
        y = groups.masked_attention(importer.graph, q, k, v, scale, mask, visibility)
    else:
        found = [importer.repeated.get(x, x) for x in (k, v)]
        k, v = found if found[0].shape[1] == found[1].shape[1] else (k, v)
        y = groups.grouped_attention(importer.graph, q, k, v, scale, visibility.is_causal)
    return together(importer, y) if is_flat else y


def read_mask(importer: Importer, node: Any, queries: int, keys: int,
              is_causal: bool) -> groups.Visibility:
    """The visibility of a mask. A mask with fewer keys hides the others."""
    mask = importer.constants.get(node.input[3])
    shape = importer.value(node.input[3]).shape if mask is None else mask.shape
    if not shape or shape[-1] > keys:
        raise ImportFailure(f"expects a mask of at most {keys} keys but got one of {list(shape)}")
    if mask is not None and shape[-1] < keys:
        hidden = False if mask.dtype == bool else -math.inf
        mask = numpy.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, keys - shape[-1])],
                         constant_values=hidden)
    return groups.read_mask(mask, queries, keys, is_causal)


def pad_mask(graph: Graph, mask: Value, keys: int) -> Value:
    """Extends a mask with hidden keys at the end."""
    if mask.shape[-1] == keys:
        return mask
    rest = mask.shape[:-1] + (keys - mask.shape[-1],)
    hidden = graph.constant(False if mask.element == "i1" else -math.inf, rest, mask.element)
    return graph.concat([mask, hidden], len(rest) - 1)


@handles("RotaryEmbedding")
def convert_rotary(importer: Importer, node: Any) -> Value:
    """Rotates the pairs (i, i + n / 2) of the first n elements of a head, or pairs of neighbours.
    """
    x, graph = importer.value(node.input[0]), importer.graph
    is_flat = len(x.shape) == 3
    if is_flat:
        x = apart(importer, x, attribute(node, "num_heads"))
    width = attribute(node, "rotary_embedding_dim", 0) or x.shape[-1]
    cos, sin = (rotary_table(importer, node, i, x.shape, width // 2) for i in (1, 2))
    turned, rest = graph.slice(x, 3, 0, width), x.shape[-1] - width
    is_interleaved = bool(attribute(node, "interleaved", 0))
    half = turned.shape[:-1] + (width // 2,)
    if is_interleaved:
        pairs = graph.reshape(turned, half + (2,))
        a, b = (graph.reshape(graph.slice(pairs, 4, i, 1), half) for i in (0, 1))
    else:
        a, b = (graph.slice(turned, 3, i * (width // 2), width // 2) for i in (0, 1))

    def mul(left: Value, right: Value) -> Value:
        return graph.binary("arith.mulf", left, right)
    first = graph.binary("arith.subf", mul(a, cos), mul(b, sin))
    second = graph.binary("arith.addf", mul(a, sin), mul(b, cos))
    if is_interleaved:
        columns = [graph.reshape(value, half + (1,)) for value in (first, second)]
        y = graph.reshape(graph.concat(columns, 4), turned.shape)
    else:
        y = graph.concat([first, second], 3)
    y = graph.concat([y, graph.slice(x, 3, width, rest)], 3) if rest else y
    return together(importer, y) if is_flat else y


def rotary_table(importer: Importer, node: Any, index: int, shape: Sequence[int],
                 width: int) -> Value:
    """A table of rows as [batch, head, position, pair]."""
    batch, heads, length, _ = shape
    table, positions = importer.constants.get(node.input[index]), importer.constants.get(
        node.input[3]) if importer.has(node, 3) else None
    if table is not None and positions is not None:
        rows = importer.write(table[positions])
    elif importer.has(node, 3):
        rows = importer.embedding(importer.value(node.input[index]), importer.value(node.input[3]))
    else:
        rows = importer.value(node.input[index])
    rows = importer.graph.expand(rows, (batch, length, width))
    return importer.graph.broadcast(rows, (batch, heads, length, width), [0, 2, 3])


@handles("SoftmaxCrossEntropyLoss")
def convert_cross_entropy(importer: Importer, node: Any) -> Value:
    """A cross entropy with the classes in dimension 1."""
    logits, labels = (importer.value(item) for item in node.input[:2])
    if importer.has(node, 2):
        raise ImportFailure("expects a cross entropy without weights")
    order = [0, *range(2, len(logits.shape)), 1]
    logits, labels = importer.unmerged_rows(importer.graph.transpose(logits, order), labels)
    kind = attribute(node, "reduction", "mean")
    each = importer.cross_entropy(logits, labels, attribute(node, "ignore_index", -100), kind,
                                  logits.element)
    return importer.merged(each, importer.value(node.input[1]).shape) if kind == "none" else each
