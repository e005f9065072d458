"""Converts writes of torch at indices: rows, elements, sums of equal ones."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import writes
from .errors import ImportFailure
from .graph_text import Value
from .torch_importer import Importer, argument, handles, positive
from .torch_ops_elementwise import check_untrained
from .torch_ops_indices import constant_rows, find_choice, rows_from_end, sum_positions


def write_rows(importer: Importer, kind: str, x: Value, dim: int, index: Any,
               updates: Value) -> Value:
    """Writes slices of `updates` along a dimension to positions in x."""
    graph, ids = importer.graph, importer.value(index)
    if not x.shape:
        return graph.reshape(write_rows(importer, kind, graph.reshape(x, (1,)), 0, index,
                                        graph.reshape(updates, (1,))), ())
    dim = positive(dim, len(x.shape))
    ids = graph.reshape(ids, (math.prod(ids.shape),))
    order = [dim, *(i for i in range(len(x.shape)) if i != dim)]
    moved = graph.transpose(x, order)
    width = math.prod(moved.shape[1:])
    updates = graph.reshape(updates, x.shape[:dim] + ids.shape + x.shape[dim + 1:])
    rows = graph.reshape(graph.transpose(updates, order), (*ids.shape, width))
    table = graph.reshape(moved, (moved.shape[0], width))
    result = graph.reshape(writes.scatter(graph, kind, table, ids, rows), moved.shape)
    return graph.transpose(result, [order.index(i) for i in range(len(order))])


@handles("aten.index_add.default")
def convert_index_add(importer: Importer, node: Any) -> Value:
    x, updates = (importer.value(node.args[i]) for i in (0, 3))
    alpha = argument(node, 4, "alpha", 1)
    if alpha != 1:
        updates = importer.graph.arith("mul", updates, alpha)
    return write_rows(importer, "add", x, node.args[1], node.args[2], updates)


@handles("aten.index_copy.default")
def convert_index_copy(importer: Importer, node: Any) -> Value:
    x, updates = (importer.value(node.args[i]) for i in (0, 3))
    return write_rows(importer, "set", x, node.args[1], node.args[2], updates)


@handles("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def convert_index_fill(importer: Importer, node: Any) -> Value:
    x, number, graph = importer.value(node.args[0]), node.args[3], importer.graph
    shape, dim = list(x.shape), positive(node.args[1], len(x.shape))
    shape[dim:dim + 1] = [node.args[2].meta["val"].numel()] if shape else []
    if isinstance(number, torch.fx.Node):
        updates = graph.expand(graph.cast(importer.value(number), x.element), shape)
    else:
        updates = graph.constant(number, shape, x.element)
    return write_rows(importer, "set", x, dim, node.args[2], updates)


@handles("aten.index_put.default", "aten._unsafe_index_put.default")
def convert_index_put(importer: Importer, node: Any) -> Value:
    """Positions in some dimensions, which broadcast; a mask is a choice."""
    x, indices, values = importer.value(node.args[0]), node.args[1], importer.value(node.args[2])
    kind = "add" if argument(node, 3, "accumulate", False) else "set"
    given = {dim: index for dim, index in enumerate(indices) if index is not None}
    if [index.meta["val"].dtype for index in given.values()] == [torch.bool]:
        return choose(importer, kind, x, given, values)
    graph, dims = importer.graph, list(given)
    constants = [constant_rows(importer, index, x.shape[dim]) for dim, index in given.items()]
    spot = tuple(torch.broadcast_shapes(*(index.meta["val"].shape for index in given.values())))
    sizes = [x.shape[dim] for dim in dims]
    if None not in constants:
        ids = importer.write(sum_positions(constants, sizes).expand(spot))
    else:
        ids = join_rows(importer, given, sizes, spot)
    # Values have the shape of a lookup, whose positions are where the first of several dimensions
    # next to each other is.
    kept = [i for i in range(len(x.shape)) if i not in dims]
    rest, rank = [x.shape[i] for i in kept], len(spot)
    first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0
    values = graph.expand(values, (*rest[:first], *spot, *rest[first:]))
    values = graph.transpose(values, [*range(first, first + rank), *range(first),
                                      *range(first + rank, len(values.shape))])
    order, width = [*dims, *kept], math.prod(rest)
    moved = graph.transpose(x, order)
    table = graph.reshape(moved, (math.prod(sizes), width))
    rows = graph.reshape(values, (*ids.shape, width))
    result = graph.reshape(writes.scatter(graph, kind, table, ids, rows), moved.shape)
    return graph.transpose(result, [order.index(i) for i in range(len(order))])


def join_rows(importer: Importer, indices: dict[int, Any], sizes: list[int],
              shape: tuple[int, ...]) -> Value:
    """Positions in dimensions of these sizes as one; negative ones count from the end."""
    graph, total = importer.graph, None
    for index, size in zip(indices.values(), sizes):
        position = rows_from_end(importer, index, size)
        if len(sizes) > 1:
            position = graph.expand(graph.cast(position, "i64"), shape)
        total = position if total is None else \
            graph.arith("add", graph.arith("mul", total, size), position)
    assert total is not None
    return total


def choose(importer: Importer, kind: str, x: Value, indices: dict[int, Any],
           values: Value) -> Value:
    """Writes one value, or one slice, to all positions that a mask shows."""
    graph, (dim, index) = importer.graph, next(iter(indices.items()))
    mask = importer.value(index)
    count = len(x.shape) - dim - len(mask.shape)
    while len(values.shape) > count and values.shape[:1] == (1,):
        values = graph.reshape(values, values.shape[1:])
    if dim or len(values.shape) > count:
        raise ImportFailure("expects one value for all positions of a mask in the first "
                            "dimensions; use torch.where(mask, values, x)")
    values = graph.expand(values, x.shape)
    if kind == "add":
        values = graph.arith("add", x, values)
    return graph.select(graph.broadcast(mask, x.shape, range(len(mask.shape))), values, x)


def spread_dims(importer: Importer, index: Any) -> tuple[Value, set[int]]:
    """An index, and the dimensions along which it does not vary, where its size may be 1."""
    shape, constant = index.meta["val"].shape, importer.constants.get(index)
    if constant is not None:
        return importer.value(index), {
            i for i in range(len(shape))
            if torch.equal(constant, constant.narrow(i, 0, 1).expand_as(constant))}
    spread = set()
    if str(index.target) in ("aten.expand.default", "aten.expand_as.default",
                             "aten.broadcast_to.default"):
        index = index.args[0]
        source = (1,) * (len(shape) - index.meta["val"].dim()) + tuple(index.meta["val"].shape)
        spread = {i for i, size in enumerate(source) if size == 1}
        kept = [1 if i in spread else size for i, size in enumerate(shape)]
        return importer.graph.reshape(importer.value(index), kept), spread
    return importer.value(index), spread


def write_elements(importer: Importer, kind: str, node: Any, x: Value,
                   updates: Value | float | int | bool) -> Value:
    """Writes elements of `updates`, or a number, to positions along a dimension of x."""
    graph = importer.graph
    index, spread = spread_dims(importer, node.args[2])
    shape = tuple(node.args[2].meta["val"].shape)
    if math.prod(shape) == 0:
        return x
    if not isinstance(updates, Value):
        updates = graph.constant(updates, shape, x.element)
    for i, size in enumerate(shape):
        # A smaller index leaves the last updates out.
        updates = graph.slice(updates, i, 0, size)
    if not x.shape:
        lists = [graph.reshape(value, (1,)) for value in (x, index, updates)]
        return graph.reshape(writes.scatter_elements(graph, kind, lists[0], 0, *lists[1:]), ())
    dim = positive(node.args[1], len(x.shape))
    whole = [i for i in sorted(spread) if i != dim and shape[i] == x.shape[i]]
    index = graph.expand(index, [1 if i in whole else size for i, size in enumerate(shape)]) \
        if spread.difference(whole) else index
    return writes.scatter_elements(graph, kind, x, dim, index, updates, whole)


@handles("aten.scatter.value")
def convert_scatter_value(importer: Importer, node: Any) -> Value:
    """A number at positions along a dimension. The positions of a top_k in the last dimension are a
    choice."""
    x, index = (importer.value(node.args[i]) for i in (0, 2))
    graph, rank = importer.graph, len(x.shape)
    if not rank or positive(node.args[1], rank) != rank - 1 or \
            index.shape[:-1] != x.shape[:-1] or not find_choice(importer, index):
        return write_elements(importer, "set", node, x, node.args[3])
    spread = index.shape + x.shape[-1:]
    count = Value("", x.shape[-1:], index.element)
    count = graph.op(f"nn.iota : {count.type}", count.shape, count.element)
    is_there = graph.compare("eq", graph.broadcast(index, spread, range(rank)),
                             graph.broadcast(count, spread, [rank]))
    chosen = graph.reduce("max", graph.cast(is_there, "i32"), [rank - 1])
    zero = graph.constant(0, chosen.shape, chosen.element)
    return graph.select(graph.compare("ne", chosen, zero),
                        graph.constant(node.args[3], x.shape, x.element), x)


@handles("aten.scatter.src")
def convert_scatter(importer: Importer, node: Any) -> Value:
    x, updates = (importer.value(node.args[i]) for i in (0, 3))
    return write_elements(importer, "set", node, x, updates)


@handles("aten.scatter_add.default")
def convert_scatter_add(importer: Importer, node: Any) -> Value:
    x, updates = (importer.value(node.args[i]) for i in (0, 3))
    return write_elements(importer, "add", node, x, updates)


@handles("aten.scatter.reduce", "aten.scatter.value_reduce")
def convert_scatter_by(importer: Importer, node: Any) -> Value:
    check_untrained(importer, node)
    return convert_scatter_reduce(importer, node)


@handles("aten.scatter_reduce.two")
def convert_scatter_reduce(importer: Importer, node: Any) -> Value:
    """Sums of the updates of each position, with or without the element before."""
    x, updates, kind = importer.value(node.args[0]), node.args[3], argument(node, 4, "reduce")
    if kind not in ("add", "sum"):
        raise ImportFailure(f"expects updates that are added or replace elements but got reduce = "
                            f"{kind}")
    if isinstance(updates, torch.fx.Node):
        updates = importer.value(updates)
    if not argument(node, 5, "include_self", True):
        x = write_elements(importer, "set", node, x, 0)
    return write_elements(importer, "add", node, x, updates)
