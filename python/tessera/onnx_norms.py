"""Converts norms of ONNX. A norm of the last dimensions is an op of nn on rows."""

from __future__ import annotations

import math
from typing import Any, Sequence

from . import groups
from .errors import ImportFailure
from .graph_text import Graph, Value
from .onnx_importer import Importer, attribute, handles, positive


# Norms.

def last_vector(graph: Graph, value: Value, shape: Sequence[int]) -> Value:
    """The factor or summand of a norm as a vector of the elements of a row, whose dimensions are
    `shape`."""
    count, own = math.prod(shape), value.shape
    while len(own) > len(shape) and own[0] == 1:
        own = own[1:]
    if len(own) > len(shape) or any(size not in (1, whole) for size, whole in
                                    zip(own[::-1], tuple(shape)[::-1])):
        raise ImportFailure(f"expects a vector of the {count} elements of a row but got "
                            f"{value.type}")
    return graph.reshape(graph.expand(graph.reshape(value, own), shape), (count,))


def as_rows(importer: Importer, node: Any) -> tuple[Value, int]:
    """The operand with its normalized dimensions as one, and the first of them."""
    x = importer.value(node.input[0])
    axis = positive(attribute(node, "axis", -1), len(x.shape))
    if not 0 <= axis < len(x.shape):
        raise ImportFailure(f"expects a dimension of {x.type} but got {axis}")
    return importer.graph.reshape(x, x.shape[:axis] + (math.prod(x.shape[axis:]),)), axis


def layer_norm(graph: Graph, x: Value, gamma: Value, beta: Value, eps: float) -> Value:
    return graph.op(f"nn.layer_norm {x.name}, {gamma.name}, {beta.name} eps "
                    f"{groups.literal_eps(eps)} : {x.type}, {gamma.type}, {beta.type}", x.shape,
                    x.element)


def read_eps(node: Any) -> float:
    return float(attribute(node, "epsilon", 1e-5))


def statistics(graph: Graph, rows: Value, eps: float) -> tuple[Value, Value]:
    """The mean of each row and the inverse of its deviation, in at least f32."""
    rows = groups.wide(graph, rows)
    last = len(rows.shape) - 1
    mean = groups.mean(graph, rows, [last])
    moved = graph.binary("arith.subf", rows, graph.broadcast(mean, rows.shape, range(last)))
    variance = groups.mean(graph, graph.binary("arith.mulf", moved, moved), [last])
    added = graph.binary("arith.addf", variance,
                         graph.constant(eps, variance.shape, variance.element))
    return mean, graph.unary("math.rsqrt", added)


@handles("LayerNormalization")
def convert_layer_norm(importer: Importer, node: Any) -> list[Value]:
    (rows, axis), graph = as_rows(importer, node), importer.graph
    x, gamma, beta = (importer.operand(node, i) for i in range(3))
    assert x is not None and gamma is not None
    gamma = last_vector(graph, gamma, x.shape[axis:])
    beta = graph.constant(0, rows.shape[-1:], x.element) if beta is None else \
        last_vector(graph, beta, x.shape[axis:])
    eps = read_eps(node)
    results = [graph.reshape(layer_norm(graph, rows, gamma, beta, eps), x.shape)]
    if any(name in importer.uses for name in node.output[1:]):
        kept = x.shape[:axis] + (1,) * (len(x.shape) - axis)
        element = importer.stash_type(node)
        results += [graph.cast(graph.reshape(value, kept), element)
                    for value in statistics(graph, rows, eps)]
    return results


@handles("RMSNormalization")
def convert_rms_norm(importer: Importer, node: Any) -> Value:
    (rows, axis), graph = as_rows(importer, node), importer.graph
    x, gamma = (importer.value(item) for item in node.input)
    gamma = last_vector(graph, gamma, x.shape[axis:])
    y = graph.op(f"nn.rms_norm {rows.name}, {gamma.name} eps {groups.literal_eps(read_eps(node))} "
                 f": {rows.type}, {gamma.type}", rows.shape, x.element)
    return graph.reshape(y, x.shape)


def channel_norm(importer: Importer, node: Any, count: int, per_group: bool) -> Value:
    """A norm of each of `count` groups of channels, times a factor and plus a term of each group or
    of each channel. Dimension 1 holds the channels."""
    x, scale, bias = (importer.value(item) for item in node.input)
    graph, channels = importer.graph, x.shape[1]
    if count < 1 or channels % count or any(
            value.shape != (count if per_group else channels,) for value in (scale, bias)):
        raise ImportFailure(f"expects {count} groups of {channels} channels, and a factor of each "
                            f"{'group' if per_group else 'channel'}, but got {scale.type}")
    rows = graph.reshape(x, (x.shape[0], count, math.prod(x.shape[1:]) // count))
    one, zero = (graph.constant(number, rows.shape[2:], x.element) for number in (1, 0))
    y = layer_norm(graph, rows, one, zero, read_eps(node))
    y = y if per_group else graph.reshape(y, x.shape)
    y = graph.binary("arith.mulf", y, graph.broadcast(scale, y.shape, [1]))
    y = graph.binary("arith.addf", y, graph.broadcast(bias, y.shape, [1]))
    return graph.reshape(y, x.shape)


@handles("InstanceNormalization")
def convert_instance_norm(importer: Importer, node: Any) -> Value:
    return channel_norm(importer, node, importer.value(node.input[0]).shape[1], False)


@handles("GroupNormalization")
def convert_group_norm(importer: Importer, node: Any) -> Value:
    """From opset 21 a factor for each channel, before for each group."""
    return channel_norm(importer, node, attribute(node, "num_groups"), importer.opset < 21)


@handles("BatchNormalization")
def convert_batch_norm(importer: Importer, node: Any) -> Value:
    """A factor and a term of each channel; inference only."""
    x, scale, bias, mean, variance = (importer.value(item) for item in node.input)
    # In opset 13 a node with statistics as results trains.
    is_training = attribute(node, "training_mode", 0) or sum(map(bool, node.output)) > 1
    if is_training:
        raise ImportFailure("expects statistics that are given (training_mode = 0)")
    graph = importer.graph
    scale, bias, mean, variance = (graph.cast(value, x.element)
                                   for value in (scale, bias, mean, variance))
    added = graph.binary("arith.addf", variance,
                         graph.constant(read_eps(node), variance.shape, x.element))
    factor = graph.binary("arith.mulf", scale, graph.unary("math.rsqrt", added))

    def spread(value: Value) -> Value:
        # A tensor of one dimension has one channel.
        return graph.broadcast(value, x.shape, [1]) if len(x.shape) > 1 else \
            graph.expand(value, x.shape)
    y = graph.binary("arith.mulf", graph.binary("arith.subf", x, spread(mean)), spread(factor))
    return graph.binary("arith.addf", y, spread(bias))
