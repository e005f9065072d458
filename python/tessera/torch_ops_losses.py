"""Converts losses of torch."""

from __future__ import annotations

from typing import Any

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import Value
from .torch_importer import Importer, argument, handles
from .torch_ops_activations import log_sigmoid
from .torch_ops_composites import expand
from .torch_ops_elementwise import with_slope

# Values of torch's argument `reduction`.
REDUCTIONS = ("none", "mean", "sum")


def reduce_loss(importer: Importer, node: Any, each: Value, index: int) -> Value:
    """The losses of elements, their mean or their sum, as the argument `reduction` says. Losses of
    16 bits are rounded, and reduced in f32."""
    kind, graph = REDUCTIONS[argument(node, index, "reduction", 1)], importer.graph
    each, dims = graph.cast(each, importer.element_of(node)), range(len(each.shape))
    if kind == "mean":
        each = groups.mean(graph, each, dims)
    elif kind == "sum":
        each = graph.reduce("sum", groups.wide(graph, each), dims)
    return graph.cast(each, importer.element_of(node))


def operands(importer: Importer, node: Any, count: int = 2) -> list[Value]:
    """The first arguments in the result's element type, at least f32, in one shape."""
    element = importer.element_of(node)
    values = [groups.wide(importer.graph, importer.graph.cast(importer.value(item), element))
              for item in node.args[:count]]
    shape = torch.broadcast_shapes(*(value.shape for value in values))
    return [importer.graph.expand(value, shape) for value in values]


@handles("aten.cross_entropy_loss.default")
def convert_cross_entropy(importer: Importer, node: Any) -> Value:
    logits, labels = (importer.value(item) for item in node.args[:2])
    kind, ignore = argument(node, 3, "reduction", 1), argument(node, 4, "ignore_index", -100)
    is_plain = argument(node, 2, "weight") is None and not argument(node, 5, "label_smoothing", 0.0)
    if labels.is_float or not is_plain:
        result: Value = expand(importer, node)
        return result
    if len(logits.shape) > 2:
        # The classes of more than two dimensions are in dimension 1.
        logits = importer.graph.transpose(logits, [0, *range(2, len(logits.shape)), 1])
    logits, labels = importer.unmerged_rows(logits, labels)
    result = importer.cross_entropy(logits, labels, ignore, REDUCTIONS[kind],
                                    importer.element_of(node))
    return importer.merged(result, node.meta["val"].shape)


@handles("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")
def convert_likelihood(importer: Importer, node: Any) -> list[Value]:
    """The negative logarithms of the labels' probabilities times the weights of their classes,
    and the sum of these weights; a mean is over that sum. The classes are in dimension 1, or in
    dimension 0 of a vector."""
    x, labels = (importer.value(item) for item in node.args[:2])
    weight, kind, ignore = node.args[2], REDUCTIONS[node.args[3]], node.args[4]
    graph, element = importer.graph, x.element
    x = groups.wide(graph, x)
    order = [0, *range(2, len(x.shape)), 1] if len(x.shape) > 1 else [0]
    x = graph.transpose(x, order)
    counts = graph.compare("ne", labels, ignore)
    safe = graph.select(counts, labels, 0)

    def pick(table: Value) -> Value:
        kind = Value("", labels.shape, table.element)
        return graph.op(f"nn.take_along_axis {table.name}, {safe.name} : {table.type}, "
                        f"{safe.type} -> {kind.type}", labels.shape, table.element)
    weights = graph.cast(counts, x.element)
    if weight is not None:
        row = graph.cast(importer.value(weight), x.element)
        row = graph.broadcast(row, x.shape, [len(x.shape) - 1])
        weights = graph.select(counts, pick(row), 0)
    each = graph.arith("mul", weights, graph.arith("sub", 0, pick(x)))
    each = graph.select(counts, each, 0)
    dims = range(len(each.shape))
    total, loss = graph.reduce("sum", weights, dims), each
    if kind != "none":
        sum_ = loss = graph.reduce("sum", each, dims)
    if kind == "mean":
        loss = graph.cast(graph.arith("div", sum_, total), element)
        if weight is None:
            importer.losses[loss] = [("loss", loss), ("loss_sum", sum_), ("tokens", total)]
    return [graph.cast(loss, element), graph.cast(total, element)]


@handles("aten.mse_loss.default")
def convert_squared_error(importer: Importer, node: Any) -> Value:
    """Squares of differences, which are rounded to 16 bits before, as torch does."""
    difference = importer.graph.arith("sub", *operands(importer, node))
    difference = importer.graph.cast(difference, importer.element_of(node))
    return reduce_loss(importer, node, importer.graph.arith("mul", difference, difference), 2)


