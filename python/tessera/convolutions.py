"""Convolutions of torch and ONNX. One whose windows have no element in common is a matmul; others
are nn.convolution."""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

from .errors import ImportFailure
from .graph_text import LETTERS, Graph, Value, tensor_type
from .windows import Window, take_patches


def convolve(graph: Graph, x: Value, weight: Value, parts: int,
             windows: Sequence[Window]) -> Value:
    """A convolution of [batch, channel, spatial...] with weights [channel, channel, tap...] in
    `parts` groups of channels."""
    check_channels(x, weight.shape[1] * parts, weight.shape[0], parts)
    for window in windows:
        window.check()
    if all(window.is_patch for window in windows):
        return convolve_patches(graph, x, weight, parts, windows)
    split = (x.shape[0], parts, x.shape[1] // parts, *x.shape[2:])
    weight_shape = (parts, weight.shape[0] // parts, *weight.shape[1:])
    y = convolution(graph, graph.reshape(x, split), graph.reshape(weight, weight_shape),
                    [Settings(window.stride, window.before, window.after, window.dilation, 1)
                     for window in windows], [window.count for window in windows], False)
    return graph.reshape(y, (y.shape[0], weight.shape[0], *y.shape[3:]))


class Settings(NamedTuple):
    """A dimension of nn.convolution: its lists have a number of each."""
    stride: int
    low: int
    high: int
    dilation: int
    x_dilation: int


def convolution(graph: Graph, x: Value, weight: Value, dims: Sequence[Settings],
                sizes: Sequence[int], is_reversed: bool) -> Value:
    """nn.convolution of [batch, group, channel, spatial...] with weights [group, channel, channel,
    tap...], with a result of these spatial sizes."""
    lists = " ".join(f"{name} {[dim[i] for dim in dims]}" for i, name in
                     enumerate(("strides", "low", "high", "dilation", "x_dilation")))
    shape = (*x.shape[:2], weight.shape[1], *sizes)
    return graph.op(f"nn.convolution {x.name}, {weight.name} {lists}"
                    f"{' reversed' if is_reversed else ''} : {x.type}, {weight.type} -> "
                    f"{tensor_type(shape, x.element)}", shape, x.element)


def check_channels(x: Value, taken: int, made: int, parts: int) -> None:
    if x.shape[1] != taken or taken % parts or made % parts:
        raise ImportFailure(f"expects a weight and {parts} groups that fit the channels of {x.type} "
                            f"but got {taken} channels that make {made}")


def convolve_patches(graph: Graph, x: Value, weight: Value, parts: int,
                     windows: Sequence[Window]) -> Value:
    """A convolution of windows that have no element in common: a matmul over the channels and the
    elements of a window."""
    places, taps, shape, weight_shape = "", "", [], []
    letters = iter(LETTERS[4:])
    for dim, window in enumerate(windows, 2):
        x = take_patches(graph, x, dim, window)
        place, tap = next(letters), next(letters) * (window.length > 1)
        places, taps = places + place + tap, taps + tap
        shape += [window.count] + [window.length] * len(tap)
        weight_shape += [window.length] * len(tap)
    positions = "".join(letter for letter in places if letter not in taps)
    made, channels = weight.shape[0], x.shape[1]
    if parts == 1:
        return graph.einsum(f"ab{places}", f"cb{taps}", f"ac{positions}",
                            graph.reshape(x, (x.shape[0], channels, *shape)),
                            graph.reshape(weight, (made, channels, *weight_shape)))
    split = graph.reshape(x, (x.shape[0], parts, channels // parts, *shape))
    weight = graph.reshape(weight, (parts, made // parts, channels // parts, *weight_shape))
    y = graph.einsum(f"adb{places}", f"dcb{taps}", f"adc{positions}", split, weight)
    return graph.reshape(y, (y.shape[0], made, *y.shape[3:]))


class Spread(NamedTuple):
    """A dimension of a transposed convolution: its elements are `stride` apart in the result, from
    which `before` and `after` elements are left out (a negative number adds some)."""
    stride: int
    dilation: int
    before: int
    after: int


def convolve_transposed(graph: Graph, x: Value, weight: Value, parts: int,
                        spreads: Sequence[Spread]) -> Value:
    """A transposed convolution of [batch, channel, spatial...] with weights [channel, channel,
    tap...], which have the channels of x first."""
    made = weight.shape[1] * parts
    check_channels(x, weight.shape[0], made, parts)
    x = graph.reshape(x, (x.shape[0], parts, x.shape[1] // parts, *x.shape[2:]))
    weight = graph.reshape(weight, (parts, weight.shape[0] // parts, *weight.shape[1:]))
    lengths = weight.shape[3:]
    if all((spread.stride, spread.before, spread.after) == (length, 0, 0) and
           (spread.dilation == 1 or length == 1) for spread, length in zip(spreads, lengths)):
        return spread_patches(graph, x, weight)
    weight = graph.transpose(weight, [0, 2, 1, *range(3, len(weight.shape))])
    dims, sizes = [], []
    for size, length, spread in zip(x.shape[3:], lengths, spreads):
        reach = spread.dilation * (length - 1)
        dims.append(Settings(1, reach - spread.before, reach - spread.after, spread.dilation,
                             spread.stride))
        sizes.append((size - 1) * spread.stride + 1 + reach - spread.before - spread.after)
    if min(sizes) < 1:
        raise ImportFailure(f"expects padding that leaves elements but got results of {sizes}")
    y = convolution(graph, x, weight, dims, sizes, True)
    return graph.reshape(y, (y.shape[0], made, *y.shape[3:]))


def spread_patches(graph: Graph, x: Value, weight: Value) -> Value:
    """A transposed convolution whose elements have no element of the result in common: a matmul
    over the channels."""
    rank = len(x.shape) - 3
    places, taps = LETTERS[4:4 + rank], LETTERS[4 + rank:4 + 2 * rank]
    mixed = "".join(map("".join, zip(places, taps)))
    y = graph.einsum(f"adb{places}", f"dbc{taps}", f"adc{mixed}", x, weight)
    sizes = [size * length for size, length in zip(x.shape[3:], weight.shape[3:])]
    return graph.reshape(y, (y.shape[0], math.prod(y.shape[1:3]), *sizes))
