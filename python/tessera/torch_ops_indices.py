"""Converts lookups of torch: tables, positions of the largest elements, indices."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Sequence

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import Value
from .torch_experts import Choice
from .torch_importer import Importer, argument, element_of, handles, place, positive
from .torch_ops_shapes import pick


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


class Chosen(NamedTuple):
    """Elements of a dimension and their positions."""
    values: Value
    positions: Value


def choose(importer: Importer, node: Any, x: Value, dim: int, k: int, is_largest: bool,
           has_nan_first: bool = False) -> Chosen:
    """The k largest or smallest elements of a dimension, the first of equal ones. NaN is the
    largest, or, with `has_nan_first`, the first of the smallest ones too."""
    graph, element = importer.graph, x.element
    if not x.is_float:
        if x.bits > 32:
            raise ImportFailure(f"expects {node.target} of floats or of integers of at most 32 "
                                f"bits but got {x.type}; cast them with .int()")
        # A float holds each of these integers.
        x = graph.cast(x, "f64" if x.bits > 16 else "f32")
    if not x.shape:
        return Chosen(graph.cast(x, element), graph.constant(0, (), "i64"))
    dim = positive(dim, len(x.shape))
    order = [*(i for i in range(len(x.shape)) if i != dim), dim]
    moved = graph.transpose(x, order)
    keys = rows = importer.rows(moved)
    if has_nan_first and not is_largest:
        keys, is_largest = graph.unary("arith.negf", rows), True
    kind, shape = "" if is_largest else "smallest ", rows.shape[:-1] + (k,)
    ids = Value("", shape, "i32")
    ids = graph.op(f"nn.top_k {k} {kind}{keys.name} : {keys.type} -> {ids.type}", shape, "i32")
    found = take_along(importer, rows, ids)
    wide = graph.cast(ids, "i64")
    importer.choices[wide] = Choice(ids, x.shape[dim], importer.biased.get(node, ""))
    back = [order.index(i) for i in range(len(order))]
    values, positions = (graph.transpose(importer.merged(value, moved.shape[:-1] + (k,)), back)
                         for value in (found, wide))
    return Chosen(graph.cast(values, element), positions)


def take_along(importer: Importer, x: Value, index: Value) -> Value:
    """The elements of the last dimension of x at the positions `index`."""
    found = Value("", index.shape, x.element)
    return importer.graph.op(f"nn.take_along_axis {x.name}, {index.name} : {x.type}, {index.type} "
                             f"-> {found.type}", index.shape, x.element)


@handles("aten.topk.default")
def convert_top_k(importer: Importer, node: Any) -> list[Value]:
    """The largest or smallest elements of a dimension, and their positions."""
    return list(choose(importer, node, importer.value(node.args[0]), argument(node, 2, "dim", -1),
                       node.args[1], argument(node, 3, "largest", True)))


@handles("aten.sort.default", "aten.sort.stable")
def convert_sort(importer: Importer, node: Any) -> list[Value]:
    """All elements of a dimension in their order, and their positions."""
    index = 2 if str(node.target) == "aten.sort.stable" else 1
    dim, is_descending = argument(node, index, "dim", -1), argument(node, index + 1, "descending")
    shape = node.meta["val"][0].shape
    return list(choose(importer, node, importer.value(node.args[0]), dim,
                       shape[dim] if shape else 1, bool(is_descending)))


@handles("aten.argsort.default", "aten.argsort.stable")
def convert_argsort(importer: Importer, node: Any) -> Value:
    index = 2 if str(node.target) == "aten.argsort.stable" else 1
    dim, is_descending = argument(node, index, "dim", -1), argument(node, index + 1, "descending")
    shape = node.meta["val"].shape
    return choose(importer, node, importer.value(node.args[0]), dim, shape[dim] if shape else 1,
                  bool(is_descending)).positions


@handles("aten.max.dim", "aten.min.dim")
def convert_extremum(importer: Importer, node: Any) -> list[Value]:
    """The first extremum of a dimension, which has the gradient, and its position; a NaN is one."""
    chosen = choose(importer, node, importer.value(node.args[0]), node.args[1], 1,
                    str(node.target) == "aten.max.dim", True)
    return [importer.graph.reshape(value, result.shape)
            for value, result in zip(chosen, node.meta["val"])]


@handles("aten.argmax.default", "aten.argmin.default")
def convert_extremum_position(importer: Importer, node: Any) -> Value:
    """The position of the first extremum of a dimension, or of all elements in their order; that
    of a NaN, if there is one."""
    x, dim = importer.value(node.args[0]), argument(node, 1, "dim")
    if dim is None:
        x, dim = importer.graph.reshape(x, [math.prod(x.shape)]), 0
    chosen = choose(importer, node, x, dim, 1, str(node.target) == "aten.argmax.default", True)
    return importer.graph.reshape(chosen.positions, node.meta["val"].shape)


@handles("aten.one_hot.default")
def convert_one_hot(importer: Importer, node: Any) -> Value:
    """1 at the class of each element of a new last dimension, else 0."""
    x, graph, shape = importer.value(node.args[0]), importer.graph, node.meta["val"].shape
    count = Value("", shape[-1:], x.element)
    count = graph.op(f"nn.iota : {count.type}", count.shape, count.element)
    is_class = graph.compare("eq", graph.broadcast(x, shape, range(len(x.shape))),
                             graph.broadcast(count, shape, [len(x.shape)]))
    return graph.cast(is_class, "i64")


def find_choice(importer: Importer, index: Value) -> Choice | None:
    """The choice whose ids a value is, in any shape."""
    return importer.choices.get(importer.unmerged.get(index, index))


@handles("aten.gather.default")
def convert_gather(importer: Importer, node: Any) -> Value:
    """Elements of a dimension at positions, which torch has not below 0."""
    table, graph, result = importer.constants.get(node.args[0]), importer.graph, node.meta["val"]
    if table is not None and bool((table == table.flatten()[0]).all()):
        return graph.constant(table.flatten()[0].item(), result.shape, element_of(result.dtype))
    x, index = (importer.value(node.args[i]) for i in (0, 2))
    dim, rank = positive(node.args[1], len(x.shape)), len(x.shape)
    choice, rows = find_choice(importer, index), importer.rows(x)
    if dim == rank - 1 and index.shape[:-1] == x.shape[:-1] and x.is_float and choice:
        ids = choice.ids if choice.ids.shape[:-1] == rows.shape[:-1] else \
            graph.reshape(choice.ids, index.shape)
        rows = rows if ids is choice.ids else x
        return importer.merged(take_along(importer, rows, ids), index.shape)
    for i in range(rank):
        if i != dim:
            # A smaller index leaves the last elements out.
            x = graph.slice(x, i, 0, index.shape[i])
    order = [*(i for i in range(rank) if i != dim), dim]
    x, index = graph.transpose(x, order), graph.transpose(index, order)
    if index.shape[-1] == 1:
        index = graph.reshape(index, x.shape[:-1])
    if x.is_float:
        picked = take_along(importer, x, index)
    elif index.shape == x.shape[:-1]:
        picked = groups.pick_integers(graph, x, index)
    else:
        raise ImportFailure("expects gather of floats, or of one integer of each row")
    picked = graph.reshape(picked, [result.shape[i] for i in order])
    return graph.transpose(picked, [order.index(i) for i in range(rank)])


def rows_of(importer: Importer, index: Any, count: int) -> Value:
    """Positions from 0; an input has no negative ones."""
    return importer.value(index) if index.op == "placeholder" else \
        rows_from_end(importer, index, count)


def rows_from_end(importer: Importer, index: Any, count: int) -> Value:
    """Positions from 0 of computed ones that may be negative."""
    rows, graph = importer.value(index), importer.graph
    return graph.select(graph.compare("lt", rows, 0), graph.arith("add", rows, count), rows)


def constant_rows(importer: Importer, index: Any, count: int) -> torch.Tensor | None:
    """Constant positions in a dimension, from 0; None for computed ones."""
    if index.meta["val"].dtype == torch.bool:
        raise ImportFailure("expects positions as an index but got booleans, whose number "
                            "torch.export does not know; use torch.where")
    constant = importer.constants.get(index)
    if constant is None:
        return None
    return torch.where(constant < 0, constant + count, constant)


@handles("aten.index_select.default")
def convert_index_select(importer: Importer, node: Any) -> Value:
    x, index = importer.value(node.args[0]), node.args[2]
    dim = positive(node.args[1], len(x.shape))
    return look_up(importer, node, x, {dim: index})


@handles("aten.take.default")
def convert_take(importer: Importer, node: Any) -> Value:
    """Elements of a tensor as one dimension."""
    x = importer.value(node.args[0])
    return look_up(importer, node, importer.graph.reshape(x, [math.prod(x.shape)]),
                   {0: node.args[1]})


@handles("aten.index.Tensor", "aten._unsafe_index.Tensor")
def convert_index(importer: Importer, node: Any) -> Value:
    """Positions in some dimensions; indices that enumerate all dimensions are a reshape."""
    x, indices = importer.value(node.args[0]), node.args[1]
    shape = tuple(node.meta["val"].shape)
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
    given = {dim: index for dim, index in enumerate(indices) if index is not None}
    return look_up(importer, node, x, given)


def look_up(importer: Importer, node: Any, x: Value, indices: dict[int, Any]) -> Value:
    """The elements of x at positions in some dimensions, which broadcast. Positions in dimensions
    next to each other take their place, others are the first dimensions of the result. An input
    counts from 0 where it is the only index."""
    graph, dims, shape = importer.graph, list(indices), tuple(node.meta["val"].shape)
    constants = [constant_rows(importer, index, x.shape[dim]) for dim, index in indices.items()]
    if len(dims) == 1 and constants[0] is not None and constants[0].dim() == 1:
        return pick(importer, x, dims[0], constants[0].tolist())
    kept = [i for i in range(len(x.shape)) if i not in dims]
    table = graph.transpose(x, [*dims, *kept])
    sizes = [x.shape[dim] for dim in dims]
    rank, rest = len(shape) - len(kept), [x.shape[i] for i in kept]
    first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0
    spot = shape[first:first + rank]
    rows = graph.reshape(table, [math.prod(sizes), math.prod(rest)])
    if None not in constants:
        positions = sum_positions(constants, sizes).expand(spot)
        found = pick(importer, rows, 0, positions.flatten().tolist())
    elif x.is_float:
        found = importer.embedding(rows, merged_rows(importer, indices, sizes, spot))
    else:
        raise ImportFailure(f"expects {node.target} of floats, or of integers at constant "
                            "positions")
    found = graph.reshape(found, [*spot, *rest])
    places = [*range(rank, rank + first), *range(rank), *range(rank + first, len(shape))]
    return importer.merged(graph.transpose(found, places), shape)


def sum_positions(positions: Sequence[Any], sizes: Sequence[int]) -> Any:
    """The positions in dimensions as one, whose last dimension varies fastest."""
    total = positions[0]
    for position, size in zip(positions[1:], sizes[1:]):
        total = total * size + position
    return total


def merged_rows(importer: Importer, indices: dict[int, Any], sizes: Sequence[int],
                shape: Sequence[int]) -> Value:
    """Computed positions in dimensions of these sizes as one."""
    graph, total = importer.graph, None
    for index, size in zip(indices.values(), sizes):
        if len(sizes) == 1:
            return rows_of(importer, index, size)
        position = graph.cast(rows_from_end(importer, index, size), "i64")
        position = graph.expand(position, shape)
        total = position if total is None else \
            graph.arith("add", graph.arith("mul", total, size), position)
    assert total is not None
    return total
