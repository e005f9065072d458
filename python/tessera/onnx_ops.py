"""Converts ops of ONNX to nn, arith, math and tensor, with a handler for each: elementwise ones,
shapes, gathers and matmuls."""

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
def convert_dropout(importer: Importer, node: Any) -> list[Value]:
    is_training = importer.constant(node, 2, "modes")
    ratio = importer.constant(node, 1, "ratios")
    if is_training is not None and bool(is_training) and (ratio is None or float(ratio) != 0):
        raise ImportFailure("expects no dropout but got one in training mode")
    x = importer.value(node.input[0])
    has_mask = len(node.output) > 1 and node.output[1] in importer.uses
    return [x, importer.graph.constant(True, x.shape, "i1")] if has_mask else [x]


# Shapes.

@handles("Shape", "Size")
def measure(importer: Importer, node: Any) -> list[Any]:
    """The sizes of a tensor, which are constants."""
    shape = importer.value(node.input[0]).shape
    if node.op_type == "Size":
        return [numpy.array(math.prod(shape), dtype=numpy.int64)]
    first, last = attribute(node, "start", 0), attribute(node, "end")
    return [numpy.array(shape[first:last], dtype=numpy.int64)]


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
        if not rows:
            raise ImportFailure(f"expects rows of dimension {dim} but got {start} to {end} by "
                                f"{step}")
        x = rows_at(importer, x, dim, rows)
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
    number, axes = importer.operand(node, 2), importer.numbers(node, 3, "axes")
    mode = attribute(node, "mode", "constant")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise ImportFailure(f"expects padding by a constant, edge, reflect or wrap but got {mode}")
    axes = list(range(len(x.shape))) if axes is None else axes
    for i, axis in enumerate(axes):
        dim = positive(axis, len(x.shape))
        for is_before, width in ((True, widths[i]), (False, widths[len(axes) + i])):
            if width < 0:
                start = -width if is_before else 0
                x = importer.graph.slice(x, dim, start, x.shape[dim] + width)
            elif width > 0 and mode == "constant":
                shape = [width if d == dim else size for d, size in enumerate(x.shape)]
                block = importer.graph.constant(0, shape, x.element) if number is None else \
                    importer.graph.broadcast(importer.graph.reshape(number, ()), shape, [])
                x = importer.graph.concat([block, x] if is_before else [x, block], dim)
        if mode != "constant":
            before, after = (max(widths[j], 0) for j in (i, len(axes) + i))
            if mode != "edge" and max(before, after) >= x.shape[dim]:
                raise ImportFailure(f"expects padding of less than the {x.shape[dim]} elements of "
                                    f"dimension {dim} but got {before} and {after}")
            x = rows_at(importer, x, dim, numpy.pad(range(x.shape[dim]), (before, after), mode))
    return x


# The most elements of integers that are compared to choose rows of them.
LARGEST_CHOICE = 1 << 24


def rows_at(importer: Importer, x: Value, dim: int, rows: Any) -> Value:
    """The elements of a dimension at constant positions, in any order."""
    graph, rows = importer.graph, numpy.asarray(rows)
    steps = set(numpy.diff(rows).tolist()) or {1}
    if len(steps) == 1 and min(steps) > 0:
        return graph.slice(x, dim, int(rows[0]), len(rows), steps.pop())
    order = [dim, *(i for i in range(len(x.shape)) if i != dim)]
    table = graph.transpose(x, order)
    rest = table.shape[1:]
    if x.is_float:
        found = importer.embedding(graph.reshape(table, (x.shape[dim], math.prod(rest))),
                                   importer.write(rows))
        found = graph.reshape(found, (len(rows), *rest))
    else:
        # Integers and booleans: the only element of each sum.
        wide = graph.cast(table, "i32") if x.element == "i1" else table
        shape = (len(rows), *table.shape)
        if math.prod(shape) > LARGEST_CHOICE:
            raise ImportFailure(f"expects floats, or elements in order, but got {len(rows)} rows "
                                f"of {table.type}")
        is_row = importer.write(rows[:, None] == numpy.arange(x.shape[dim]))
        zero = graph.constant(0, shape, wide.element)
        spread = graph.broadcast(wide, shape, range(1, len(shape)))
        chosen = graph.select(graph.broadcast(is_row, shape, [0, 1]), spread, zero)
        found = graph.cast(graph.reduce("sum", chosen, [1]), x.element)
    return graph.transpose(found, [order.index(i) for i in range(len(order))])


