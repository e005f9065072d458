"""Converts pools of ONNX: along one dimension after the other, the elements of windows are slices
with a step, which are combined."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, Sequence

import numpy

from .errors import ImportFailure
from .graph_text import Graph, Value
from .onnx_importer import Importer, attribute, handles
from .onnx_reductions import absolute, reduce_elements, root, square

# Pools.

# The most elements of a window along a dimension: each is a slice.
LARGEST = 16


@dataclasses.dataclass
class Window:
    """The windows of a dimension of `size` elements: `count` of them, of `length` elements,
    `dilation` apart, one every `stride`. The first starts `before` elements before the dimension,
    which is padded with `after` at its end."""
    size: int
    length: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int = 0

    @property
    def extent(self) -> int:
        return (self.length - 1) * self.dilation + 1

    def positions(self) -> Any:
        """The position of each element of each window; negative in the padding."""
        starts = numpy.arange(self.count) * self.stride - self.before
        return starts[:, None] + numpy.arange(self.length) * self.dilation


def read_windows(node: Any, sizes: Sequence[int]) -> list[Window]:
    """The windows of each dimension. Source of the counts: ONNX's schemas of MaxPool and
    AveragePool."""
    rank = len(sizes)
    lengths = attribute(node, "kernel_shape")
    strides, dilations = (attribute(node, name, [1] * rank) for name in ("strides", "dilations"))
    pads, mode = attribute(node, "pads", [0] * (2 * rank)), attribute(node, "auto_pad", "NOTSET")
    windows = []
    for i, size in enumerate(sizes):
        window = Window(size, lengths[i], strides[i], dilations[i], pads[i], pads[rank + i])
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            window.count = -(-size // window.stride)
            total = max((window.count - 1) * window.stride + window.extent - size, 0)
            window.before = total // 2 if mode == "SAME_UPPER" else -(-total // 2)
            window.after = total - window.before
        else:
            if mode == "VALID":
                window.before = window.after = 0
            free = size + window.before + window.after - window.extent
            is_ceil = attribute(node, "ceil_mode", 0)
            window.count = (-(-free // window.stride) if is_ceil else free // window.stride) + 1
            # A window starts in the dimension, or in the padding before it.
            if (window.count - 1) * window.stride >= size + window.before:
                window.count -= 1
        if window.count < 1 or min(window.before, window.after) < 0:
            raise ImportFailure(f"expects windows that fit in {size} elements but got "
                                f"{window.extent}")
        if window.length > LARGEST:
            raise ImportFailure(f"expects windows of at most {LARGEST} elements of a dimension "
                                f"but got {window.length}")
        windows.append(window)
    return windows


def pool(graph: Graph, x: Value, windows: Sequence[Window], op: str, padding: float) -> Value:
    """Combines the elements of each window by an op; padding has a number that does not count."""
    for dim, window in enumerate(windows, 2):
        last = (window.count - 1) * window.stride + window.extent
        parts = [x]
        for is_before, width in ((True, window.before),
                                 (False, max(last - window.size - window.before, 0))):
            block = (*x.shape[:dim], width, *x.shape[dim + 1:])
            if width:
                filled = graph.constant(padding, block, x.element)
                parts = [filled, *parts] if is_before else [*parts, filled]
        padded = graph.concat(parts, dim)
        slices = [graph.slice(padded, dim, i * window.dilation, window.count, window.stride)
                  for i in range(window.length)]
        x = functools.reduce(functools.partial(graph.binary, op), slices)
    return x


@handles("MaxPool", "AveragePool", "LpPool")
def convert_pool(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    if not x.is_float:
        raise ImportFailure(f"expects floats but got {x.type}")
    windows = read_windows(node, x.shape[2:])
    if node.op_type == "MaxPool":
        return pool(graph, x, windows, "arith.maximumf", -math.inf)
    if node.op_type == "LpPool":
        order = attribute(node, "p", 2)
        if order not in (1, 2):
            raise ImportFailure(f"expects a norm of order 1 or 2 but got {order}")
        y = pool(graph, absolute(graph, x) if order == 1 else square(graph, x), windows,
                 "arith.addf", 0)
        return y if order == 1 else root(graph, y)
    counts = numpy.ones(())
    for window in windows:
        low, high = 0, window.size
        if attribute(node, "count_include_pad", 0):
            low, high = -window.before, window.size + window.after
        found = window.positions()
        counts = counts[..., None] * ((found >= low) & (found < high)).sum(1)
    y = pool(graph, x, windows, "arith.addf", 0)
    divisor = importer.write(counts.astype("f8"))
    divisor = graph.broadcast(graph.cast(divisor, x.element), y.shape, range(2, len(y.shape)))
    return graph.binary("arith.divf", y, divisor)


@handles("GlobalAveragePool", "GlobalMaxPool")
def convert_global_pool(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    kind = "Mean" if node.op_type == "GlobalAveragePool" else "Max"
    y = reduce_elements(graph, kind, x, range(2, len(x.shape)))
    return graph.reshape(y, x.shape[:2] + (1,) * (len(x.shape) - 2))
