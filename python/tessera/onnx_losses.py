"""Converts the losses of ONNX, whose classes are in dimension 1."""

from __future__ import annotations

from typing import Any

from . import groups
from .errors import ImportFailure
from .graph_text import Graph, Value
from .onnx_importer import Importer, attribute, handles


# Losses.

def classes_last(graph: Graph, x: Value) -> Value:
    return graph.transpose(x, [0, *range(2, len(x.shape)), 1])


def check_reduction(node: Any) -> str:
    kind = str(attribute(node, "reduction", "mean"))
    if kind not in ("none", "sum", "mean"):
        raise ImportFailure(f"expects a reduction of none, sum or mean but got {kind}")
    return kind


def pick_loss(importer: Importer, node: Any, logs: Value) -> Value:
    """Minus the logarithm of each label's class times the weight of the class; 0 for a label that
    is ignored. A mean is over the weights of the labels that count."""
    graph, kind = importer.graph, check_reduction(node)
    labels, weights = importer.value(node.input[1]), importer.operand(node, 2)
    logs, element = classes_last(graph, logs), logs.element
    logs = groups.wide(graph, logs)
    if labels.shape != logs.shape[:-1]:
        raise ImportFailure(f"expects labels of {list(logs.shape[:-1])} but got {labels.type}")
    ignored, counted = attribute(node, "ignore_index"), None
    importer.check_ids(node.input[1], logs.shape[-1], ignored)
    zero = graph.constant(0, labels.shape, logs.element)
    if ignored is not None:
        limit = graph.constant(ignored, labels.shape, labels.element)
        counted = graph.compare("ne", labels, limit)
        labels = graph.select(counted, labels, graph.constant(0, labels.shape, labels.element))
    weight = graph.constant(1, labels.shape, logs.element)
    if weights is not None:
        spread = graph.broadcast(graph.cast(weights, logs.element), logs.shape,
                                 [len(logs.shape) - 1])
        logs = graph.binary("arith.mulf", logs, spread)
        weight = importer.take(spread, labels)
    each = graph.unary("arith.negf", importer.take(logs, labels))
    if counted is not None:
        each, weight = (graph.select(counted, value, zero) for value in (each, weight))
    if kind == "none":
        return graph.cast(each, element)
    dims = range(len(labels.shape))
    total = graph.reduce("sum", each, dims)
    if kind == "sum":
        return graph.cast(total, element)
    count = graph.reduce("sum", weight, dims)
    mean = graph.cast(graph.binary("arith.divf", total, count), element)
    if weights is None:
        importer.losses[mean] = [("loss", mean), ("loss_sum", total), ("tokens", count)]
    return mean


@handles("NegativeLogLikelihoodLoss")
def convert_likelihood(importer: Importer, node: Any) -> Value:
    return pick_loss(importer, node, importer.value(node.input[0]))


@handles("SoftmaxCrossEntropyLoss")
def convert_cross_entropy(importer: Importer, node: Any) -> list[Value]:
    """The loss and the logarithms of the softmax. A loss without weights is nn.cross_entropy."""
    x, graph = importer.value(node.input[0]), importer.graph
    logs = None
    if importer.has(node, 2) or (len(node.output) > 1 and node.output[1] in importer.uses):
        logs = groups.log_softmax(graph, x, 1)
    if importer.has(node, 2):
        assert logs is not None
        return [pick_loss(importer, node, logs), logs]
    kind, ignored = check_reduction(node), attribute(node, "ignore_index")
    importer.check_ids(node.input[1], x.shape[1], ignored)
    logits, labels = importer.unmerged_rows(classes_last(graph, x), importer.value(node.input[1]))
    each = importer.cross_entropy(logits, labels, -100 if ignored is None else ignored, kind,
                                  logits.element)
    if kind == "none":
        each = importer.merged(each, importer.value(node.input[1]).shape)
    return [each] if logs is None else [each, logs]
