"""Builds rows and elements that are written at run-time indices: nn.scatter."""

from __future__ import annotations

import math
from typing import Sequence

from .errors import ImportFailure
from .graph_text import Graph, Value


def scatter(graph: Graph, kind: str, x: Value, ids: Value, updates: Value) -> Value:
    """The matrix x with the rows `ids` changed: "add" adds the updates, "set" replaces the rows by
    the last update of each. Integers are written as floats that hold them."""
    if x.element == "i1" and kind == "add":
        raise ImportFailure("expects sums of numbers but got booleans; cast them with .int()")
    if math.prod(ids.shape) == 0 or math.prod(x.shape) == 0:
        return x
    if x.is_float:
        return graph.op(f"nn.scatter <{kind}> {x.name}, {ids.name}, {updates.name} : {x.type}, "
                        f"{ids.type}, {updates.type}", x.shape, x.element)
    if x.bits < 64:
        result = scatter(graph, kind, graph.cast(x, "f64"), ids, graph.cast(updates, "f64"))
        return graph.cast(result if x.bits == 1 else graph.cast(result, "i64"), x.element)
    result = scatter(graph, kind, halves(graph, x), ids, halves(graph, updates))
    width = x.shape[1]
    high, low = (graph.cast(graph.slice(result, 1, start, width), "i64") for start in (0, width))
    high = graph.binary("arith.shli", high, graph.constant(32, high.shape, "i64"))
    return graph.binary("arith.addi", high, low)


def halves(graph: Graph, x: Value) -> Value:
    """The upper and the lower 32 bits of integers, side by side along the last dimension, as
    floats: sums of 2^20 of them are exact too."""
    high = graph.binary("arith.shrsi", x, graph.constant(32, x.shape, "i64"))
    low = graph.binary("arith.andi", x, graph.constant((1 << 32) - 1, x.shape, "i64"))
    return graph.concat([graph.cast(half, "f64") for half in (high, low)], len(x.shape) - 1)


def scatter_elements(graph: Graph, kind: str, x: Value, dim: int, index: Value, updates: Value,
                     whole: Sequence[int] = ()) -> Value:
    """Writes each update to the position of x that it has in the updates, but along `dim` to that
    of its index. The index does not vary along the dimensions `whole`, whose size there may be 1,
    and which the updates have as x has them: they are the columns of rows."""
    own = [i for i in range(len(x.shape)) if i not in whole]
    shape = [updates.shape[i] for i in own]
    for i in whole:
        index = graph.slice(index, i, 0, 1)
    index, ids = graph.reshape(index, shape), None
    for place, i in enumerate(own):
        if i == dim:
            part = index if len(own) == 1 else graph.cast(index, "i64")
        else:
            part = graph.op(f"nn.iota : tensor<{shape[place]}xi64>", shape[place:place + 1], "i64")
            part = graph.broadcast(part, shape, [place])
        ids = part if ids is None else graph.arith("add", graph.arith("mul", ids, x.shape[i]), part)
    assert ids is not None
    order = [*own, *whole]
    moved, width = graph.transpose(x, order), math.prod(x.shape[i] for i in whole)
    table = graph.reshape(moved, (math.prod(x.shape[i] for i in own), width))
    rows = graph.reshape(graph.transpose(updates, order), (*shape, width))
    result = graph.reshape(scatter(graph, kind, table, ids, rows), moved.shape)
    return graph.transpose(result, [order.index(i) for i in range(len(order))])
