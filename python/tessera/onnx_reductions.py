"""Converts reductions, running sums, choices of elements and softmaxes of ONNX."""

from __future__ import annotations

import math
from typing import Any, Sequence

from . import groups
from .errors import ImportFailure
from .graph_text import LETTERS, Graph, Value
from .onnx_importer import HANDLERS, Importer, attribute, handles, positive
from .onnx_ops import rows_at


# Reductions.

def product(graph: Graph, x: Value, dims: Sequence[int]) -> Value:
    """The product over dimensions: halves are multiplied until one element is left."""
    for dim in dims:
        while x.shape[dim] > 1:
            half, rest = divmod(x.shape[dim], 2)
            y = graph.binary("arith.mulf" if x.is_float else "arith.muli",
                             graph.slice(x, dim, 0, half), graph.slice(x, dim, half, half))
            x = graph.concat([y, graph.slice(x, dim, 2 * half, 1)], dim) if rest else y
    return graph.reshape(x, [size for i, size in enumerate(x.shape) if i not in dims])


def root(graph: Graph, x: Value) -> Value:
    """A square root whose gradient is 0 at 0."""
    zero, one = (graph.constant(number, x.shape, x.element) for number in (0, 1))
    is_zero = graph.compare("eq", x, zero)
    return graph.select(is_zero, zero, graph.unary("math.sqrt", graph.select(is_zero, one, x)))


def absolute(graph: Graph, x: Value) -> Value:
    return graph.unary("math.absf" if x.is_float else "math.absi", x)


def square(graph: Graph, x: Value) -> Value:
    return graph.binary("arith.mulf" if x.is_float else "arith.muli", x, x)


def reduce_elements(graph: Graph, kind: str, x: Value, axes: Sequence[int]) -> Value:
    """A reduction without the dimensions; results of several ops are rounded once."""
    if kind not in ("Sum", "Max", "Min", "Mean", "Prod", "L1", "SumSquare") and not x.is_float:
        raise ImportFailure(f"expects floats but got {x.type}")
    if kind == "Sum":
        return graph.reduce("sum", x, axes)
    if kind in ("Max", "Min"):
        wide = graph.cast(x, "i32") if x.element == "i1" else x
        return graph.cast(graph.reduce(kind.lower(), wide, axes), x.element)
    if kind == "LogSumExp":
        return groups.logsumexp(graph, x, axes)
    if kind == "Mean" and x.is_float:
        return graph.cast(groups.mean(graph, x, axes), x.element)
    wide = groups.wide(graph, x)
    if kind == "Prod":
        return graph.cast(product(graph, wide, axes), x.element)
    wide = absolute(graph, wide) if kind == "L1" else \
        square(graph, wide) if kind in ("L2", "SumSquare") else wide
    y = graph.reduce("sum", wide, axes)
    if kind == "L2":
        y = root(graph, y)
    if kind == "LogSum":
        y = graph.unary("math.log", y)
    if kind == "Mean":
        count = graph.constant(math.prod(x.shape[axis] for axis in axes), y.shape, y.element)
        y = graph.binary("arith.divsi", y, count)
    return graph.cast(y, x.element)


def reduction(importer: Importer, node: Any) -> Value:
    """A reduction over axes, an attribute or an operand. Without axes it is over all dimensions,
    or, by an attribute, of each element alone."""
    x, axes = importer.value(node.input[0]), importer.numbers(node, 1, "axes")
    graph, kind = importer.graph, node.op_type.removeprefix("Reduce")
    if not axes and attribute(node, "noop_with_empty_axes", 0):
        if kind in ("Sum", "Max", "Min", "Mean", "Prod", "LogSumExp"):
            return x
        single = graph.reshape(x, x.shape + (1,))
        return reduce_elements(graph, kind, single, [len(x.shape)])
    axes = [positive(axis, len(x.shape)) for axis in axes or range(len(x.shape))]
    y = reduce_elements(graph, kind, x, axes)
    if attribute(node, "keepdims", 1):
        y = graph.reshape(y, [1 if i in axes else size for i, size in enumerate(x.shape)])
    return y


for _name in ("Sum", "Mean", "Max", "Min", "SumSquare", "Prod", "L1", "L2", "LogSum", "LogSumExp"):
    HANDLERS[f"Reduce{_name}"] = reduction


