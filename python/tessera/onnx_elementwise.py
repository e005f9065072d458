"""Converts activations, remainders and other elementwise ops of ONNX. Where an op's formula
overflows or has no gradient, a select keeps results and gradients finite."""

from __future__ import annotations

import math
from typing import Any

from . import groups
from .errors import ImportFailure
from .graph_text import Graph, Value
from .onnx_importer import HANDLERS, Importer, attribute, handles


# Elementwise.

def splat(graph: Graph, number: float, like: Value) -> Value:
    return graph.constant(number, like.shape, like.element)


def scaled(graph: Graph, x: Value, factor: float) -> Value:
    return x if factor == 1 else graph.binary("arith.mulf", x, splat(graph, factor, x))


def choose_above(graph: Graph, x: Value, bound: float, above: Value, other: Value) -> Value:
    """Elements of `above` where x is above a bound, else of `other`."""
    return graph.select(graph.compare("gt", x, splat(graph, bound, x)), above, other)


def exponential(graph: Graph, x: Value, alpha: float, divisor: float = 1) -> Value:
    """alpha (exp(x / divisor) - 1) for x below 0; the exponential of the others is 1."""
    low = choose_above(graph, x, 0, splat(graph, 0, x), x)
    if divisor != 1:
        low = graph.binary("arith.divf", low, splat(graph, divisor, x))
    return scaled(graph, graph.unary("math.expm1", low), alpha)


def softplus(graph: Graph, x: Value) -> Value:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), precise for every x."""
    zero = splat(graph, 0, x)
    is_below = graph.compare("lt", x, zero)
    size = graph.select(is_below, x, graph.unary("arith.negf", x))
    rest = graph.unary("math.log1p", graph.unary("math.exp", size))
    return graph.binary("arith.addf", graph.select(is_below, zero, x), rest)


def hard_sigmoid(graph: Graph, x: Value, alpha: float, beta: float) -> Value:
    y = graph.binary("arith.addf", scaled(graph, x, alpha), splat(graph, beta, x))
    return groups.clamp(graph, y, splat(graph, 0, x), splat(graph, 1, x))


# The constants of Selu.
SELU_ALPHA, SELU_GAMMA = 1.6732632, 1.050701


def activation(importer: Importer, node: Any) -> Value:
    """The activations of one operand. Source of the formulas: ONNX's operator schemas."""
    graph, x, name = importer.graph, importer.value(node.input[0]), node.op_type
    if not x.is_float:
        raise ImportFailure(f"expects floats but got {x.type}")
    alpha = attribute(node, "alpha", DEFAULTS[name])
    if name == "LeakyRelu":
        slope = scaled(graph, x, alpha)
        return graph.select(graph.compare("lt", x, splat(graph, 0, x)), slope, x)
    if name == "ThresholdedRelu":
        return choose_above(graph, x, alpha, x, splat(graph, 0, x))
    if name == "Elu":
        return choose_above(graph, x, 0, x, exponential(graph, x, alpha))
    if name == "Celu":
        return choose_above(graph, x, 0, x, exponential(graph, x, alpha, alpha))
    if name == "Selu":
        gamma = attribute(node, "gamma", SELU_GAMMA)
        return scaled(graph, choose_above(graph, x, 0, x, exponential(graph, x, alpha)), gamma)
    return hard_sigmoid(graph, x, alpha, attribute(node, "beta", 0.5))


DEFAULTS = {"LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "Elu": 1.0, "Celu": 1.0,
            "Selu": SELU_ALPHA, "HardSigmoid": 0.2}
for _name in DEFAULTS:
    HANDLERS[_name] = activation


