"""Converts pools of torch, windows of its images, and resizing to nearest elements or means."""

from __future__ import annotations

import functools
from typing import Any, Sequence

import torch

from . import groups, windows
from .errors import ImportFailure
from .graph_text import Value
from .torch_importer import Importer, argument, handles, place
from .torch_ops_matmuls import contract
from .torch_ops_shapes import pick
from .windows import Window


# Pools.

def spatial_rank(node: Any) -> int:
    """The number of spatial dimensions, which are the last ones: the digit in the op's name."""
    return int(next(letter for letter in str(node.target) if letter.isdigit()))


def per_dim(item: Any, rank: int) -> list[int]:
    """The numbers of an argument that has one for each dimension, or one for all."""
    numbers = list(item) if isinstance(item, (list, tuple)) else [item]
    return [int(number) for number in numbers * (rank // len(numbers))]


def read_windows(node: Any, sizes: Sequence[int], dilation: Any, is_ceil: bool) -> list[Window]:
    """The windows of a pool with the arguments kernel_size, stride and padding."""
    rank = len(sizes)
    lengths = per_dim(node.args[1], rank)
    strides = per_dim(argument(node, 2, "stride") or lengths, rank)
    widths = per_dim(argument(node, 3, "padding", 0), rank)
    found = [Window(*numbers).fit(is_ceil) for numbers in
             zip(sizes, lengths, strides, per_dim(dilation, rank), widths, widths)]
    for window in found:
        window.check()
    return found


def without_positions(node: Any, value: Value) -> list[Value]:
    """The results of a pool that also returns positions, which nothing may read."""
    if any(user.args[1] == 1 and user.users for user in node.users):
        raise ImportFailure(f"{place(node)}: expects no use of the positions of {node.target}; "
                            "leave return_indices out")
    return [value]


@handles("aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default",
         "aten.max_pool1d_with_indices.default", "aten.max_pool2d_with_indices.default",
         "aten.max_pool3d_with_indices.default")
def convert_max_pool(importer: Importer, node: Any) -> Value | list[Value]:
    x, rank = importer.value(node.args[0]), spatial_rank(node)
    check_floats(node, x)
    found = read_windows(node, x.shape[-rank:], argument(node, 4, "dilation", 1),
                         argument(node, 5, "ceil_mode", False))
    y = windows.largest_in(importer.graph, x, found)
    return without_positions(node, y) if "with_indices" in str(node.target) else y


def check_floats(node: Any, x: Value) -> None:
    if not x.is_float:
        raise ImportFailure(f"expects {node.target} of floats but got {x.type}; cast them with "
                            ".float()")


@handles("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def convert_mean_pool(importer: Importer, node: Any) -> Value:
    x, rank = importer.value(node.args[0]), spatial_rank(node)
    check_floats(node, x)
    found = read_windows(node, x.shape[-rank:], 1, argument(node, 4, "ceil_mode", False))
    counts = windows.count_elements(found, argument(node, 5, "count_include_pad", True))
    divisor = argument(node, 6, "divisor_override")
    return mean_in(importer, x, found, counts if divisor is None else counts * 0 + divisor)


def mean_in(importer: Importer, x: Value, found: Sequence[Window], counts: Any) -> Value:
    return windows.mean_in(importer.graph, x, found, importer.write(torch.tensor(counts)))


def adaptive_rows(size: int, count: int) -> list[range]:
    """The positions of each of `count` windows of a dimension. Source: torch's start_index and
    end_index of AdaptivePooling.h."""
    return [range(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive_dims(node: Any, x: Value) -> list[tuple[int, int]]:
    """The pooled dimensions and their sizes in the result."""
    result, rank = node.meta["val"], len(x.shape)
    result = result[0] if isinstance(result, (list, tuple)) else result
    return [(dim, result.shape[dim]) for dim in range(rank - spatial_rank(node), rank)]


def equal_windows(size: int, count: int) -> Window | None:
    """The windows of a dimension if they have the same size; None for others."""
    length = size // count
    return None if size % count else Window(size, length, length, 1, 0, 0, count)


def elements_in(importer: Importer, x: Value, dim: int, rows: Sequence[range]) -> list[Value]:
    """The first, second, ... element of each window of a dimension; the last one again where a
    window has no more."""
    return [pick(importer, x, dim, [min(row.start + i, row.stop - 1) for row in rows])
            for i in range(max(map(len, rows)))]


@handles("aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default",
         "aten.adaptive_max_pool3d.default")
def convert_adaptive_max_pool(importer: Importer, node: Any) -> list[Value]:
    x = importer.value(node.args[0])
    check_floats(node, x)
    for dim, count in reversed(adaptive_dims(node, x)):
        window = equal_windows(x.shape[dim], count)
        if window is not None:
            x = windows.largest_along(importer.graph, x, dim, window)
        else:
            elements = elements_in(importer, x, dim, adaptive_rows(x.shape[dim], count))
            x = functools.reduce(functools.partial(windows.larger, importer.graph), elements)
    return without_positions(node, x)


@handles("aten.adaptive_avg_pool1d.default", "aten.adaptive_avg_pool2d.default",
         "aten.adaptive_avg_pool3d.default", "aten._adaptive_avg_pool2d.default",
         "aten._adaptive_avg_pool3d.default")
def convert_adaptive_mean_pool(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.args[0]), importer.graph
    check_floats(node, x)
    element, x = x.element, groups.wide(graph, x)
    for dim, count in adaptive_dims(node, x):
        rows, window = adaptive_rows(x.shape[dim], count), equal_windows(x.shape[dim], count)
        total = windows.sum_along(graph, x, dim, window) if window is not None else \
            sum_rows(importer, x, dim, rows)
        lengths = importer.write(torch.tensor([float(len(row)) for row in rows]))
        lengths = graph.broadcast(graph.cast(lengths, x.element), total.shape, [dim])
        x = graph.arith("div", total, lengths)
    return graph.cast(x, element)


def sum_rows(importer: Importer, x: Value, dim: int, rows: Sequence[range]) -> Value:
    """The sum of each window of a dimension."""
    graph, elements = importer.graph, elements_in(importer, x, dim, rows)
    for i, y in enumerate(elements):
        is_element = torch.tensor([i < len(row) for row in rows])
        if not bool(is_element.all()):
            shown = graph.broadcast(importer.write(is_element), y.shape, [dim])
            elements[i] = graph.select(shown, y, 0)
    return functools.reduce(functools.partial(windows.add, graph), elements)


@handles("aten.im2col.default")
def convert_windows(importer: Importer, node: Any) -> Value:
    """The elements of windows of images as channels, and the windows as one dimension."""
    x, graph = importer.value(node.args[0]), importer.graph
    lengths, dilations, widths, strides = (per_dim(item, 2) for item in node.args[1:5])
    found = [Window(*numbers).fit() for numbers in
             zip(x.shape[-2:], lengths, strides, dilations, widths, widths)]
    first = len(x.shape) - 2
    for dim, window in enumerate(found, first):
        x = windows.pad(graph, x, dim, window, 0)
    # [.., channel, row, column] for each element of a window, which is the dimension before them.
    parts = []
    for row in range(lengths[0]):
        rows = graph.slice(x, first, row * dilations[0], found[0].count, strides[0])
        for column in range(lengths[1]):
            part = graph.slice(rows, first + 1, column * dilations[1], found[1].count, strides[1])
            parts.append(graph.reshape(part, part.shape[:first] + (1,) + part.shape[first:]))
    return graph.reshape(graph.concat(parts, first), node.meta["val"].shape)


# Resizing.

@handles(*(f"aten.{name}{rank}d.{form}" for name in ("upsample_nearest", "_upsample_nearest_exact")
           for rank in (1, 2, 3) for form in ("default", "vec")))
def convert_nearest(importer: Importer, node: Any) -> Value:
    """Each element of the result is one of the operand. torch computes their positions, one
    dimension after the other."""
    x, rank = importer.value(node.args[0]), spatial_rank(node)
    sizes = x.shape[-rank:]
    for i, size in enumerate(sizes):
        dim = len(x.shape) - rank + i
        steps = torch.arange(size, dtype=torch.float64)
        steps = steps.reshape([-1 if j == i else 1 for j in range(rank)]).expand(1, 1, *sizes)
        placed = node.target(steps.contiguous(), *node.args[1:], **node.kwargs)
        rows = placed.movedim(2 + i, 0).flatten(1)[:, 0].long().tolist()
        count = len(rows) // size
        if rows == [row // count for row in range(count * size)]:
            x = windows.repeat(importer.graph, x, dim, count) if count > 1 else x
        else:
            x = pick(importer, x, dim, rows)
    return x


@handles("aten._upsample_bilinear2d_aa.default", "aten._upsample_bilinear2d_aa.vec",
         "aten._upsample_bicubic2d_aa.default", "aten._upsample_bicubic2d_aa.vec")
def convert_smoothed(importer: Importer, node: Any) -> Value:
    """Means of elements around positions: a matmul along each dimension, whose table is torch's
    result for each unit vector."""
    x, sizes = importer.value(node.args[0]), tuple(node.meta["val"].shape[-2:])
    first, is_aligned = len(x.shape) - 2, argument(node, 2, "align_corners")
    if str(node.target).endswith(".vec"):
        scales = argument(node, 3, "scale_factors") or (None, None)
    else:
        scales = argument(node, 3, "scales_h"), argument(node, 4, "scales_w")
    resize = getattr(torch.ops.aten, node.target._schema.name.removeprefix("aten::")).default
    for dim, (size, scale) in enumerate(zip(sizes, scales), first):
        units = torch.eye(x.shape[dim], dtype=torch.float64)
        table = resize(units[None, None], [size, len(units)], is_aligned, scale, None)[0, 0].T
        x = contract(importer, x, dim, table)
    return importer.graph.cast(x, importer.element_of(node))
