"""Windows of dimensions, as pools and convolutions of torch and ONNX have them: their sizes, and
reductions of their elements. Along one dimension after the other, the elements of windows are
slices with a step, which are combined."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, Callable, Sequence

import numpy

from . import groups
from .errors import ImportFailure
from .graph_text import Graph, Value

# The most elements of a window along a dimension that are a slice each. Larger windows are combined
# from windows of 1, 2, 4, ... elements.
MOST_SLICES = 16
# Combines two tensors, element by element.
Combine = Callable[[Graph, Value, Value], Value]


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

    @property
    def is_patch(self) -> bool:
        """True if the windows follow each other without a common element, and have no padding; an
        element alone may be taken at any step."""
        last = (self.count - 1) * self.stride + self.extent
        is_next = self.count == 1 or self.stride == self.length
        return self.before <= 0 and last - self.before <= self.size and (
            self.length == 1 or self.dilation == 1 and is_next)

    def fit(self, is_ceil: bool = False) -> Window:
        """Sets the number of windows: those that end in the padded dimension, or, with `is_ceil`,
        those that start in the dimension or in the padding before it."""
        free = self.size + self.before + self.after - self.extent
        self.count = (-(-free // self.stride) if is_ceil else free // self.stride) + 1
        if is_ceil and (self.count - 1) * self.stride >= self.size + self.before:
            self.count -= 1
        return self

    def keep_size(self, has_more_before: bool) -> Window:
        """Sets the padding for which there is a window for every `stride` elements."""
        self.count = -(-self.size // self.stride)
        total = max((self.count - 1) * self.stride + self.extent - self.size, 0)
        self.before = -(-total // 2) if has_more_before else total // 2
        self.after = total - self.before
        return self

    def check(self) -> None:
        if self.count < 1:
            raise ImportFailure(f"expects windows that fit in {self.size} elements but got "
                                f"{self.extent}")

    def positions(self) -> Any:
        """The position of each element of each window; negative in the padding before."""
        starts = numpy.arange(self.count) * self.stride - self.before
        return starts[:, None] + numpy.arange(self.length) * self.dilation


def count_elements(windows: Sequence[Window], has_padding: bool) -> Any:
    """The number of elements of each window, with those of the padding or without."""
    counts = numpy.ones(())
    for window in windows:
        low, high = (-window.before, window.size + window.after) if has_padding else \
            (0, window.size)
        found = window.positions()
        counts = counts[..., None] * ((found >= low) & (found < high)).sum(1)
    return counts


def larger(graph: Graph, x: Value, y: Value) -> Value:
    """The larger of two floats; of equal ones the first, which gets the gradient. NaN is the
    largest."""
    is_first = graph.compare("ge", x, y)
    is_nan = graph.compare("ne", x, x)
    return graph.select(graph.binary("arith.ori", is_first, is_nan), x, y)


def add(graph: Graph, x: Value, y: Value) -> Value:
    return graph.arith("add", x, y)


def largest_in(graph: Graph, x: Value, windows: Sequence[Window]) -> Value:
    """The largest element of each window of the last dimensions. In the order of the elements the
    first of equal ones has the gradient: the last dimension is reduced first."""
    for dim, window in reversed(list(enumerate(windows, len(x.shape) - len(windows)))):
        x = largest_along(graph, x, dim, window)
    return x


def largest_along(graph: Graph, x: Value, dim: int, window: Window) -> Value:
    return combine(graph, pad(graph, x, dim, window, -math.inf), dim, window, larger)


def sum_in(graph: Graph, x: Value, windows: Sequence[Window]) -> Value:
    """The sum of each window of the last dimensions."""
    for dim, window in enumerate(windows, len(x.shape) - len(windows)):
        x = sum_along(graph, x, dim, window)
    return x


def sum_along(graph: Graph, x: Value, dim: int, window: Window) -> Value:
    if not window.is_patch:
        return combine(graph, pad(graph, x, dim, window, 0), dim, window, add)
    split = x.shape[:dim] + (window.count, window.length) + x.shape[dim + 1:]
    return graph.reduce("sum", graph.reshape(take_patches(graph, x, dim, window), split),
                        [dim + 1])


def take_patches(graph: Graph, x: Value, dim: int, window: Window) -> Value:
    """The elements of windows that are patches, one window after the other."""
    step = window.stride if window.length == 1 else 1
    return graph.slice(x, dim, -window.before, window.count * window.length, step)


def mean_in(graph: Graph, x: Value, windows: Sequence[Window], counts: Value) -> Value:
    """The sum of each window over its number of elements, computed in at least f32."""
    total = sum_in(graph, groups.wide(graph, x), windows)
    first = len(total.shape) - len(counts.shape)
    divisor = graph.broadcast(graph.cast(counts, total.element), total.shape,
                              range(first, len(total.shape)))
    return graph.cast(graph.arith("div", total, divisor), x.element)


def pad(graph: Graph, x: Value, dim: int, window: Window, number: float) -> Value:
    """A dimension with padding, as far as windows reach; less of it where the padding is negative.
    """
    if window.before < 0:
        x = graph.slice(x, dim, -window.before, x.shape[dim] + window.before)
    parts = [x]
    last = (window.count - 1) * window.stride + window.extent
    for is_before, width in ((True, window.before), (False, last - window.size - window.before)):
        if width > 0:
            block = x.shape[:dim] + (width,) + x.shape[dim + 1:]
            filled = graph.constant(number, block, x.element)
            parts = [filled, *parts] if is_before else [*parts, filled]
    return graph.concat(parts, dim)


def combine(graph: Graph, x: Value, dim: int, window: Window, op: Combine) -> Value:
    """Combines the elements of each window of a padded dimension, in their order."""
    if window.length <= MOST_SLICES:
        slices = [graph.slice(x, dim, i * window.dilation, window.count, window.stride)
                  for i in range(window.length)]
        return functools.reduce(functools.partial(op, graph), slices)
    # `x` has the windows of `width` elements, at every position.
    parts, done, width = [], 0, 1
    while done < window.length:
        if window.length & width:
            parts.append(graph.slice(x, dim, done * window.dilation, window.count, window.stride))
            done += width
        if done < window.length:
            count = x.shape[dim] - width * window.dilation
            x = op(graph, graph.slice(x, dim, 0, count),
                   graph.slice(x, dim, width * window.dilation, count))
            width *= 2
    return functools.reduce(functools.partial(op, graph), parts)


def repeat(graph: Graph, x: Value, dim: int, count: int) -> Value:
    """Repeats each element of a dimension `count` times in a row."""
    shape = x.shape[:dim + 1] + (count,) + x.shape[dim + 1:]
    spread = graph.broadcast(x, shape, [i for i in range(len(shape)) if i != dim + 1])
    return graph.reshape(spread, x.shape[:dim] + (x.shape[dim] * count,) + x.shape[dim + 1:])