@handles("HardSwish")
def convert_hard_swish(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    return graph.binary("arith.mulf", x, hard_sigmoid(graph, x, 1 / 6, 0.5))


@handles("Softplus")
def convert_softplus(importer: Importer, node: Any) -> Value:
    return softplus(importer.graph, importer.value(node.input[0]))


@handles("Mish")
def convert_mish(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    return graph.binary("arith.mulf", x, graph.unary("math.tanh", softplus(graph, x)))


@handles("Softsign")
def convert_softsign(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    size = graph.binary("arith.addf", splat(graph, 1, x), graph.unary("math.absf", x))
    return graph.binary("arith.divf", x, size)


@handles("PRelu")
def convert_prelu(importer: Importer, node: Any) -> Value:
    x, slope = (importer.value(item) for item in node.input)
    graph = importer.graph
    if not x.is_float:
        raise ImportFailure(f"expects floats but got {x.type}")
    low = graph.binary("arith.mulf", x, graph.expand(slope, x.shape))
    return graph.select(graph.compare("lt", x, splat(graph, 0, x)), low, x)


@handles("Shrink")
def convert_shrink(importer: Importer, node: Any) -> Value:
    """x + bias below -lambd, x - bias above lambd, else 0."""
    x, graph = importer.value(node.input[0]), importer.graph
    if not x.is_float:
        raise ImportFailure(f"expects floats but got {x.type}")
    bias, limit = splat(graph, attribute(node, "bias", 0.0), x), attribute(node, "lambd", 0.5)
    high = choose_above(graph, x, limit, graph.binary("arith.subf", x, bias), splat(graph, 0, x))
    is_below = graph.compare("lt", x, splat(graph, -limit, x))
    return graph.select(is_below, graph.binary("arith.addf", x, bias), high)


@handles("Sign")
def convert_sign(importer: Importer, node: Any) -> Value:
    """1, -1 or 0, and NaN for NaN; constants, so that no gradient passes."""
    x, graph = importer.value(node.input[0]), importer.graph
    zero = splat(graph, 0, x)
    sign = graph.select(graph.compare("lt", x, zero), splat(graph, -1, x), zero)
    sign = graph.select(graph.compare("gt", x, zero), splat(graph, 1, x), sign)
    if not x.is_float:
        return sign
    is_nan = graph.op(f"arith.cmpf uno, {x.name}, {x.name} : {x.type}", x.shape, "i1")
    return graph.select(is_nan, splat(graph, math.nan, x), sign)


@handles("Mod")
def convert_mod(importer: Importer, node: Any) -> Value:
    """A remainder: with fmod of the sign of the dividend, else, of integers, of the divisor."""
    x, y = importer.operands(node)
    graph, is_fmod = importer.graph, bool(attribute(node, "fmod", 0))
    if x.element == "i1" or (x.is_float and not is_fmod):
        raise ImportFailure(f"expects integers, or floats with fmod = 1, but got {x.type}")
    if x.is_float:
        return graph.binary("arith.remf", x, y)
    rest = graph.binary("arith.remsi", x, y)
    if is_fmod:
        return rest
    zero = splat(graph, 0, x)
    differs = graph.binary("arith.xori", graph.compare("lt", rest, zero),
                           graph.compare("lt", y, zero))
    is_moved = graph.binary("arith.andi", differs, graph.compare("ne", rest, zero))
    return graph.select(is_moved, graph.binary("arith.addi", rest, y), rest)


@handles("IsInf")
def convert_is_inf(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    found = splat(graph, False, Value("", x.shape, "i1"))
    for name, number in (("detect_negative", -math.inf), ("detect_positive", math.inf)):
        if attribute(node, name, 1):
            found = graph.binary("arith.ori", found,
                                 graph.compare("eq", x, splat(graph, number, x)))
    return found


for _name, _op in {"Tan": "math.tan", "Sinh": "math.sinh", "Cosh": "math.cosh",
                   "Atan": "math.atan"}.items():
    HANDLERS[_name] = lambda importer, node, op=_op: importer.graph.unary(
        op, importer.value(node.input[0]))


@handles("Asin", "Acos")
def convert_inverse(importer: Importer, node: Any) -> Value:
    """The angle of the point (sqrt(1 - x^2), x), whose gradient is known, or of (x, sqrt(...))."""
    x, graph = importer.value(node.input[0]), importer.graph
    one = splat(graph, 1, x)
    rest = graph.unary("math.sqrt", graph.binary(
        "arith.mulf", graph.binary("arith.subf", one, x), graph.binary("arith.addf", one, x)))
    sides = (x, rest) if node.op_type == "Asin" else (rest, x)
    return graph.binary("math.atan2", *sides)


@handles("Atanh")
def convert_atanh(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    parts = (graph.unary("math.log1p", value) for value in (x, graph.unary("arith.negf", x)))
    return scaled(graph, graph.binary("arith.subf", *parts), 0.5)


@handles("Acosh")
def convert_acosh(importer: Importer, node: Any) -> Value:
    """log(x + sqrt((x - 1) (x + 1))), by roots that do not overflow."""
    x, graph = importer.value(node.input[0]), importer.graph
    one = splat(graph, 1, x)
    low, high = (graph.binary(op, x, one) for op in ("arith.subf", "arith.addf"))
    rest = graph.binary("arith.mulf", *(graph.unary("math.sqrt", part) for part in (low, high)))
    return graph.unary("math.log1p", graph.binary("arith.addf", low, rest))


for _name, _op in {"And": "andi", "Or": "ori", "Xor": "xori"}.items():
    def _bitwise(importer: Importer, node: Any, op: str = _op) -> Value:
        x, y = importer.operands(node)
        if x.is_float or x.element == "i1":
            raise ImportFailure(f"expects integers but got {x.type}")
        return importer.graph.binary(f"arith.{op}", x, y)
    HANDLERS[f"Bitwise{_name}"] = _bitwise


@handles("BitwiseNot")
def convert_bitwise_not(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.input[0]), importer.graph
    if x.is_float or x.element == "i1":
        raise ImportFailure(f"expects integers but got {x.type}")
    return graph.binary("arith.xori", x, splat(graph, -1, x))
