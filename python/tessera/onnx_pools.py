"""Converts pools of ONNX."""

from __future__ import annotations

from typing import Any, Sequence

from . import groups, windows
from .errors import ImportFailure
from .graph_text import Graph, Value
from .onnx_importer import Importer, attribute, handles
from .onnx_reductions import absolute, reduce_elements, square
from .windows import Window


# Pools.

def read_numbers(node: Any, name: str, count: int, least: int) -> list[int]:
    """An attribute with a number for each dimension; the least one if it may be omitted."""
    numbers = list(attribute(node, name, [] if name == "kernel_shape" else [least] * count))
    if len(numbers) != count or min(numbers, default=least) < least:
        raise ImportFailure(f"expects {count} numbers from {least} on as {name} but got {numbers}")
    return numbers


def read_mode(node: Any) -> str:
    mode = str(attribute(node, "auto_pad", "NOTSET"))
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise ImportFailure("expects NOTSET, VALID, SAME_UPPER or SAME_LOWER as auto_pad but got "
                            f"{mode}")
    return mode


def read_windows(node: Any, sizes: Sequence[int], lengths: Sequence[int]) -> list[Window]:
    """The windows of each dimension. Source of the counts: ONNX's schemas of MaxPool, AveragePool
    and Conv."""
    rank, mode = len(sizes), read_mode(node)
    strides, dilations = (read_numbers(node, name, rank, 1) for name in ("strides", "dilations"))
    pads = read_numbers(node, "pads", 2 * rank, 0) if mode == "NOTSET" else [0] * (2 * rank)
    found = [Window(*numbers) for numbers in
             zip(sizes, lengths, strides, dilations, pads[:rank], pads[rank:])]
    for window in found:
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            window.keep_size(mode == "SAME_LOWER")
        else:
            window.fit(bool(attribute(node, "ceil_mode", 0)))
        window.check()
    return found


@handles("MaxPool", "AveragePool", "LpPool")
def convert_pool(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    if not x.is_float:
        raise ImportFailure(f"expects floats but got {x.type}")
    found = read_windows(node, x.shape[2:], read_numbers(node, "kernel_shape", len(x.shape) - 2, 1))
    if node.op_type == "MaxPool":
        return windows.largest_in(graph, x, found)
    if node.op_type == "LpPool":
        order = read_order(node)
        return root(graph, windows.sum_in(graph, power(graph, x, order), found), order)
    counts = windows.count_elements(found, bool(attribute(node, "count_include_pad", 0)))
    return windows.mean_in(graph, x, found, importer.write(counts.astype("f8")))


def read_order(node: Any) -> int:
    order = int(attribute(node, "p", 2))
    if order < 1:
        raise ImportFailure(f"expects a norm of order 1 or more but got {order}")
    return order


def power(graph: Graph, x: Value, order: int) -> Value:
    """The magnitudes of elements to the power of the order of a norm."""
    if order == 2:
        return square(graph, x)
    x = absolute(graph, x)
    return x if order == 1 else groups.power(graph, x, order)


def root(graph: Graph, x: Value, order: int) -> Value:
    """The root of a sum of powers, with the gradient 0 at 0."""
    if order == 1:
        return x
    if order == 2:
        return groups.root(graph, x)
    is_zero = graph.compare("eq", x, graph.constant(0, x.shape, x.element))
    return graph.select(is_zero, 0, groups.power(graph, graph.select(is_zero, 1, x), 1 / order))


@handles("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def convert_global_pool(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    axes = range(2, len(x.shape))
    if node.op_type == "GlobalLpPool":
        order = read_order(node)
        y = root(graph, graph.reduce("sum", power(graph, x, order), axes), order)
    else:
        y = reduce_elements(graph, "Mean" if node.op_type == "GlobalAveragePool" else "Max", x,
                            axes)
    return graph.reshape(y, x.shape[:2] + (1,) * len(axes))
