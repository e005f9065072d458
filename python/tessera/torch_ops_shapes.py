"""Converts ops of torch that move elements to other places, which constants say."""

from __future__ import annotations

import math
from typing import Any, Sequence

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import Value
from .torch_importer import Importer, argument, element_of, handles, positive

# Positions that are in at most so many slices are no rows of a table.
SLICES = 8


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


@handles("aten.slice_scatter.default", "aten.select_scatter.default")
def convert_slice_scatter(importer: Importer, node: Any) -> Value:
    """A tensor with other elements in a slice of a dimension."""
    (x, new), graph = (importer.value(item) for item in node.args[:2]), importer.graph
    dim = positive(argument(node, 2, "dim", 0), len(x.shape))
    if str(node.target) == "aten.select_scatter.default":
        rows = range(x.shape[dim])[node.args[3]:][:1]
        new = graph.reshape(new, x.shape[:dim] + (1,) + x.shape[dim + 1:])
    else:
        rows = range(x.shape[dim])[slice(argument(node, 3, "start"), argument(node, 4, "end"),
                                         argument(node, 5, "step", 1))]
    if rows.step == 1 and rows:
        after = x.shape[dim] - rows.stop
        return graph.concat([*([graph.slice(x, dim, 0, rows.start)] if rows.start else []), new,
                             *([graph.slice(x, dim, rows.stop, after)] if after else [])], dim)
    places = list(range(x.shape[dim]))
    for i, row in enumerate(rows):
        places[row] = x.shape[dim] + i
    return pick(importer, graph.concat([x, new], dim), dim, places) if rows else x


