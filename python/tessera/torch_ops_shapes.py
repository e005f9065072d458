"""Converts ops of torch that move elements to other places, which constants say."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import Value
from .torch_importer import Importer, argument, element_of, handles, place, positive


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


@handles("aten.tril.default", "aten.triu.default")
def convert_triangle(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.args[0]), importer.graph
    diagonal = argument(node, 1, "diagonal", 0)
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
