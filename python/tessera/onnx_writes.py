"""Converts writes of ONNX at indices: elements and rows."""

from __future__ import annotations

import math
from typing import Any

import numpy

from . import writes
from .errors import ImportFailure
from .graph_text import Value
from .onnx_importer import Importer, attribute, handles, positive
from .onnx_ops import count_from_front, points, rows_at, wrap


@handles("ScatterElements", "ScatterND")
def convert_scatter(importer: Importer, node: Any) -> Value:
    """Elements or rows of x, replaced by updates or added to them."""
    x, updates = importer.value(node.input[0]), importer.value(node.input[2])
    kind, index = attribute(node, "reduction", "none"), importer.constants.get(node.input[1])
    if kind not in ("none", "add"):
        raise ImportFailure(f"expects updates that are added or replace elements but got reduction "
                            f"= {kind}")
    is_rows = node.op_type == "ScatterND"
    dim = 0 if is_rows else positive(attribute(node, "axis", 0), len(x.shape))
    if index is not None:
        for i in range(index.shape[-1]) if is_rows and index.size else ():
            count_from_front(index[..., i], x.shape[i])
        if index.size and not is_rows:
            count_from_front(index, x.shape[dim])
        if kind == "none":
            return replace(importer, node, x, updates, index)
    kind = "add" if kind == "add" else "set"
    ids = importer.value(node.input[1])
    if is_rows:
        return write_points(importer, kind, x, ids, updates)
    ids = wrap(importer.graph, ids, x.shape[dim])
    return writes.scatter_elements(importer.graph, kind, x, dim, ids, updates)


def replace(importer: Importer, node: Any, x: Value, updates: Value, index: Any) -> Value:
    """Elements of x, or of the updates at constant indices: rows of both, one after the other."""
    graph, sizes = importer.graph, [math.prod(value.shape) for value in (x, updates)]
    numbers = (numpy.arange(sizes[0]).reshape(x.shape),
               numpy.arange(sizes[0], sum(sizes)).reshape(updates.shape))
    elements = importer.evaluate_with(node, {node.input[0]: numbers[0], node.input[2]: numbers[1]})
    width = math.prod(x.shape[index.shape[-1]:]) if node.op_type == "ScatterND" else 1
    table = graph.concat([graph.reshape(value, (size // width, width))
                          for value, size in zip((x, updates), sizes)], 0)
    rows = elements.reshape(-1, width)[:, 0] // width
    return graph.reshape(rows_at(importer, table, 0, rows), x.shape)


def write_points(importer: Importer, kind: str, x: Value, ids: Value, updates: Value) -> Value:
    """Writes slices of x at coordinates, which the last dimension of the indices holds."""
    graph, depth = importer.graph, ids.shape[-1]
    table = graph.reshape(x, (math.prod(x.shape[:depth]), math.prod(x.shape[depth:])))
    number = points(graph, ids, x.shape)
    rows = graph.reshape(updates, (*number.shape, table.shape[1]))
    return graph.reshape(writes.scatter(graph, kind, table, number, rows), x.shape)
