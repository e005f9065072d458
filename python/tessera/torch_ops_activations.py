"""Converts activations of torch. Their gradients are torch's also where two pieces meet."""

from __future__ import annotations

from typing import Any

from . import groups
from .errors import ImportFailure
from .graph_text import Value
from .torch_importer import Importer, argument, handles, positive


@handles("aten.relu.default")
def convert_relu(importer: Importer, node: Any) -> Value:
    return groups.relu(importer.graph, importer.operand(node, node.args[0]))


@handles("aten.gelu.default")
def convert_gelu(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    kind = "tanh" if argument(node, 1, "approximate", "none") == "tanh" else "erf"
    return importer.graph.unary(f"nn.gelu <{kind}>", x)


@handles("aten.silu.default")
def convert_silu(importer: Importer, node: Any) -> Value:
    return importer.graph.unary("nn.silu", importer.value(node.args[0]))


@handles("aten.leaky_relu.default")
def convert_leaky_relu(importer: Importer, node: Any) -> Value:
    x, graph = importer.operand(node, node.args[0]), importer.graph
    slope = argument(node, 1, "negative_slope", 0.01)
    return graph.select(graph.compare("gt", x, 0), x, graph.arith("mul", x, slope))


@handles("aten.rrelu.default")
def convert_random_relu(importer: Importer, node: Any) -> Value:
    """A leaky ReLU with the mean slope, as in eval mode."""
    if argument(node, 3, "training", False):
        raise ImportFailure("expects rrelu in eval mode, whose slope is not random")
    x, graph = importer.operand(node, node.args[0]), importer.graph
    slope = (argument(node, 1, "lower", 1 / 8) + argument(node, 2, "upper", 1 / 3)) / 2
    return graph.select(graph.compare("gt", x, 0), x, graph.arith("mul", x, slope))


@handles("aten._prelu_kernel.default")
def convert_parametric_relu(importer: Importer, node: Any) -> Value:
    x, weight = (importer.operand(node, item) for item in node.args[:2])
    graph = importer.graph
    return graph.select(graph.compare("gt", x, 0), x, graph.arith("mul", weight, x))


def exponential_linear(importer: Importer, node: Any, alpha: float, scale: float,
                       input_scale: float) -> Value:
    """scale x, or scale alpha (exp(input_scale x) - 1) for x up to 0, in at least f32; the
    exponential and the gradients stay finite."""
    x, graph = importer.operand(node, node.args[0]), importer.graph
    element, x = x.element, groups.wide(graph, x)
    is_above = graph.compare("gt", x, 0)
    low = graph.select(is_above, 0, x)
    low = low if input_scale == 1 else graph.arith("mul", low, input_scale)
    low = graph.arith("mul", graph.unary("math.expm1", low), alpha * scale)
    high = x if scale == 1 else graph.arith("mul", x, scale)
    return graph.cast(graph.select(is_above, high, low), element)


@handles("aten.elu.default")
def convert_elu(importer: Importer, node: Any) -> Value:
    return exponential_linear(importer, node, argument(node, 1, "alpha", 1),
                              argument(node, 2, "scale", 1), argument(node, 3, "input_scale", 1))


@handles("aten.celu.default")
def convert_celu(importer: Importer, node: Any) -> Value:
    alpha = argument(node, 1, "alpha", 1)
    return exponential_linear(importer, node, alpha, 1, 1 / alpha)


@handles("aten.softplus.default")
def convert_softplus(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    return groups.softplus(importer.graph, x, argument(node, 1, "beta", 1),
                           argument(node, 2, "threshold", 20))


def log_sigmoid(importer: Importer, x: Value) -> Value:
    """min(x, 0) - log(1 + exp(-|x|)), in at least f32; its gradient is finite."""
    graph, element = importer.graph, x.element
    x = groups.wide(graph, x)
    is_below = graph.compare("lt", x, 0)
    power = graph.unary("math.exp", graph.select(is_below, x, graph.unary("arith.negf", x)))
    y = graph.arith("sub", graph.select(is_below, x, 0), graph.unary("math.log1p", power))
    return graph.cast(y, element)


@handles("aten.log_sigmoid.default")
def convert_log_sigmoid(importer: Importer, node: Any) -> Value:
    return log_sigmoid(importer, importer.operand(node, node.args[0]))


@handles("aten.mish.default")
def convert_mish(importer: Importer, node: Any) -> Value:
    """x tanh(log(1 + exp(x))), in at least f32."""
    x, graph = importer.operand(node, node.args[0]), importer.graph
    wide = groups.wide(graph, x)
    smooth = graph.unary("math.tanh", groups.softplus(graph, wide, 1, 20))
    return graph.cast(graph.arith("mul", wide, smooth), x.element)


@handles("aten.glu.default")
def convert_glu(importer: Importer, node: Any) -> Value:
    """The first half of a dimension times the sigmoid of the second, in at least f32."""
    x, graph = importer.value(node.args[0]), importer.graph
    dim = positive(argument(node, 1, "dim", -1), len(x.shape))
    half = x.shape[dim] // 2
    value, gate = (groups.wide(graph, graph.slice(x, dim, start, half)) for start in (0, half))
    return graph.cast(graph.arith("mul", value, groups.sigmoid(graph, gate)), x.element)


def bounded(importer: Importer, x: Value, y: Value, low: tuple[float, float],
            high: tuple[float, float]) -> Value:
    """y, or from x = low[0] down low[1], from x = high[0] up high[1], both without a gradient."""
    graph = importer.graph
    y = graph.select(graph.compare("ge", x, high[0]), high[1], y)
    return graph.select(graph.compare("le", x, low[0]), low[1], y)


@handles("aten.hardtanh.default")
def convert_hard_tanh(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    low, high = argument(node, 1, "min_val", -1), argument(node, 2, "max_val", 1)
    return bounded(importer, x, x, (low, low), (high, high))


@handles("aten.hardsigmoid.default")
def convert_hard_sigmoid(importer: Importer, node: Any) -> Value:
    """(x + 3) / 6 between 0 and 1, in at least f32."""
    x, graph = importer.operand(node, node.args[0]), importer.graph
    wide = groups.wide(graph, x)
    y = graph.arith("div", graph.arith("add", wide, 3), 6)
    return graph.cast(bounded(importer, wide, y, (-3, 0), (3, 1)), x.element)


@handles("aten.hardswish.default")
def convert_hard_swish(importer: Importer, node: Any) -> Value:
    """x (x + 3) / 6; 0 from -3 down and x from 3 up. In at least f32."""
    x, graph = importer.operand(node, node.args[0]), importer.graph
    wide = groups.wide(graph, x)
    y = graph.arith("mul", wide, graph.arith("div", graph.arith("add", wide, 3), 6))
    y = graph.select(graph.compare("ge", wide, 3), wide, y)
    return graph.cast(graph.select(graph.compare("le", wide, -3), 0, y), x.element)


@handles("aten.hardshrink.default", "aten.softshrink.default")
def convert_shrink(importer: Importer, node: Any) -> Value:
    """0 between -lambda and lambda; other numbers as they are, or nearer to 0 by lambda."""
    x, graph, limit = importer.operand(node, node.args[0]), importer.graph, \
        argument(node, 1, "lambd", 0.5)
    y = x
    if str(node.target) == "aten.softshrink.default":
        up, down = graph.arith("sub", x, limit), graph.arith("add", x, limit)
        y = graph.select(graph.compare("gt", x, limit), up, down)
    is_between = graph.binary("arith.andi", graph.compare("ge", x, -limit),
                              graph.compare("le", x, limit))
    return graph.select(is_between, 0, y)


@handles("aten.threshold.default")
def convert_threshold(importer: Importer, node: Any) -> Value:
    x, graph = importer.operand(node, node.args[0]), importer.graph
    return graph.select(graph.compare("le", x, node.args[1]), node.args[2], x)