@handles("CumSum")
def convert_cumsum(importer: Importer, node: Any) -> Value:
    """A running sum: exact for integers, of floats a matmul with a triangle of ones."""
    x, graph = importer.value(node.input[0]), importer.graph
    axis = importer.numbers(node, 1, "axes")
    assert axis is not None and len(axis) == 1
    dim, size = positive(axis[0], len(x.shape)), x.shape[positive(axis[0], len(x.shape))]
    is_reversed = bool(attribute(node, "reverse", 0))
    predicate = ("g" if is_reversed else "l") + ("t" if attribute(node, "exclusive", 0) else "e")
    if not x.is_float:
        return groups.integer_cumsum(graph, x, dim, predicate)
    wide = groups.wide(graph, x)
    shown = graph.cast(groups.triangle(graph, size, predicate), wide.element)
    letters = LETTERS[2:2 + len(x.shape)]
    left = letters[:dim] + "b" + letters[dim + 1:]
    return graph.cast(graph.einsum(left, "ab", left.replace("b", "a"), wide, shown), x.element)


# Reductions that choose elements.

def move_last(graph: Graph, x: Value, dim: int) -> Value:
    return graph.transpose(x, [*(i for i in range(len(x.shape)) if i != dim), dim])


def move_back(graph: Graph, x: Value, dim: int) -> Value:
    """The inverse of move_last."""
    rank = len(x.shape)
    return graph.transpose(x, [*range(dim), rank - 1, *range(dim, rank - 1)])


def first_extremum(graph: Graph, kind: str, x: Value, dim: int) -> Value:
    """The position of the first largest or smallest element along a dimension."""
    shape = x.shape[:dim] + x.shape[dim + 1:]
    value, index = Value("", shape, x.element), Value("", shape, "i64")
    return graph.op(f"nn.arg_reduce <{kind}> {x.name} dim {dim} : {x.type} -> {value.type}, "
                    f"{index.type}", shape, "i64", result=1)


@handles("ArgMax", "ArgMin")
def convert_arg_reduction(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    dim = positive(attribute(node, "axis", 0), len(x.shape))
    is_last, size = attribute(node, "select_last_index", 0), x.shape[dim]
    rows = rows_at(importer, x, dim, range(size)[::-1]) if is_last else x
    index = first_extremum(graph, node.op_type[3:].lower(), rows, dim)
    if is_last:
        last = graph.constant(size - 1, index.shape, index.element)
        index = graph.binary("arith.subi", last, index)
    keeps = attribute(node, "keepdims", 1)
    return graph.reshape(index, x.shape[:dim] + (1,) + x.shape[dim + 1:]) if keeps else index


@handles("Hardmax")
def convert_hardmax(importer: Importer, node: Any) -> Value:
    """1 at the first largest element of each row, else 0."""
    x, graph = importer.value(node.input[0]), importer.graph
    dim = positive(attribute(node, "axis", -1), len(x.shape))
    index = first_extremum(graph, "max", x, dim)
    place = graph.op(f"nn.iota : tensor<{x.shape[dim]}xi64>", (x.shape[dim],), "i64")
    kept = [i for i in range(len(x.shape)) if i != dim]
    is_first = graph.compare("eq", graph.broadcast(index, x.shape, kept),
                             graph.broadcast(place, x.shape, [dim]))
    return graph.cast(is_first, x.element)


@handles("TopK")
def convert_top_k(importer: Importer, node: Any) -> list[Value]:
    """The largest or smallest elements of a dimension in their order, and their positions."""
    x, graph = importer.value(node.input[0]), importer.graph
    count = importer.numbers(node, 1, "numbers of elements")
    dim = positive(attribute(node, "axis", -1), len(x.shape))
    if not x.is_float or count is None:
        raise ImportFailure(f"expects floats but got {x.type}")
    rows = move_last(graph, x, dim)
    kind = "" if attribute(node, "largest", 1) else "smallest "
    shape = rows.shape[:-1] + (count[0],)
    ids = Value("", shape, "i32")
    ids = graph.op(f"nn.top_k {count[0]} {kind}{rows.name} : {rows.type} -> {ids.type}", shape,
                   "i32")
    return [move_back(graph, value, dim)
            for value in (importer.take(rows, ids), graph.cast(ids, "i64"))]


# Softmaxes and vector norms.

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


@handles("LpNormalization")
def convert_lp_normalization(importer: Importer, node: Any) -> Value:
    """x over the norm of order 1 or 2 along a dimension; 0 where the norm is 0."""
    x, graph = importer.value(node.input[0]), importer.graph
    dim, order = positive(attribute(node, "axis", -1), len(x.shape)), attribute(node, "p", 2)
    norm = reduce_elements(graph, f"L{order}", x, [dim])
    zero, one = (graph.constant(number, norm.shape, norm.element) for number in (0, 1))
    # A row of norm 0 has zeros only.
    norm = graph.select(graph.compare("eq", norm, zero), one, norm)
    kept = [i for i in range(len(x.shape)) if i != dim]
    return graph.binary("arith.divf", x, graph.broadcast(norm, x.shape, kept))