@handles("Gather", "GatherElements", "GatherND")
def convert_gather(importer: Importer, node: Any) -> Value:
    """Rows of a table, elements of each row, or elements at constant indices."""
    x, index = importer.value(node.input[0]), importer.constants.get(node.input[1])
    dim = positive(attribute(node, "axis", 0), len(x.shape))
    is_table = node.op_type == "Gather" and dim == 0 and len(x.shape) == 2 and x.is_float
    if index is not None and not (is_table and index.size > 1):
        return gather_constant(importer, node, x, index)
    rows = importer.value(node.input[1]) if index is None else \
        importer.write(count_from_front(index, x.shape[0]))
    if not x.is_float:
        raise ImportFailure(f"expects floats, or indices that follow from no input, but got "
                            f"{x.type}")
    if is_table:
        # An input that indexes a table holds ids; a value that follows from one may be negative.
        is_input = importer.graph.attributes(importer.unmerged.get(rows, rows)) is not None
        if not is_input and index is None:
            rows = wrap(importer.graph, rows, x.shape[0])
        return importer.embedding(x, rows)
    convert = {"Gather": gather_rows, "GatherND": gather_points,
               "GatherElements": gather_elements}[node.op_type]
    return convert(importer, node, x, rows, dim)


def gather_constant(importer: Importer, node: Any, x: Value, index: Any) -> Value:
    """Elements at constant indices: a view, or rows."""
    check_index(node, x.shape, index)
    numbers = numpy.arange(math.prod(x.shape)).reshape(x.shape)
    elements = importer.evaluate_with(node, {node.input[0]: numbers})
    found = groups.view(importer.graph, x, elements)
    if found is not None:
        return found
    graph = importer.graph
    if node.op_type == "Gather":
        dim = positive(attribute(node, "axis", 0), len(x.shape))
        rows = count_from_front(index, x.shape[dim]).reshape(-1)
        return graph.reshape(rows_at(importer, x, dim, rows), elements.shape)
    flat = graph.reshape(x, (math.prod(x.shape),))
    return graph.reshape(rows_at(importer, flat, 0, elements.reshape(-1)), elements.shape)


@handles("Compress")
def convert_compress(importer: Importer, node: Any) -> Value:
    """The elements of a dimension, or of all, that a constant shows."""
    x, shown = importer.value(node.input[0]), importer.constant(node, 1, "conditions")
    axis = attribute(node, "axis")
    if axis is None:
        x, axis = importer.graph.reshape(x, (math.prod(x.shape),)), 0
    rows = numpy.flatnonzero(shown)
    dim = positive(axis, len(x.shape))
    if not rows.size or rows[-1] >= x.shape[dim]:
        raise ImportFailure(f"expects some of {x.shape[dim]} elements but got {rows.tolist()}")
    return rows_at(importer, x, dim, rows)


def wrap(graph: Graph, ids: Value, size: int) -> Value:
    """Indices from the front for indices that may count from the end."""
    moved = graph.binary("arith.addi", ids, graph.constant(size, ids.shape, ids.element))
    is_below = graph.compare("lt", ids, graph.constant(0, ids.shape, ids.element))
    return graph.select(is_below, moved, ids)


def gather_rows(importer: Importer, node: Any, x: Value, ids: Value, dim: int) -> Value:
    """Elements of a dimension at indices that follow from an input."""
    graph = importer.graph
    table = graph.transpose(x, [dim, *(i for i in range(len(x.shape)) if i != dim)])
    flat = graph.reshape(table, (x.shape[dim], math.prod(table.shape[1:])))
    found = importer.embedding(flat, wrap(graph, ids, x.shape[dim]))
    found = graph.reshape(found, ids.shape + table.shape[1:])
    count = len(ids.shape)
    return graph.transpose(found, [*range(count, count + dim), *range(count),
                                   *range(count + dim, len(found.shape))])


def gather_points(importer: Importer, node: Any, x: Value, ids: Value, dim: int) -> Value:
    """Elements at coordinates, which the last dimension of the indices holds."""
    graph, depth = importer.graph, ids.shape[-1]
    if attribute(node, "batch_dims", 0):
        raise ImportFailure("expects coordinates of all dimensions (batch_dims = 0), or indices "
                            "that follow from no input")
    flat = graph.reshape(x, (math.prod(x.shape[:depth]), math.prod(x.shape[depth:])))
    found = importer.embedding(flat, points(graph, ids, x.shape))
    return graph.reshape(found, ids.shape[:-1] + x.shape[depth:])


def points(graph: Graph, ids: Value, shape: Sequence[int]) -> Value:
    """Coordinates in the first dimensions of a shape, along the last dimension of `ids`, as one."""
    number, last = None, len(ids.shape) - 1
    for i in range(ids.shape[-1]):
        part = graph.reshape(graph.slice(ids, last, i, 1), ids.shape[:-1])
        part = wrap(graph, part, shape[i])
        if number is not None:
            size = graph.constant(shape[i], part.shape, part.element)
            part = graph.binary("arith.addi", graph.binary("arith.muli", number, size), part)
        number = part
    assert number is not None
    return number


