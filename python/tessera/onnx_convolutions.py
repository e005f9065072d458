"""Converts convolutions of ONNX."""

from __future__ import annotations

from typing import Any, Sequence

from . import convolutions
from .convolutions import Spread
from .errors import ImportFailure
from .graph_text import Value
from .onnx_importer import Importer, attribute, handles
from .onnx_pools import read_mode, read_numbers, read_windows


def read_operands(importer: Importer, node: Any) -> tuple[Value, Value]:
    """x and the weight, whose taps have the kernel's shape."""
    x, weight = (importer.value(item) for item in node.input[:2])
    taps = attribute(node, "kernel_shape", list(weight.shape[2:]))
    if len(weight.shape) != len(x.shape) or taps != list(weight.shape[2:]):
        raise ImportFailure(f"expects a weight of {len(x.shape)} dimensions with taps of {taps} but "
                            f"got {weight.type}")
    return x, weight


@handles("Conv")
def convert_convolution(importer: Importer, node: Any) -> Value:
    x, weight = read_operands(importer, node)
    windows = read_windows(node, x.shape[2:], weight.shape[2:])
    y = convolutions.convolve(importer.graph, x, weight, attribute(node, "group", 1), windows)
    return add_channels(importer, node, y)


def add_channels(importer: Importer, node: Any, y: Value) -> Value:
    """A convolution plus its bias."""
    bias = importer.operand(node, 2)
    if bias is None:
        return y
    if bias.shape != y.shape[1:2]:
        raise ImportFailure(f"expects a bias of {y.shape[1]} channels but got {bias.type}")
    return importer.graph.arith("add", y, importer.graph.broadcast(bias, y.shape, [1]))


@handles("ConvTranspose")
def convert_transposed(importer: Importer, node: Any) -> Value:
    x, weight = read_operands(importer, node)
    spreads = read_spreads(node, x.shape[2:], weight.shape[2:])
    y = convolutions.convolve_transposed(importer.graph, x, weight, attribute(node, "group", 1),
                                         spreads)
    return add_channels(importer, node, y)


def read_spreads(node: Any, sizes: Sequence[int], lengths: Sequence[int]) -> list[Spread]:
    """The dimensions of a transposed convolution, whose padding is given or follows from the sizes
    of the result. Source: ONNX's schema of ConvTranspose."""
    rank, mode = len(sizes), read_mode(node)
    strides, dilations = (read_numbers(node, name, rank, 1) for name in ("strides", "dilations"))
    pads = read_numbers(node, "pads", 2 * rank, 0)
    more = read_numbers(node, "output_padding", rank, 0)
    wanted = None if attribute(node, "output_shape") is None else \
        read_numbers(node, "output_shape", rank, 1)
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [size * stride for size, stride in zip(sizes, strides)]
    spreads = []
    for i in range(rank):
        before, after = (pads[i], pads[rank + i]) if mode == "NOTSET" else (0, 0)
        if wanted is not None:
            whole = (sizes[i] - 1) * strides[i] + (lengths[i] - 1) * dilations[i] + 1 + more[i]
            total = whole - wanted[i]
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
            after = total - before
        spreads.append(Spread(strides[i], dilations[i], before, after - more[i]))
    return spreads
