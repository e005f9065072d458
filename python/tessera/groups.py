"""Functions that several front ends build from groups of nn, arith and math ops."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Sequence

import numpy

from .graph_text import Graph, Value

# The largest number in an additive mask that hides a key.
HIDDEN = -1e4


def sigmoid(graph: Graph, x: Value) -> Value:
    """e / (1 + e) for x below 0, else 1 / (1 + e), with e = exp(-|x|): precise also for results
    near 0, and with a finite gradient everywhere."""
    one = graph.constant(1, x.shape, x.element)
    is_below = graph.compare("lt", x, graph.constant(0, x.shape, x.element))
    e = graph.unary("math.exp", graph.select(is_below, x, graph.unary("arith.negf", x)))
    return graph.binary("arith.divf", graph.select(is_below, e, one),
                        graph.binary("arith.addf", one, e))


def relu(graph: Graph, x: Value) -> Value:
    """A select, since a maximum has another gradient at 0."""
    zero = graph.constant(0, x.shape, x.element)
    return graph.select(graph.compare("le", x, zero), zero, x)


def clamp(graph: Graph, x: Value, low: Value | None, high: Value | None) -> Value:
    """Selects for floats, since a maximum and a minimum have other gradients at the bounds."""
    for bound, name, beyond in ((low, "max", "lt"), (high, "min", "gt")):
        if bound is None:
            continue
        bound = graph.expand(bound, x.shape)
        x = graph.select(graph.compare(beyond, x, bound), bound, x) if x.is_float else \
            graph.binary(f"arith.{name}si", x, bound)
    return x


def wide(graph: Graph, x: Value) -> Value:
    """Casts x to at least f32: sums of 16-bit floats are rounded once and do not overflow."""
    return graph.cast(x, "f32") if x.is_float and x.bits < 32 else x


def mean(graph: Graph, x: Value, dims: Sequence[int]) -> Value:
    """The mean, computed in at least f32."""
    x = wide(graph, x)
    total = graph.reduce("sum", x, dims)
    count = graph.constant(math.prod(x.shape[d] for d in dims), total.shape, x.element)
    return graph.binary("arith.divf", total, count)


def root(graph: Graph, x: Value) -> Value:
    """The root of a sum of squares, with the gradient 0 at 0."""
    zero = graph.constant(0, x.shape, x.element)
    is_zero = graph.compare("eq", x, zero)
    return graph.select(is_zero, zero, graph.unary("math.sqrt", graph.select(is_zero, 1, x)))


def power(graph: Graph, x: Value, exponent: float) -> Value:
    """Raises x to a number; integers to 1, 2, 3 or 4."""
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
    """The logarithm of a softmax, computed in at least f32."""
    element, x = x.element, wide(graph, x)
    kept = [i for i in range(len(x.shape)) if i != dim]
    largest = graph.broadcast(graph.reduce("max", x, [dim]), x.shape, kept)
    moved = graph.binary("arith.subf", x, largest)
    total = graph.reduce("sum", graph.unary("math.exp", moved), [dim])
    logarithms = graph.broadcast(graph.unary("math.log", total), x.shape, kept)
    return graph.cast(graph.binary("arith.subf", moved, logarithms), element)


def logsumexp(graph: Graph, x: Value, dims: Sequence[int]) -> Value:
    """log(sum(exp(x))) over dimensions that the result does not have, computed in at least f32. The
    maximum is subtracted from the exponents if it is finite."""
    element, x = x.element, wide(graph, x)
    kept = [i for i in range(len(x.shape)) if i not in dims]
    largest = graph.reduce("max", x, dims)
    size = graph.unary("math.absf", largest)
    infinity = graph.constant(math.inf, largest.shape, largest.element)
    zero = graph.constant(0, largest.shape, largest.element)
    shift = graph.select(graph.compare("eq", size, infinity), zero, largest)
    moved = graph.binary("arith.subf", x, graph.broadcast(shift, x.shape, kept))
    total = graph.reduce("sum", graph.unary("math.exp", moved), dims)
    return graph.cast(graph.binary("arith.addf", graph.unary("math.log", total), shift), element)


def triangle(graph: Graph, size: int, predicate: str = "le") -> Value:
    """Booleans [i, j]: true if j is at most i, or compares with i by another predicate."""
    count = graph.op(f"nn.iota : tensor<{size}xi32>", (size,), "i32")
    return graph.compare(predicate, graph.broadcast(count, (size, size), [1]),
                         graph.broadcast(count, (size, size), [0]))


def integer_cumsum(graph: Graph, x: Value, dim: int, predicate: str = "le") -> Value:
    """An exact cumulative sum along a dimension: element i is the sum of x[.., j] for j up to i, or
    for the j that compare with i by another predicate."""
    size, rank = x.shape[dim], len(x.shape)
    shape = x.shape[:dim] + (size, size) + x.shape[dim + 1:]
    spread = graph.broadcast(x, shape, [i + (i >= dim) for i in range(rank)])
    shown = graph.broadcast(triangle(graph, size, predicate), shape, [dim, dim + 1])
    zero = graph.constant(0, shape, x.element)
    return graph.reduce("sum", graph.select(shown, spread, zero), [dim + 1])


def pick_integers(graph: Graph, x: Value, index: Value) -> Value:
    """Picks one element of each row of the last dimension."""
    kept = list(range(len(index.shape)))
    place = graph.op(f"nn.iota : tensor<{x.shape[-1]}x{index.element}>", x.shape[-1:], index.element)
    chosen = graph.compare("eq", graph.broadcast(place, x.shape, [len(kept)]),
                           graph.broadcast(index, x.shape, kept))
    zero = graph.constant(0, x.shape, x.element)
    return graph.reduce("sum", graph.select(chosen, x, zero), [len(kept)])


def grouped_attention(graph: Graph, q: Value, k: Value, v: Value, scale: float, is_causal: bool,
                      bias: Value | None = None, softcap: float = 0) -> Value:
    """The op of attention. A bias is [batch, head, query, key], with sizes of 1 where it is alike;
    it must not depend on a parameter, since it has no gradient."""
    batch, heads, queries, dim = q.shape
    groups = k.shape[1]
    added = ""
    if bias is not None:
        rows, own, *pairs = bias.shape
        apart = (groups, heads // groups) if own > 1 else (1, 1)
        bias = graph.transpose(graph.reshape(bias, (rows, *apart, *pairs)), [0, 3, 1, 2, 4])
        dims = [dim for dim, size in enumerate(bias.shape) if size > 1 or dim == 4]
        bias = graph.reshape(bias, [bias.shape[dim] for dim in dims])
        added = f" bias {bias.name} dims {dims} : {bias.type}"
    limit = f" softcap {literal_eps(softcap)}" if softcap else ""
    split = graph.reshape(q, (batch, groups, heads // groups, queries, dim))
    split = graph.transpose(split, [0, 3, 1, 2, 4])
    k, v = (graph.transpose(x, [0, 2, 1, 3]) for x in (k, v))
    shape = split.shape[:-1] + v.shape[-1:]
    kind = f"tensor<{'x'.join(map(str, shape))}x{q.element}>"
    mixed = graph.op(f"nn.attention {'causal ' if is_causal else ''}scale {literal_eps(scale)}"
                     f"{limit} {split.name}, {k.name}, {v.name}{added} : "
                     f"{split.type}, {k.type}, {v.type} -> "
                     f"{kind}", shape, q.element)
    mixed = graph.transpose(mixed, [0, 2, 3, 1, 4])
    return graph.reshape(mixed, (batch, heads, queries, v.shape[-1]))


def tile(graph: Graph, x: Value, counts: Sequence[int]) -> Value:
    """Repeats x `counts` times along its dimensions; more counts than dimensions add leading ones.
    """
    x = graph.reshape(x, (1,) * (len(counts) - len(x.shape)) + x.shape)
    apart = graph.reshape(x, [n for size in x.shape for n in (1, size)])
    repeated = graph.expand(apart, [n for pair in zip(counts, x.shape) for n in pair])
    return graph.reshape(repeated, [n * size for n, size in zip(counts, x.shape)])


def view(graph: Graph, x: Value, elements: Any) -> Value | None:
    """The elements of x at these linear indices, if slices, broadcasts and a transpose suffice:
    each dimension of the result follows a dimension of x, with a step, or repeats."""
    strides = [math.prod(x.shape[i + 1:]) for i in range(len(x.shape))]
    steps = [int(elements.take(1, i).flat[0] - elements.flat[0]) if size > 1 else 0
             for i, size in enumerate(elements.shape)]
    grid = numpy.ogrid[tuple(slice(size) for size in elements.shape)]
    if elements.size == 0 or any(step < 0 for step in steps) or bool(
            (elements != elements.flat[0] + sum(a * b for a, b in zip(grid, steps))).any()):
        return None
    source: dict[int, int] = {}
    first, starts = int(elements.flat[0]), []
    for dim, stride in enumerate(strides):
        starts.append(first // stride)
        first %= stride
        for i, step in enumerate(steps):
            if dim not in source and i not in source.values() and step and step % stride == 0 \
                    and starts[dim] + (elements.shape[i] - 1) * (step // stride) < x.shape[dim]:
                source[dim] = i
    if sorted(source.values()) != [i for i, step in enumerate(steps) if step]:
        return None
    for dim, start in enumerate(starts):
        size = elements.shape[source[dim]] if dim in source else 1
        step = steps[source[dim]] // strides[dim] if dim in source else 1
        x = graph.slice(x, dim, start, size, step)
    kept = sorted(source)
    x = graph.reshape(x, [x.shape[dim] for dim in kept])
    order = sorted(range(len(kept)), key=lambda i: source[kept[i]])
    x = graph.transpose(x, order)
    return graph.broadcast(x, elements.shape, sorted(source.values()))


def softplus(graph: Graph, x: Value, beta: float, threshold: float) -> Value:
    """log(1 + exp(beta x)) / beta; x if beta x is above the threshold. The exponential and the
    gradients stay finite there."""
    def constant(number: float) -> Value:
        return graph.constant(number, x.shape, x.element)
    scaled = graph.binary("arith.mulf", x, constant(beta))
    is_above = graph.compare("gt", scaled, constant(threshold))
    power = graph.unary("math.exp", graph.select(is_above, constant(threshold), scaled))
    smooth = graph.binary("arith.divf", graph.unary("math.log1p", power), constant(beta))
    return graph.select(is_above, x, smooth)


def repeat_heads(graph: Graph, x: Value, count: int) -> Value:
    """Repeats each head of [batch, head, position, dim] `count` times in a row."""
    batch, heads, length, dim = x.shape
    spread = graph.broadcast(x, (batch, heads, count, length, dim), [0, 1, 3, 4])
    return graph.reshape(spread, (batch, heads * count, length, dim))


class Visibility(NamedTuple):
    """The keys that queries see: with `is_causal` those up to the query's position, with `has_mask`
    those among them that a mask shows. With `hides_rows` a query may see no key."""
    is_causal: bool
    has_mask: bool
    hides_rows: bool


def read_mask(mask: Any, queries: int, keys: int, is_causal: bool) -> Visibility:
    """The visibility of a constant mask, boolean or additive; None is an unknown mask."""
    if mask is None:
        return Visibility(is_causal, True, True)
    mask = numpy.broadcast_to(mask, mask.shape[:-2] + (queries, keys))
    causal = numpy.tri(queries, keys, dtype=bool)
    if is_causal:
        mask = mask & causal if mask.dtype == bool else numpy.where(causal, mask, -numpy.inf)
    visible = mask if mask.dtype == bool else mask == 0
    if mask.dtype == bool or bool((visible | (mask <= HIDDEN)).all()):
        if bool(visible.all()):
            return Visibility(False, False, False)
        if bool((visible == causal).all()):
            return Visibility(True, False, False)
    shown = mask if mask.dtype == bool else mask != -numpy.inf
    return Visibility(is_causal, True, not bool(shown.any(axis=-1).all()))


def causal_mask(graph: Graph, queries: int, keys: int) -> Value:
    """True for keys up to the query's position."""
    return graph.dense(numpy.tri(queries, keys, dtype=bool).tobytes(), (queries, keys), "i1")


