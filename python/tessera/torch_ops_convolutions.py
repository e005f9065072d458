"""Converts convolutions of torch, and the norms of their weights."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from . import convolutions, groups
from .convolutions import Spread
from .errors import ImportFailure
from .graph_text import Graph, Value
from .torch_importer import Importer, argument, handles, place, positive
from .torch_ops_pools import per_dim
from .windows import Window


def with_batch(graph: Graph, x: Value, weight: Value) -> Value:
    """The operand of a convolution, with a dimension of batches if it has none."""
    return graph.reshape(x, (1, *x.shape)) if len(x.shape) < len(weight.shape) else x


def finish(importer: Importer, node: Any, y: Value) -> Value:
    """The result of a convolution, plus its bias."""
    bias, graph = argument(node, 2, "bias"), importer.graph
    if bias is not None:
        y = graph.arith("add", y, graph.broadcast(importer.value(bias), y.shape, [1]))
    return graph.reshape(y, node.meta["val"].shape)


def make_windows(sizes: Sequence[int], lengths: Sequence[int], strides: Any, padding: Any,
                 dilations: Any) -> list[Window]:
    """The windows of each dimension. The padding is "same", "valid", a number or several; an odd
    number for "same" has one more at the end."""
    rank = len(sizes)
    given = [per_dim(item, rank) for item in (strides, dilations)]
    widths = [0] * rank if isinstance(padding, str) else per_dim(padding, rank)
    found = [Window(*numbers) for numbers in zip(sizes, lengths, *given, widths, widths)]
    return [window.keep_size(False) if padding == "same" else window.fit() for window in found]


@handles("aten.conv1d.default", "aten.conv1d.padding", "aten.conv2d.default",
         "aten.conv2d.padding", "aten.conv3d.default", "aten.conv3d.padding")
def convert_convolution(importer: Importer, node: Any) -> Value:
    settings = [argument(node, i, name, default) for i, name, default in
                ((3, "stride", 1), (4, "padding", 0), (5, "dilation", 1), (6, "groups", 1))]
    return convolve(importer, node, *settings)


def convolve(importer: Importer, node: Any, strides: Any, padding: Any, dilations: Any,
             parts: int) -> Value:
    x, weight = (importer.value(item) for item in node.args[:2])
    x = with_batch(importer.graph, x, weight)
    windows = make_windows(x.shape[2:], weight.shape[2:], strides, padding, dilations)
    return finish(importer, node,
                  convolutions.convolve(importer.graph, x, weight, parts, windows))


@handles("aten.conv_transpose1d.default", "aten.conv_transpose2d.input",
         "aten.conv_transpose3d.input")
def convert_transposed(importer: Importer, node: Any) -> Value:
    settings = [argument(node, i, name, default) for i, name, default in
                ((3, "stride", 1), (4, "padding", 0), (5, "output_padding", 0), (7, "dilation", 1),
                 (6, "groups", 1))]
    return convolve_transposed(importer, node, *settings)


def convolve_transposed(importer: Importer, node: Any, strides: Any, padding: Any, more: Any,
                        dilations: Any, parts: int) -> Value:
    """A transposed convolution, whose result has `more` elements at the end of each dimension."""
    x, weight = (importer.value(item) for item in node.args[:2])
    x, rank = with_batch(importer.graph, x, weight), len(weight.shape) - 2
    given = [per_dim(item, rank) for item in (strides, dilations, padding, more)]
    spreads = [Spread(stride, dilation, width, width - extra)
               for stride, dilation, width, extra in zip(*given)]
    return finish(importer, node, convolutions.convolve_transposed(
        importer.graph, x, weight, parts, spreads))


@handles("aten.convolution.default")
def convert_any_convolution(importer: Importer, node: Any) -> Value:
    strides, padding, dilations, is_transposed, more, parts = node.args[3:9]
    if is_transposed:
        return convolve_transposed(importer, node, strides, padding, more, dilations, parts)
    return convolve(importer, node, strides, padding, dilations, parts)


@handles("aten.col2im.default")
def convert_sum_of_windows(importer: Importer, node: Any) -> Value:
    """Images of windows, whose common elements are summed: a transposed convolution in which each
    element of a window has a tap of its own. Windows that follow each other are moved."""
    x, graph = importer.value(node.args[0]), importer.graph
    sizes, lengths, dilations, widths, strides = (per_dim(item, 2) for item in node.args[1:6])
    shape, count = node.meta["val"].shape, lengths[0] * lengths[1]
    windows = [Window(*numbers).fit() for numbers in
               zip(sizes, lengths, strides, dilations, widths, widths)]
    rows, columns = (window.count for window in windows)
    batch, channels = shape[0] if len(shape) == 4 else 1, shape[-3]
    if strides == lengths and dilations == [1, 1] and widths == [0, 0] and \
            [rows * lengths[0], columns * lengths[1]] == sizes:
        apart = graph.reshape(x, [batch, channels, *lengths, rows, columns])
        return graph.reshape(graph.transpose(apart, [0, 1, 4, 2, 5, 3]), shape)
    x = graph.reshape(x, [batch, channels * count, rows, columns])
    taps = importer.write(torch.eye(count).reshape(count, 1, *lengths))
    taps = graph.cast(groups.tile(graph, taps, [channels, 1, 1, 1]), x.element)
    spreads = [Spread(window.stride, window.dilation, window.before, (window.count - 1) *
                      window.stride + window.extent - window.before - window.size)
               for window in windows]
    y = convolutions.convolve_transposed(graph, x, taps, channels, spreads)
    return graph.reshape(y, shape)


@handles("aten._weight_norm.default", "aten._weight_norm_interface.default")
def convert_weight_norm(importer: Importer, node: Any) -> Value | list[Value]:
    """A weight times a factor over its norm along all dimensions but one."""
    (x, factor), graph = (importer.value(item) for item in node.args[:2]), importer.graph
    dim, wide = argument(node, 2, "dim", 0), groups.wide(graph, x)
    # The dimension -1 has one norm of all elements.
    kept = [] if dim == -1 else [positive(dim, len(x.shape))]
    square = graph.reduce("sum", graph.arith("mul", wide, wide),
                          [i for i in range(len(x.shape)) if i not in kept])
    ratio = graph.arith("div", graph.cast(graph.reshape(factor, square.shape), wide.element),
                        groups.root(graph, square))
    y = graph.arith("mul", wide, graph.broadcast(ratio, x.shape, kept))
    y = graph.cast(y, x.element)
    if str(node.target) == "aten._weight_norm.default":
        return y
    if any(user.args[1] == 1 and user.users for user in node.users):
        raise ImportFailure(f"{place(node)}: expects no use of the norms of {node.target}")
    return [y]