@handles("aten.split.Tensor", "aten.split_with_sizes.default", "aten.chunk.default",
         "aten.unsafe_split.Tensor", "aten.unbind.int")
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
    for i in range(len(widths) // 2):
        dim = len(x.shape) - 1 - i
        if mode != "constant":
            x = pick(importer, x, dim, padded_rows(mode, x.shape[dim], *widths[2 * i:2 * i + 2]))
            continue
        for before, width in ((True, widths[2 * i]), (False, widths[2 * i + 1])):
            if width < 0:
                x = importer.graph.slice(x, dim, -width if before else 0, x.shape[dim] + width)
            elif width > 0:
                shape = list(x.shape)
                shape[dim] = width
                block = importer.graph.constant(number, shape, x.element)
                x = importer.graph.concat([block, x] if before else [x, block], dim)
    return x


def padded_rows(mode: str, size: int, before: int, after: int) -> list[int]:
    """The positions whose elements a padded dimension of that size has."""
    rows = range(-before, size + after)
    if mode == "circular":
        return [row % size for row in rows]
    if mode == "replicate":
        return [min(max(row, 0), size - 1) for row in rows]
    return [size - 1 - abs(size - 1 - abs(row)) for row in rows]


def pick(importer: Importer, x: Value, dim: int, rows: Sequence[int]) -> Value:
    """The elements of a dimension at these positions: slices of ascending positions, or rows of a
    table if there are many slices."""
    graph, runs = importer.graph, find_runs(rows)
    if len(runs) <= SLICES or not x.is_float:
        return graph.concat([graph.slice(x, dim, start, count, step)
                             for start, step, count in runs], dim)
    order = [dim, *(i for i in range(len(x.shape)) if i != dim)]
    table = graph.transpose(x, order)
    ids = importer.write(torch.tensor(rows, dtype=torch.int32))
    rows_ = graph.reshape(table, [x.shape[dim], math.prod(table.shape[1:])])
    found = importer.embedding(rows_, ids)
    found = graph.reshape(found, [len(rows), *table.shape[1:]])
    return graph.transpose(found, [order.index(i) for i in range(len(order))])


def find_runs(rows: Sequence[int]) -> list[tuple[int, int, int]]:
    """The first position, step and count of runs of positions that ascend by equal steps."""
    runs: list[tuple[int, int, int]] = []
    for row in rows:
        start, step, count = runs[-1] if runs else (0, 1, 0)
        last = start + step * (count - 1)
        if count == 1 and row > last:
            runs[-1] = start, row - start, 2
        elif count > 1 and row == last + step:
            runs[-1] = start, step, count + 1
        else:
            runs.append((row, 1, 1))
    return runs


@handles("aten.as_strided.default")
def convert_strided(importer: Importer, node: Any) -> Value:
    """Elements of a tensor by their offsets in memory, which has them in order."""
    x, source, graph = importer.value(node.args[0]), node.args[0].meta["val"], importer.graph
    offset = argument(node, 3, "storage_offset") or 0
    sizes, steps = node.args[1:3]
    last = offset + sum((size - 1) * step for size, step in zip(sizes, steps))
    if not source.is_contiguous() or source.storage_offset() or last >= source.numel():
        raise ImportFailure("expects as_strided of a tensor that has its elements in order; call "
                            ".contiguous() before")
    elements = torch.arange(source.numel()).as_strided(sizes, steps, offset).numpy()
    found = groups.view(graph, x, elements)
    if found is not None:
        return found
    # Rows of elements in order, which are as long as possible.
    width = 1
    for size, step in zip(reversed(sizes), reversed(steps)):
        if step != width or source.numel() % (width * size) or \
                bool((elements.reshape(-1)[::width * size] % (width * size)).any()):
            break
        width *= size
    table = graph.reshape(x, [source.numel() // width, width])
    rows = elements.reshape(-1)[::width] // width
    return graph.reshape(pick(importer, table, 0, rows.tolist()), sizes)


@handles("aten.flip.default")
def convert_flip(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    for dim in node.args[1]:
        dim = positive(dim, len(x.shape))
        x = pick(importer, x, dim, range(x.shape[dim] - 1, -1, -1))
    return x


@handles("aten.roll.default")
def convert_roll(importer: Importer, node: Any) -> Value:
    """Moves elements along dimensions, or along all of them as one."""
    x, graph, dims = importer.value(node.args[0]), importer.graph, argument(node, 2, "dims", [])
    shape = x.shape
    if not dims:
        x, dims = graph.reshape(x, [math.prod(shape)]), [0]
    for shift, dim in zip(node.args[1], dims):
        dim = positive(dim, len(x.shape))
        size = x.shape[dim]
        start = -shift % size
        if start:
            x = graph.concat([graph.slice(x, dim, start, size - start),
                              graph.slice(x, dim, 0, start)], dim)
    return graph.reshape(x, shape)


@handles("aten.pixel_shuffle.default")
def convert_pixel_shuffle(importer: Importer, node: Any) -> Value:
    """Channels to squares of pixels."""
    x, graph, n = importer.value(node.args[0]), importer.graph, node.args[1]
    *kept, channels, height, width = x.shape
    first = len(kept)
    apart = graph.reshape(x, [*kept, channels // n ** 2, n, n, height, width])
    turned = graph.transpose(apart, [*range(first), *(first + i for i in (0, 3, 1, 4, 2))])
    return graph.reshape(turned, node.meta["val"].shape)


@handles("aten.pixel_unshuffle.default")
def convert_pixel_unshuffle(importer: Importer, node: Any) -> Value:
    """Squares of pixels to channels."""
    x, graph, n = importer.value(node.args[0]), importer.graph, node.args[1]
    *kept, channels, height, width = x.shape
    first = len(kept)
    apart = graph.reshape(x, [*kept, channels, height // n, n, width // n, n])
    turned = graph.transpose(apart, [*range(first), *(first + i for i in (0, 2, 4, 1, 3))])
    return graph.reshape(turned, node.meta["val"].shape)


@handles("aten.channel_shuffle.default")
def convert_channel_shuffle(importer: Importer, node: Any) -> Value:
    x, graph, n = importer.value(node.args[0]), importer.graph, node.args[1]
    apart = graph.reshape(x, [x.shape[0], n, x.shape[1] // n, *x.shape[2:]])
    turned = graph.transpose(apart, [0, 2, 1, *range(3, len(apart.shape))])
    return graph.reshape(turned, x.shape)


@handles("aten.unfold.default")
def convert_unfold(importer: Importer, node: Any) -> Value:
    """Windows of a dimension, whose elements are a new last dimension."""
    x, graph, (dim, size, step) = importer.value(node.args[0]), importer.graph, node.args[1:4]
    dim, shape = positive(dim, len(x.shape)), tuple(node.meta["val"].shape)
    count = shape[dim]
    parts = [graph.slice(x, dim, start, count, step) for start in range(size)]
    return graph.concat([graph.reshape(part, shape[:-1] + (1,)) for part in parts], len(shape) - 1)


@handles("aten.diagonal.default", "aten.diagonal_copy.default")
def convert_diagonal(importer: Importer, node: Any) -> Value:
    """Elements of two dimensions as the last one: sums of them and zeros."""
    x, graph = importer.value(node.args[0]), importer.graph
    offset = argument(node, 1, "offset", 0)
    first, second = (positive(argument(node, i, name, default), len(x.shape))
                     for i, name, default in ((2, "dim1", 0), (3, "dim2", 1)))
    kept = [i for i in range(len(x.shape)) if i not in (first, second)]
    x = graph.transpose(x, [*kept, first, second])
    size, rank = node.meta["val"].shape[-1], len(x.shape)
    x = graph.slice(x, rank - 2, max(-offset, 0), size)
    x = graph.slice(x, rank - 1, max(offset, 0), size)
    diagonal = graph.broadcast(importer.write(torch.eye(size, dtype=torch.bool)), x.shape,
                               [rank - 2, rank - 1])
    return graph.reduce("sum", graph.select(diagonal, x, 0), [rank - 2])


@handles("aten.diag_embed.default")
def convert_diagonal_matrix(importer: Importer, node: Any) -> Value:
    """Matrices with the last dimension as their diagonal."""
    x, graph, shape = importer.value(node.args[0]), importer.graph, node.meta["val"].shape
    if [argument(node, i, name, default) for i, name, default in
            ((1, "offset", 0), (2, "dim1", -2), (3, "dim2", -1))] != [0, -2, -1]:
        raise ImportFailure("expects diag_embed on the main diagonal of the last two dimensions")
    rank = len(shape)
    spread = graph.broadcast(x, shape, range(rank - 1))
    diagonal = graph.broadcast(importer.write(torch.eye(shape[-1], dtype=torch.bool)), shape,
                               [rank - 2, rank - 1])
    return graph.select(diagonal, spread, 0)


@handles("aten.tril.default", "aten.triu.default")
def convert_triangle(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.args[0]), importer.graph
    diagonal = argument(node, 1, "diagonal", 0)
    shown = torch.ones(x.shape[-2:], dtype=torch.bool)
    shown = shown.tril(diagonal) if "tril" in str(node.target) else shown.triu(diagonal)
    mask = graph.broadcast(importer.write(shown), x.shape, [len(x.shape) - 2, len(x.shape) - 1])
    return graph.select(mask, x, graph.constant(0, x.shape, x.element))
