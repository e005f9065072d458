"""Converts attention, rotary positions and GELU of ONNX, which nn has."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy

from . import groups
from .errors import ImportFailure
from .graph_text import Graph, Value
from .onnx_importer import Importer, attribute, element_of_type, handles

# Ops that nn has.

@handles("Gelu")
def convert_gelu(importer: Importer, node: Any) -> Value:
    kind = "tanh" if attribute(node, "approximate", "none") == "tanh" else "erf"
    return importer.graph.unary(f"nn.gelu <{kind}>", importer.value(node.input[0]))


def apart(importer: Importer, x: Value, heads: int) -> Value:
    """Converts [batch, position, head x dim] to [batch, head, position, dim]."""
    batch, length, width = x.shape
    split = importer.graph.reshape(x, (batch, length, heads, width // heads))
    return importer.graph.transpose(split, [0, 2, 1, 3])


def together(importer: Importer, x: Value) -> Value:
    batch, heads, length, dim = x.shape
    return importer.graph.reshape(importer.graph.transpose(x, [0, 2, 1, 3]),
                                  (batch, length, heads * dim))


# Bit widths of the types that a softmax may have.
WIDTHS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}


@handles("Attention")
def convert_attention(importer: Importer, node: Any) -> list[Value]:
    """The result, and keys and values with the past ones before them."""
    q, k, v = (importer.value(item) for item in node.input[:3])
    graph = importer.graph
    precision = attribute(node, "softmax_precision", 0)
    if precision and WIDTHS.get(element_of_type(precision), 0) < WIDTHS.get(q.element, 0):
        raise ImportFailure("expects attention whose softmax is as precise as its operands")
    is_flat = len(q.shape) == 3
    if is_flat:
        q = apart(importer, q, attribute(node, "q_num_heads"))
        k, v = (apart(importer, x, attribute(node, "kv_num_heads")) for x in (k, v))
    past, offset = [importer.operand(node, i) for i in (4, 5)], 0
    if (past[0] is None) != (past[1] is None):
        raise ImportFailure("expects past keys and past values, or neither")
    if past[0] is not None:
        offset = past[0].shape[2]
        k, v = (graph.concat([before, x], 2) for before, x in zip(past, (k, v)))
    scale = attribute(node, "scale", 1 / math.sqrt(q.shape[-1]))
    softcap = attribute(node, "softcap", 0.0)
    mask, visibility = attention_mask(importer, node, q.shape[2], k.shape[2], offset)
    if visibility.has_mask or softcap:
        y = groups.masked_attention(graph, q, k, v, scale, mask, visibility, softcap)
    else:
        found = [importer.repeated.get(x, x) for x in (k, v)]
        once = found if found[0].shape[1] == found[1].shape[1] else (k, v)
        y = groups.grouped_attention(graph, q, *once, scale, visibility.is_causal)
    return [together(importer, y) if is_flat else y, k, v]


def attention_mask(importer: Importer, node: Any, queries: int, keys: int,
                   offset: int) -> tuple[Value | None, groups.Visibility]:
    """The mask, if there is one to apply, and what it shows. Queries follow `offset` past keys."""
    graph, is_causal = importer.graph, bool(attribute(node, "is_causal", 0))
    has_mask, is_later = importer.has(node, 3), bool(is_causal and offset)
    visibility, mask = groups.Visibility(is_causal, False, False), None
    if has_mask:
        visibility = read_mask(importer, node, queries, keys, is_causal and not is_later)
    if visibility.has_mask or (has_mask and is_later):
        mask = pad_mask(graph, importer.value(node.input[3]), keys)
    if not is_later:
        return mask, visibility
    return hide_later(graph, mask, queries, keys), groups.Visibility(False, True, has_mask)


def hide_later(graph: Graph, mask: Value | None, queries: int, keys: int) -> Value:
    """A mask that also hides the keys after each query, which is the last of its keys or before."""
    causal = graph.dense(numpy.tri(queries, keys, keys - queries, dtype=bool).tobytes(),
                         (queries, keys), "i1")
    if mask is None:
        return causal
    shape = (1,) * (2 - len(mask.shape)) + mask.shape[:-2] + causal.shape
    causal, mask = graph.expand(causal, shape), graph.expand(mask, shape)
    if mask.element == "i1":
        return graph.binary("arith.andi", mask, causal)
    return graph.select(causal, mask, graph.constant(-math.inf, shape, mask.element))


def read_mask(importer: Importer, node: Any, queries: int, keys: int,
              is_causal: bool) -> groups.Visibility:
    """The visibility of a mask. A mask with fewer keys hides the others."""
    mask = importer.constants.get(node.input[3])
    shape = importer.value(node.input[3]).shape if mask is None else mask.shape
    if not shape or shape[-1] > keys:
        raise ImportFailure(f"expects a mask of at most {keys} keys but got one of {list(shape)}")
    if mask is not None and shape[-1] < keys:
        hidden = False if mask.dtype == bool else -math.inf
        mask = numpy.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, keys - shape[-1])],
                         constant_values=hidden)
    return groups.read_mask(mask, queries, keys, is_causal)


def pad_mask(graph: Graph, mask: Value, keys: int) -> Value:
    """Extends a mask with hidden keys at the end."""
    if mask.shape[-1] == keys:
        return mask
    rest = mask.shape[:-1] + (keys - mask.shape[-1],)
    hidden = graph.constant(False if mask.element == "i1" else -math.inf, rest, mask.element)
    return graph.concat([mask, hidden], len(rest) - 1)


@handles("RotaryEmbedding")
def convert_rotary(importer: Importer, node: Any) -> Value:
    """Rotates the pairs (i, i + n / 2) of the first n elements of a head, or pairs of neighbours.
    """
    x, graph = importer.value(node.input[0]), importer.graph
    is_flat = len(x.shape) == 3
    if is_flat:
        x = apart(importer, x, attribute(node, "num_heads"))
    width = attribute(node, "rotary_embedding_dim", 0) or x.shape[-1]
    cos, sin = (rotary_table(importer, node, i, x.shape, width // 2) for i in (1, 2))
    turned, rest = graph.slice(x, 3, 0, width), x.shape[-1] - width
    is_interleaved = bool(attribute(node, "interleaved", 0))
    half = turned.shape[:-1] + (width // 2,)
    if is_interleaved:
        pairs = graph.reshape(turned, half + (2,))
        a, b = (graph.reshape(graph.slice(pairs, 4, i, 1), half) for i in (0, 1))
    else:
        a, b = (graph.slice(turned, 3, i * (width // 2), width // 2) for i in (0, 1))

    def mul(left: Value, right: Value) -> Value:
        return graph.binary("arith.mulf", left, right)
    first = graph.binary("arith.subf", mul(a, cos), mul(b, sin))
    second = graph.binary("arith.addf", mul(a, sin), mul(b, cos))
    if is_interleaved:
        columns = [graph.reshape(value, half + (1,)) for value in (first, second)]
        y = graph.reshape(graph.concat(columns, 4), turned.shape)
    else:
        y = graph.concat([first, second], 3)
    y = graph.concat([y, graph.slice(x, 3, width, rest)], 3) if rest else y
    return together(importer, y) if is_flat else y


def rotary_table(importer: Importer, node: Any, index: int, shape: Sequence[int],
                 width: int) -> Value:
    """A table of rows as [batch, head, position, pair]."""
    batch, heads, length, _ = shape
    table, positions = importer.constants.get(node.input[index]), importer.constants.get(
        node.input[3]) if importer.has(node, 3) else None
    if positions is not None:
        importer.check_ids(node.input[3], (importer.value(node.input[index]) if table is None
                                           else table).shape[0])
    if table is not None and positions is not None:
        rows = importer.write(table[positions])
    elif importer.has(node, 3):
        rows = importer.embedding(importer.value(node.input[index]), importer.value(node.input[3]))
    else:
        rows = importer.value(node.input[index])
    rows = importer.graph.expand(rows, (batch, length, width))
    return importer.graph.broadcast(rows, (batch, heads, length, width), [0, 2, 3])