def gather_elements(importer: Importer, node: Any, x: Value, ids: Value, dim: int) -> Value:
    """Elements of each row of a dimension, and as many rows as there are of indices. An input that
    has an index for each row holds positions."""
    graph, shape = importer.graph, ids.shape
    is_input = graph.attributes(importer.unmerged.get(ids, ids)) is not None
    if not is_input or shape[dim] != 1:
        ids = wrap(graph, ids, x.shape[dim])
    for i, size in enumerate(shape):
        x = x if i == dim else graph.slice(x, i, 0, size)
    order = [*(i for i in range(len(x.shape)) if i != dim), dim]
    table, rows = graph.transpose(x, order), graph.transpose(ids, order)
    if shape[dim] == 1:
        return graph.reshape(importer.take(table, graph.reshape(rows, rows.shape[:-1])), shape)
    found = importer.take(table, rows)
    return graph.transpose(found, [order.index(i) for i in range(len(order))])


def check_index(node: Any, shape: Sequence[int], index: Any) -> None:
    """Fails if a constant index is out of range."""
    dim = positive(attribute(node, "axis", 0), len(shape))
    if node.op_type == "GatherND":
        first = attribute(node, "batch_dims", 0)
        for i in range(index.shape[-1]):
            count_from_front(index[..., i], shape[first + i])
    else:
        count_from_front(index, shape[dim])


def count_from_front(index: Any, size: int) -> Any:
    """Converts negative indices, which count from the end, to indices from the front."""
    if index.min() < -size or index.max() >= size:
        raise ImportFailure(f"expects indices of {size} rows but got {index.min()} to "
                            f"{index.max()}")
    return numpy.where(index < 0, index + size, index)


@handles("Trilu")
def convert_trilu(importer: Importer, node: Any) -> Value:
    """The upper or lower triangle of each matrix, and 0 elsewhere."""
    x, diagonal, graph = importer.value(node.input[0]), importer.numbers(node, 1, "diagonals"), \
        importer.graph
    keep = numpy.triu if attribute(node, "upper", 1) else numpy.tril
    shown = keep(numpy.ones(x.shape[-2:], bool), diagonal[0] if diagonal else 0)
    rank = len(x.shape)
    mask = graph.broadcast(graph.expand(importer.write(shown), shown.shape), x.shape,
                           [rank - 2, rank - 1])
    return graph.select(mask, x, graph.constant(0, x.shape, x.element))


@handles("OneHot")
def convert_one_hot(importer: Importer, node: Any) -> Value:
    """The second of two values at each index, and the first elsewhere; an index that is out of
    range is nowhere."""
    ids, depth = importer.value(node.input[0]), importer.numbers(node, 1, "sizes")
    values, graph = importer.value(node.input[2]), importer.graph
    assert depth is not None and values.shape == (2,)
    size, rank = depth[0], len(ids.shape) + 1
    dim = positive(attribute(node, "axis", -1), rank)
    ids = wrap(graph, graph.cast(ids, "i64"), size)
    shape = ids.shape[:dim] + (size,) + ids.shape[dim:]
    place = graph.op(f"nn.iota : tensor<{size}xi64>", (size,), "i64")
    is_there = graph.compare("eq", graph.broadcast(place, shape, [dim]),
                             graph.broadcast(ids, shape, [i for i in range(rank) if i != dim]))
    off, on = (graph.broadcast(graph.reshape(graph.slice(values, 0, i, 1), ()), shape, [])
               for i in (0, 1))
    return graph.select(is_there, on, off)


@handles("EyeLike")
def convert_eye_like(importer: Importer, node: Any) -> Value:
    """Ones on a diagonal; the operand gives the shape."""
    x = importer.value(node.input[0])
    kind = attribute(node, "dtype")
    eye = importer.write(numpy.eye(*x.shape, attribute(node, "k", 0), dtype=bool))
    return importer.graph.cast(importer.graph.expand(eye, x.shape),
                               x.element if kind is None else element_of_type(kind))


@handles("DepthToSpace", "SpaceToDepth")
def convert_blocks(importer: Importer, node: Any) -> Value:
    """Moves blocks of positions to channels, or back."""
    x, block = importer.value(node.input[0]), attribute(node, "blocksize")
    graph, (batch, channels, height, width) = importer.graph, x.shape
    if node.op_type == "SpaceToDepth":
        split = graph.reshape(x, (batch, channels, height // block, block, width // block, block))
        return graph.reshape(graph.transpose(split, [0, 3, 5, 1, 2, 4]),
                             (batch, channels * block * block, height // block, width // block))
    rest = channels // (block * block)
    is_crd = attribute(node, "mode", "DCR") == "CRD"
    parts = (rest, block, block) if is_crd else (block, block, rest)
    order = [0, 1, 4, 2, 5, 3] if is_crd else [0, 3, 4, 1, 5, 2]
    split = graph.transpose(graph.reshape(x, (batch, *parts, height, width)), order)
    return graph.reshape(split, (batch, rest, height * block, width * block))


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
