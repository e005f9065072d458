"""Converts reductions of torch, norms, softmaxes and losses."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import LETTERS, Value
from .torch_importer import HANDLERS, Importer, argument, element_of, handles, place, positive


def reduction(importer: Importer, node: Any, kind: str) -> Value:
    x, result = importer.value(node.args[0]), node.meta["val"]
    if kind in ("sum", "mean"):
        x = importer.graph.cast(x, element_of(result.dtype))
    dims = argument(node, 1, "dim")
    dims = list(range(len(x.shape))) if dims is None or dims == [] else \
        [positive(d, len(x.shape)) for d in (dims if isinstance(dims, (list, tuple)) else [dims])]
    if kind == "mean":
        y = importer.graph.cast(groups.mean(importer.graph, x, dims), x.element)
    else:
        y = importer.graph.reduce(kind, x, dims)
    return importer.graph.reshape(y, result.shape)


for _name, _kind in {"sum.dim_IntList": "sum", "sum.default": "sum", "mean.dim": "mean",
                     "mean.default": "mean", "amax.default": "max", "amin.default": "min",
                     "max.default": "max", "min.default": "min"}.items():
    HANDLERS[f"aten.{_name}"] = lambda importer, node, kind=_kind: reduction(importer, node, kind)


def dimensions(node: Any, index: int, x: Value) -> list[int]:
    """The dimensions of a reduction; all of them if none is given."""
    dims = argument(node, index, "dim")
    dims = [] if dims is None else dims if isinstance(dims, (list, tuple)) else [dims]
    return [positive(d, len(x.shape)) for d in dims] or list(range(len(x.shape)))


@handles("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim")
def convert_vector_norm(importer: Importer, node: Any) -> Value:
    """The root of a sum of squares, with the gradient 0 at 0."""
    graph, result = importer.graph, node.meta["val"]
    element = element_of(result.dtype)
    x = groups.wide(graph, graph.cast(importer.value(node.args[0]), element))
    if argument(node, 1, "ord" if "linalg" in str(node.target) else "p", 2) not in (2, None):
        raise ImportFailure(f"{place(node)}: expects a norm of order 2")
    square = graph.reduce("sum", graph.binary("arith.mulf", x, x), dimensions(node, 2, x))
    zero = graph.constant(0, square.shape, x.element)
    is_zero = graph.compare("eq", square, zero)
    one = graph.constant(1, square.shape, x.element)
    root = graph.unary("math.sqrt", graph.select(is_zero, one, square))
    return graph.reshape(graph.cast(graph.select(is_zero, zero, root), element), result.shape)


@handles("aten.var.correction", "aten.var.dim")
def convert_variance(importer: Importer, node: Any) -> Value:
    graph, result = importer.graph, node.meta["val"]
    x = groups.wide(graph, importer.value(node.args[0]))
    dims = dimensions(node, 1, x)
    correction = argument(node, 2, "unbiased", True) if "dim" in str(node.target) else \
        argument(node, 2, "correction")
    kept = [i for i in range(len(x.shape)) if i not in dims]
    moved = graph.binary("arith.subf", x,
                         graph.broadcast(groups.mean(graph, x, dims), x.shape, kept))
    square = graph.reduce("sum", graph.binary("arith.mulf", moved, moved), dims)
    count = math.prod(x.shape[d] for d in dims)
    rest = count - (1 if correction is None else correction)
    if rest <= 0:
        raise ImportFailure(f"{place(node)}: expects more numbers than the correction but got "
                            f"{count}")
    variance = graph.binary("arith.divf", square, graph.constant(rest, square.shape, x.element))
    return graph.reshape(graph.cast(variance, element_of(result.dtype)), result.shape)


@handles("aten.cumsum.default")
def convert_cumsum(importer: Importer, node: Any) -> Value:
    """A cumulative sum: a matmul with a triangle of ones in at least f32; exact for integers."""
    x, graph = importer.value(node.args[0]), importer.graph
    dim, element = positive(node.args[1], len(x.shape)), element_of(node.meta["val"].dtype)
    if not x.is_float:
        return groups.integer_cumsum(graph, graph.cast(x, element), dim)
    wide, size = graph.cast(x, x.element if x.bits >= 32 else "f32"), x.shape[dim]
    letters = LETTERS[2:2 + len(x.shape)]
    left = letters[:dim] + "b" + letters[dim + 1:]
    total = graph.einsum(left, "ab", left.replace("b", "a"), wide,
                         graph.cast(groups.triangle(graph, size), wide.element))
    return graph.cast(total, element)


@handles("aten.softmax.int", "aten._softmax.default")
def convert_softmax(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    dim = positive(node.args[1], len(x.shape))
    rows = importer.rows(x) if dim == len(x.shape) - 1 else x
    y = importer.graph.op(f"nn.softmax {rows.name} dim {len(rows.shape) - len(x.shape) + dim} : "
                          f"{rows.type}", rows.shape, x.element)
    return importer.merged(y, x.shape)


@handles("aten.log_softmax.int", "aten._log_softmax.default")
def convert_log_softmax(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    return groups.log_softmax(importer.graph, x, positive(node.args[1], len(x.shape)))


@handles("aten.logsumexp.default")
def convert_logsumexp(importer: Importer, node: Any) -> Value:
    result = node.meta["val"]
    x = importer.graph.cast(importer.value(node.args[0]), element_of(result.dtype))
    return importer.graph.reshape(
        groups.logsumexp(importer.graph, x, dimensions(node, 1, x)), result.shape)


def vector(importer: Importer, node: Any, item: Any, like: Value, number: float) -> Value:
    if item is None:
        return importer.graph.constant(number, like.shape[-1:], like.element)
    return importer.value(item)


@handles("aten.layer_norm.default")
def convert_layer_norm(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    if list(node.args[1]) != list(x.shape[-1:]):
        raise ImportFailure(f"{place(node)}: expects a norm of the last dimension but got "
                            f"{list(node.args[1])}")
    gamma = vector(importer, node, argument(node, 2, "weight"), x, 1)
    beta = vector(importer, node, argument(node, 3, "bias"), x, 0)
    eps = groups.literal_eps(argument(node, 4, "eps", 1e-5))
    return importer.graph.op(
        f"nn.layer_norm {x.name}, {gamma.name}, {beta.name} eps {eps} : {x.type}, {gamma.type}, "
        f"{beta.type}", x.shape, x.element)


@handles("aten.rms_norm.default")
def convert_rms_norm(importer: Importer, node: Any) -> Value:
    x, eps = importer.value(node.args[0]), argument(node, 3, "eps")
    if list(node.args[1]) != list(x.shape[-1:]):
        raise ImportFailure(f"{place(node)}: expects a norm of the last dimension but got "
                            f"{list(node.args[1])}")
    # torch computes norms of 16-bit floats in f32.
    eps = torch.finfo(torch.float64 if x.element == "f64" else torch.float32).eps \
        if eps is None else eps
    gamma = vector(importer, node, argument(node, 2, "weight"), x, 1)
    return importer.graph.op(f"nn.rms_norm {x.name}, {gamma.name} eps {groups.literal_eps(eps)} : "
                             f"{x.type}, {gamma.type}", x.shape, x.element)


@handles("aten.cross_entropy_loss.default")
def convert_cross_entropy(importer: Importer, node: Any) -> Value:
    logits, labels = (importer.value(item) for item in node.args[:2])
    kind, ignore = argument(node, 3, "reduction", 1), argument(node, 4, "ignore_index", -100)
    if argument(node, 2, "weight") is not None or argument(node, 5, "label_smoothing", 0.0):
        raise ImportFailure(f"{place(node)}: expects a cross entropy without weights and smoothing")
    if labels.shape != logits.shape[:1] * (len(logits.shape) > 1) + logits.shape[2:]:
        raise ImportFailure(f"{place(node)}: expects labels that are ids")
    if len(logits.shape) > 2:
        # The classes of more than two dimensions are in dimension 1.
        logits = importer.graph.transpose(logits, [0, *range(2, len(logits.shape)), 1])
    logits, labels = importer.unmerged_rows(logits, labels)
    kinds = ("none", "mean", "sum")
    result = importer.cross_entropy(logits, labels, ignore, kinds[kind],
                                    element_of(node.meta["val"].dtype))
    return importer.merged(result, node.meta["val"].shape)