def masked_attention(graph: Graph, q: Value, k: Value, v: Value, scale: float, mask: Value | None,
                     visibility: Visibility, softcap: float = 0) -> Value:
    """Attention with a mask of booleans, or of floats that are added, where minus infinity hides a
    key. A query that sees no key gets zeros, as in torch and ONNX. If keys and values have fewer
    heads than queries, each of their heads serves a group of query heads. With a softcap c scores x
    are c tanh(x / c) before the mask. Scores with a mask of floats, which may be trained, are
    written out."""
    if mask is None or mask.element == "i1":
        bias = None
        if mask is not None:
            mask = graph.reshape(mask, (1,) * (4 - len(mask.shape)) + mask.shape)
            mask = graph.expand(mask, (*mask.shape[:-1], k.shape[2]))
            bias = graph.select(mask, *(graph.constant(number, mask.shape, q.element)
                                        for number in (0, -math.inf)))
        return grouped_attention(graph, q, k, v, scale, visibility.is_causal, bias, softcap)
    if k.shape[1] != q.shape[1]:
        k, v = (repeat_heads(graph, x, q.shape[1] // x.shape[1]) for x in (k, v))
    scores = graph.einsum("abcd", "abed", "abce", q, k)
    scores = graph.binary("arith.mulf", scores, graph.constant(scale, scores.shape, scores.element))
    if softcap:
        limit = graph.constant(softcap, scores.shape, scores.element)
        turned = graph.unary("math.tanh", graph.binary("arith.divf", scores, limit))
        scores = graph.binary("arith.mulf", turned, limit)
    shown = None
    scores = graph.binary("arith.addf", scores,
                          graph.expand(graph.cast(mask, scores.element), scores.shape))
    if visibility.hides_rows:
        # A NaN is visible, and the result is NaN.
        lowest = graph.constant(-math.inf, mask.shape, mask.element)
        shown = graph.compare("ne", mask, lowest)
    if visibility.is_causal:
        causal = causal_mask(graph, scores.shape[2], scores.shape[3])
        if shown is not None:
            rest = (1,) * (2 - len(shown.shape)) + shown.shape
            shape = rest[:-2] + causal.shape
            causal = graph.binary("arith.andi", graph.expand(shown, shape),
                                  graph.expand(causal, shape))
        shown = causal
    if shown is not None:
        shown = graph.expand(shown, scores.shape)
        lowest = {"f32": -1e30, "f64": -1e30, "bf16": -1e30, "f16": -6e4}[scores.element]
        scores = graph.select(shown, scores, graph.constant(lowest, scores.shape, scores.element))
    weights = graph.op(f"nn.softmax {scores.name} dim 3 : {scores.type}", scores.shape,
                       scores.element)
    if shown is not None and visibility.hides_rows:
        weights = graph.select(shown, weights, graph.constant(0, weights.shape, weights.element))
    return graph.einsum("abce", "abef", "abcf", weights, v)


def literal_eps(eps: float) -> str:
    text = repr(float(eps))
    return text if "." in text else text.replace("e", ".0e")


def add_bias(graph: Graph, y: Value, bias: Value | None) -> Value:
    if bias is None:
        return y
    return graph.binary("arith.addf", y, graph.expand(bias, y.shape))
