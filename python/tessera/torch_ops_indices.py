"""Converts lookups of torch: tables, positions of the largest elements, indices."""

from __future__ import annotations

from typing import Any

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import Value
from .torch_experts import Choice
from .torch_importer import Importer, argument, element_of, handles, place, positive


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
