"""Functions that several front ends spell as groups of ops of nn, arith and math."""

from __future__ import annotations

from .graph_text import Graph, Value


def sigmoid(graph: Graph, x: Value) -> Value:
    """(1 + tanh(x / 2)) / 2: its gradient is finite everywhere."""
    half = graph.constant(0.5, x.shape, x.element)
    t = graph.unary("math.tanh", graph.binary("arith.mulf", x, half))
    return graph.binary("arith.addf", graph.binary("arith.mulf", t, half), half)


def power(graph: Graph, x: Value, exponent: float) -> Value:
    """x to a number; of integers to 1, 2, 3 or 4."""
    if exponent in (1, 2, 3, 4):
        result = x
        for _ in range(int(exponent) - 1):
            result = graph.binary("arith.mulf" if x.is_float else "arith.muli", result, x)
        return result
    if exponent == 0.5:
        return graph.unary("math.sqrt", x)
    if exponent == -0.5:
        return graph.unary("math.rsqrt", x)
    return graph.binary("math.powf", x, graph.constant(exponent, x.shape, x.element))


def log_softmax(graph: Graph, x: Value, dim: int) -> Value:
    kept = [i for i in range(len(x.shape)) if i != dim]
    largest = graph.broadcast(graph.reduce("max", x, [dim]), x.shape, kept)
    moved = graph.binary("arith.subf", x, largest)
    total = graph.reduce("sum", graph.unary("math.exp", moved), [dim])
    return graph.binary("arith.subf", moved,
                        graph.broadcast(graph.unary("math.log", total), x.shape, kept))


def patches(graph: Graph, x: Value, weight: Value) -> Value:
    """A convolution of [batch, channel, height, width] by [channel, channel, height, width]
    whose windows do not overlap."""
    kernel = weight.shape[2:]
    batch, channels, height, width = x.shape
    split = graph.reshape(x, (batch, channels, height // kernel[0], kernel[0],
                              width // kernel[1], kernel[1]))
    return graph.einsum("bchpwq", "dcpq", "bdhw", split, weight)


def grouped_attention(graph: Graph, q: Value, k: Value, v: Value, scale: float,
                      is_causal: bool) -> Value:
    batch, heads, queries, dim = q.shape
    groups = k.shape[1]
    split = graph.reshape(q, (batch, groups, heads // groups, queries, dim))
    split = graph.transpose(split, [0, 3, 1, 2, 4])
    k, v = (graph.transpose(x, [0, 2, 1, 3]) for x in (k, v))
    shape = split.shape[:-1] + v.shape[-1:]
    kind = f"tensor<{'x'.join(map(str, shape))}x{q.element}>"
    mixed = graph.op(f"nn.attention {'causal ' if is_causal else ''}scale {literal_eps(scale)} "
                     f"{split.name}, {k.name}, {v.name} : {split.type}, {k.type}, {v.type} -> "
                     f"{kind}", shape, q.element)
    mixed = graph.transpose(mixed, [0, 2, 3, 1, 4])
    return graph.reshape(mixed, (batch, heads, queries, v.shape[-1]))


def masked_attention(graph: Graph, q: Value, k: Value, v: Value, scale: float,
                     mask: Value, hides_rows: bool) -> Value:
    """Of a mask of booleans or one that is added. A query to which booleans show no key gets
    zeros; `hides_rows`: there may be one."""
    scores = graph.einsum("abcd", "abed", "abce", q, k)
    scores = graph.binary("arith.mulf", scores, graph.constant(scale, scores.shape, scores.element))
    mask = graph.expand(mask, scores.shape)
    if mask.element == "i1":
        lowest = {"f32": -1e30, "f64": -1e30, "bf16": -1e30, "f16": -6e4}[scores.element]
        scores = graph.select(mask, scores, graph.constant(lowest, scores.shape, scores.element))
    else:
        scores = graph.binary("arith.addf", scores, graph.cast(mask, scores.element))
    weights = graph.op(f"nn.softmax {scores.name} dim 3 : {scores.type}", scores.shape,
                       scores.element)
    if mask.element == "i1" and hides_rows:
        weights = graph.select(mask, weights, graph.constant(0, weights.shape, weights.element))
    return graph.einsum("abce", "abef", "abcf", weights, v)


def literal_eps(eps: float) -> str:
    text = repr(float(eps))
    return text if "." in text else text.replace("e", ".0e")


def add_bias(graph: Graph, y: Value, bias: Value | None) -> Value:
    if bias is None:
        return y
    return graph.binary("arith.addf", y, graph.expand(bias, y.shape))