@handles("aten.smooth_l1_loss.default", "aten.huber_loss.default")
def convert_smooth_error(importer: Importer, node: Any) -> Value:
    """d^2 / 2 for distances d below the bound, else bound (d - bound / 2); both over the bound in a
    smooth L1 loss."""
    graph, is_huber = importer.graph, str(node.target) == "aten.huber_loss.default"
    bound = argument(node, 3, "delta" if is_huber else "beta", 1.0)
    distance = graph.unary("math.absf", graph.arith("sub", *operands(importer, node)))
    if not bound:
        return reduce_loss(importer, node, distance, 2)
    half = graph.arith("mul", distance, 0.5)
    square = graph.arith("mul", half, distance)
    line = graph.arith("sub", distance, bound / 2)
    if is_huber:
        line = graph.arith("mul", line, bound)
    else:
        square = graph.arith("div", square, bound)
    each = graph.select(graph.compare("lt", distance, bound), square, line)
    return reduce_loss(importer, node, each, 2)


@handles("aten.soft_margin_loss.default")
def convert_soft_margin(importer: Importer, node: Any) -> Value:
    graph = importer.graph
    product = graph.arith("mul", *operands(importer, node))
    power = graph.unary("math.exp", graph.unary("arith.negf", product))
    return reduce_loss(importer, node, graph.unary("math.log1p", power), 2)


def weighted(importer: Importer, node: Any, each: Value, index: int) -> Value:
    """Losses of elements times a weight, if there is one."""
    item = argument(node, index, "weight")
    if item is None:
        return each
    weight = importer.graph.cast(importer.value(item), each.element)
    return importer.graph.arith("mul", each, importer.graph.expand(weight, each.shape))


@handles("aten.binary_cross_entropy_with_logits.default")
def convert_logistic_loss(importer: Importer, node: Any) -> Value:
    """(1 - t) x - (1 + (positive weight - 1) t) log(sigmoid(x)) for logits x and targets t."""
    (x, target), graph = operands(importer, node), importer.graph
    logarithm, positive = log_sigmoid(importer, x), argument(node, 3, "pos_weight")
    if positive is not None:
        factor = graph.arith("sub", graph.cast(importer.value(positive), x.element), 1)
        factor = graph.arith("mul", graph.expand(factor, x.shape), target)
        logarithm = graph.arith("mul", graph.arith("add", factor, 1), logarithm)
    rest = graph.arith("mul", graph.arith("sub", 1, target), x)
    each = weighted(importer, node, graph.arith("sub", rest, logarithm), 2)
    return reduce_loss(importer, node, each, 4)


@handles("aten.binary_cross_entropy.default")
def convert_binary_cross_entropy(importer: Importer, node: Any) -> Value:
    """-t log(p) - (1 - t) log(1 - p) with logarithms of at least -100. The derivative by p is
    torch's (p - t) / max(p (1 - p), 1e-12)."""
    if node.args[1] in importer.trained:
        raise ImportFailure("expects binary_cross_entropy of targets without gradients, which may "
                            "be infinite; detach them")
    (p, target), graph = operands(importer, node), importer.graph
    stopped = importer.stop_gradient(p)
    rest = graph.arith("sub", 1, stopped)
    low = graph.constant(-100, p.shape, p.element)
    yes = groups.clamp(graph, graph.unary("math.log", stopped), low, None)
    no = groups.clamp(graph, graph.unary("math.log1p", graph.unary("arith.negf", stopped)), low,
                      None)
    each = graph.arith("sub", graph.arith("mul", graph.arith("sub", target, 1), no),
                       graph.arith("mul", target, yes))
    if node.args[0] in importer.trained:
        least = graph.constant(1e-12, p.shape, p.element)
        slope = graph.arith("div", graph.arith("sub", stopped, target), groups.clamp(
            graph, graph.arith("mul", stopped, rest), least, None))
        each = with_slope(importer, each, p, slope)
    return reduce_loss(importer, node, weighted(importer, node, each, 2), 3)


@handles("aten.cosine_similarity.default")
def convert_cosine_similarity(importer: Importer, node: Any) -> Value:
    """The dot product of two vectors over their lengths. A length below eps becomes eps, with the
    gradient of the length, and a length of 0 has no gradient."""
    (x, y), graph = operands(importer, node), importer.graph
    dim, eps = argument(node, 2, "dim", 1) % len(x.shape), argument(node, 3, "eps", 1e-8)
    kept = [i for i in range(len(x.shape)) if i != dim]

    def unit(vector: Value) -> Value:
        square = graph.reduce("sum", graph.arith("mul", vector, vector), [dim])
        length = groups.root(graph, square)
        moved = graph.arith("sub", length, importer.stop_gradient(length))
        longer = graph.select(graph.compare("lt", length, eps), graph.arith("add", moved, eps),
                              length)
        return graph.arith("div", vector, graph.broadcast(longer, vector.shape, kept))
    result = graph.reduce("sum", graph.arith("mul", unit(x), unit(y)), [dim])
    return graph.cast(result, importer.element_of(node))
