"""Converts elementwise ops and activations of torch, casts and copies."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import Value
from .torch_importer import (HANDLERS, IDENTITIES, Importer, argument, element_of, handles,
                             is_random, place)

for _name, _op in {"neg": "arith.negf", "exp": "math.exp", "log": "math.log", "tanh": "math.tanh",
                   "rsqrt": "math.rsqrt", "sqrt": "math.sqrt", "erf": "math.erf",
                   "abs": "math.absf", "cos": "math.cos", "sin": "math.sin", "log1p": "math.log1p",
                   "expm1": "math.expm1", "floor": "math.floor", "ceil": "math.ceil",
                   "round": "math.roundeven", "trunc": "math.trunc", "tan": "math.tan",
                   "sinh": "math.sinh", "cosh": "math.cosh", "atan": "math.atan",
                   "exp2": "math.exp2", "log2": "math.log2", "log10": "math.log10"}.items():
    def _unary(importer: Importer, node: Any, op: str = _op) -> Value:
        x, graph = importer.operand(node, node.args[0]), importer.graph
        if x.is_float:
            return graph.unary(op, x)
        if op in ("arith.negf", "math.absf"):
            negative = graph.arith("sub", 0, x)
            return negative if op == "arith.negf" else graph.binary("arith.maxsi", x, negative)
        # Integers are rounded already.
        return x
    HANDLERS[f"aten.{_name}.default"] = _unary


def binary_op(importer: Importer, node: Any, floats: str, integers: str | None,
              bools: str | None = None) -> Value:
    x, y = (importer.operand(node, node.args[i]) for i in (0, 1))
    name = floats if x.is_float else bools if x.element == "i1" else integers
    if name is None:
        raise ImportFailure(f"{place(node)}: expects other elements of {node.target} but got "
                            f"{x.type}")
    alpha = argument(node, 2, "alpha", 1)
    if alpha != 1:
        scale = importer.graph.constant(alpha, y.shape, y.element)
        y = importer.graph.binary("arith.mulf" if y.is_float else "arith.muli", y, scale)
    return importer.graph.binary(name, x, y)


for _names, _ops in {("add.Tensor", "add.Scalar"): ("arith.addf", "arith.addi", "arith.ori"),
                     ("sub.Tensor", "sub.Scalar"): ("arith.subf", "arith.subi"),
                     ("mul.Tensor", "mul.Scalar"): ("arith.mulf", "arith.muli", "arith.andi"),
                     ("div.Tensor", "div.Scalar"): ("arith.divf", None),
                     ("maximum.default", "max.other"): ("arith.maximumf", "arith.maxsi"),
                     ("minimum.default", "min.other"): ("arith.minimumf", "arith.minsi"),
                     ("__and__.Tensor", "bitwise_and.Tensor", "logical_and.default"):
                         (None, "arith.andi", "arith.andi"),
                     ("__or__.Tensor", "bitwise_or.Tensor", "logical_or.default"):
                         (None, "arith.ori", "arith.ori"),
                     ("__xor__.Tensor", "bitwise_xor.Tensor", "logical_xor.default"):
                         (None, "arith.xori", "arith.xori")}.items():
    def _binary(importer: Importer, node: Any, ops: tuple = _ops) -> Value:
        return binary_op(importer, node, *ops)
    for _name in _names:
        HANDLERS[f"aten.{_name}"] = _binary

for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    def _compare(importer: Importer, node: Any, predicate: str = _name) -> Value:
        parts = [item.meta["val"] if isinstance(item, torch.fx.Node) else item
                 for item in node.args[:2]]
        common = torch.result_type(*parts)
        like = Value("", (), element_of(common))
        x, y = (importer.operand(node, item, like) for item in node.args[:2])
        return importer.graph.compare(predicate, x, y)
    HANDLERS[f"aten.{_name}.Tensor"] = HANDLERS[f"aten.{_name}.Scalar"] = _compare


@handles("aten.rsub.Tensor", "aten.rsub.Scalar")
def convert_reversed_subtraction(importer: Importer, node: Any) -> Value:
    x, y, graph = *(importer.operand(node, item) for item in node.args[:2]), importer.graph
    alpha = argument(node, 2, "alpha", 1)
    if alpha != 1:
        x = graph.binary("arith.mulf" if x.is_float else "arith.muli", x,
                         graph.constant(alpha, x.shape, x.element))
    return graph.binary("arith.subf" if x.is_float else "arith.subi", y, x)


@handles("aten.pow.Tensor_Scalar", "aten.square.default")
def convert_power(importer: Importer, node: Any) -> Value:
    x, exponent = importer.operand(node, node.args[0]), argument(node, 1, "exponent", 2)
    if not x.is_float and exponent not in (1, 2, 3, 4):
        raise ImportFailure(f"{place(node)}: expects floats but got {x.type}")
    return groups.power(importer.graph, x, exponent)


@handles("aten.pow.Scalar")
def convert_power_of(importer: Importer, node: Any) -> Value:
    x, base = importer.operand(node, node.args[1]), node.args[0]
    if not x.is_float or base <= 0:
        raise ImportFailure(f"{place(node)}: expects a positive number to the power of floats but "
                            f"got {base} and {x.type}")
    factor = importer.graph.constant(math.log(base), x.shape, x.element)
    return importer.graph.unary("math.exp", importer.graph.binary("arith.mulf", x, factor))


@handles("aten.reciprocal.default")
def convert_reciprocal(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    return importer.graph.binary("arith.divf", importer.graph.constant(1, x.shape, x.element), x)


@handles("aten.sigmoid.default")
def convert_sigmoid(importer: Importer, node: Any) -> Value:
    return groups.sigmoid(importer.graph, importer.operand(node, node.args[0]))


@handles("aten.positive.default")
def convert_positive(importer: Importer, node: Any) -> Value:
    return importer.value(node.args[0])


for _name, _factor in {"deg2rad": math.pi / 180, "rad2deg": 180 / math.pi}.items():
    def _scale(importer: Importer, node: Any, factor: float = _factor) -> Value:
        return importer.graph.arith("mul", importer.operand(node, node.args[0]), factor)
    HANDLERS[f"aten.{_name}.default"] = _scale


@handles("aten.copy.default", "aten.fill.Scalar", "aten.fill.Tensor")
def convert_copy(importer: Importer, node: Any) -> Value:
    return importer.operand(node, node.args[1])


@handles("aten.clamp.default", "aten.clamp_min.default")
def convert_clamp(importer: Importer, node: Any) -> Value:
    return clamp_to_numbers(importer, node, argument(node, 1, "min"), argument(node, 2, "max"))


@handles("aten.clamp_max.default")
def convert_clamp_max(importer: Importer, node: Any) -> Value:
    return clamp_to_numbers(importer, node, None, argument(node, 1, "max"))


def clamp_to_numbers(importer: Importer, node: Any, *limits: float | None) -> Value:
    x = importer.operand(node, node.args[0])
    low, high = (None if bound is None else importer.graph.constant(bound, x.shape, x.element)
                 for bound in limits)
    return groups.clamp(importer.graph, x, low, high)


@handles("aten.clamp.Tensor", "aten.clamp_min.Tensor", "aten.clamp_max.Tensor")
def convert_clamp_to_tensors(importer: Importer, node: Any) -> Value:
    """A clamp whose bounds have gradients where they are the result."""
    is_max = str(node.target) == "aten.clamp_max.Tensor"
    bounds = [None, node.args[1]] if is_max else \
        [argument(node, 1, "min"), argument(node, 2, "max")]
    if None not in bounds and any(bound in importer.trained for bound in bounds):
        raise ImportFailure("expects a clamp between bounds without gradients; clamp to one after "
                            "the other")
    x, graph = importer.operand(node, node.args[0]), importer.graph
    for bound, name, beyond in zip(bounds, ("max", "min"), ("lt", "gt")):
        if bound is None:
            continue
        limit = importer.operand(node, bound)
        if not x.is_float:
            x = graph.binary(f"arith.{name}si", x, limit)
            continue
        is_beyond = graph.binary("arith.ori", graph.compare(beyond, x, limit),
                                 graph.compare("ne", limit, limit))
        x = graph.select(is_beyond, limit, x)
    return x


@handles("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def convert_where(importer: Importer, node: Any) -> Value:
    condition = importer.operand(node, node.args[0], Value("", (), "i1"))
    x, y = (importer.operand(node, item) for item in node.args[1:3])
    return importer.graph.select(condition, x, y)


@handles("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def convert_masked_fill(importer: Importer, node: Any) -> Value:
    x, filled = (importer.operand(node, node.args[i]) for i in (0, 2))
    mask = importer.operand(node, node.args[1], Value("", (), "i1"))
    return importer.graph.select(mask, filled, x)


@handles("aten.logical_not.default", "aten.bitwise_not.default")
def convert_not(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    ones = importer.graph.constant(True if x.element == "i1" else -1, x.shape, x.element)
    return importer.graph.binary("arith.xori", x, ones)


@handles("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten._to_copy.default",
         "aten.type_as.default", "aten.to.other", "aten.float.default")
def convert_to(importer: Importer, node: Any) -> Value:
    return importer.graph.cast(importer.value(node.args[0]),
                               element_of(node.meta["val"].dtype))


@handles(*IDENTITIES)
def convert_identity(importer: Importer, node: Any) -> Value:
    if is_random(node):
        raise ImportFailure(f"{place(node)}: expects no dropout (eval mode, or p = 0) but got "
                            f"{node.args[1]}")
    return importer.value(node.args[0])


@handles("aten.detach.default")
def convert_detach(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    if node not in importer.trained:
        return x
    importer.trained.remove(node)
    return importer.stop_gradient(x)


@handles("aten.sign.default", "aten.sgn.default")
def convert_sign(importer: Importer, node: Any) -> Value:
    """The sign, without a gradient; 0 of NaN."""
    x, graph = importer.operand(node, node.args[0]), importer.graph
    if x.element == "i1":
        return x
    negative = graph.select(graph.compare("lt", x, 0), graph.constant(-1, x.shape, x.element), 0)
    return graph.select(graph.compare("gt", x, 0), 1, negative)


@handles("aten.frac.default")
def convert_fraction(importer: Importer, node: Any) -> Value:
    x, graph = importer.operand(node, node.args[0]), importer.graph
    return graph.arith("sub", x, graph.unary("math.trunc", x))


@handles("aten.logit.default")
def convert_logit(importer: Importer, node: Any) -> Value:
    x, graph, eps = importer.operand(node, node.args[0]), importer.graph, argument(node, 1, "eps")
    element, x = x.element, groups.wide(graph, x)
    if eps is not None:
        low, high = (graph.constant(bound, x.shape, x.element) for bound in (eps, 1 - eps))
        x = groups.clamp(graph, x, low, high)
    logarithms = graph.unary("math.log", x), graph.unary("math.log", graph.arith("sub", 1, x))
    return graph.cast(graph.arith("sub", *logarithms), element)


@handles("aten.isnan.default")
def convert_is_nan(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    return importer.graph.compare("ne", x, x)


@handles("aten.isinf.default", "aten.isfinite.default")
def convert_is_infinite(importer: Importer, node: Any) -> Value:
    x, graph = importer.value(node.args[0]), importer.graph
    is_finite = str(node.target) == "aten.isfinite.default"
    if not x.is_float:
        return graph.constant(is_finite, x.shape, "i1")
    size = graph.unary("math.absf", x)
    return graph.compare("lt" if is_finite else "eq", size, math.inf)


@handles("aten.nan_to_num.default")
def convert_nan_to_number(importer: Importer, node: Any) -> Value:
    """Numbers in place of NaN and infinities, which have no gradient."""
    x, graph = importer.operand(node, node.args[0]), importer.graph
    if not x.is_float:
        return x
    largest = torch.finfo(node.meta["val"].dtype).max
    numbers = [argument(node, i, name, default) for i, name, default in
               ((1, "nan", None), (2, "posinf", None), (3, "neginf", None))]
    nan, high, low = (default if number is None else number
                      for number, default in zip(numbers, (0, largest, -largest)))
    y = graph.select(graph.compare("ne", x, x), nan, x)
    y = graph.select(graph.compare("eq", x, math.inf), high, y)
    return graph.select(graph.compare("eq", x, -math.inf), low, y)


@handles("aten.fmax.default", "aten.fmin.default")
def convert_number_extremum(importer: Importer, node: Any) -> Value:
    """The larger or smaller operand that is a number; the first of two equal ones."""
    x, y = (importer.operand(node, item) for item in node.args[:2])
    graph, predicate = importer.graph, "ge" if "fmax" in str(node.target) else "le"
    is_first = graph.binary("arith.ori", graph.compare(predicate, x, y), graph.compare("ne", y, y))
    return graph.select(is_first, x, y)


@handles("aten.atan2.default")
def convert_angle(importer: Importer, node: Any) -> Value:
    """The angle of a point, without a gradient at the origin."""
    x, y = (importer.operand(node, item) for item in node.args[:2])
    graph = importer.graph
    is_origin = graph.binary("arith.andi", graph.compare("eq", x, 0), graph.compare("eq", y, 0))
    angle = graph.binary("math.atan2", x, graph.select(is_origin, 1, y))
    fixed = graph.binary("math.atan2", importer.stop_gradient(x), importer.stop_gradient(y))
    return graph.select(is_origin, fixed, angle)


@handles("aten.pow.Tensor_Tensor")
def convert_power_of_tensors(importer: Importer, node: Any) -> Value:
    x, y = (importer.operand(node, item) for item in node.args[:2])
    if node.args[1] in importer.trained:
        raise ImportFailure("expects pow of an exponent without gradients; write exp(y * log(x))")
    if not x.is_float:
        raise ImportFailure(f"expects pow of floats but got {x.type}")
    return importer.graph.binary("math.powf", x, y)


@handles("aten.xlogy.Tensor", "aten.xlogy.Scalar_Other", "aten.xlogy.Scalar_Self")
def convert_times_logarithm(importer: Importer, node: Any) -> Value:
    """x log(y); 0 where x is 0 and y a number. The derivative by x is log(y), and 0 where x is 0
    and the logarithm no finite number."""
    x, y = (importer.operand(node, item) for item in node.args[:2])
    graph = importer.graph
    has_none = graph.binary("arith.ori", graph.compare("le", y, 0),
                            graph.compare("eq", y, math.inf))
    is_zero = graph.binary("arith.andi", graph.compare("eq", x, 0), has_none)
    return graph.arith("mul", x, graph.select(is_zero, 0, graph.unary("math.log", y)))


@handles("aten.lerp.Scalar", "aten.lerp.Tensor")
def convert_interpolation(importer: Importer, node: Any) -> Value:
    """x + weight (y - x), from the nearer end."""
    x, y, weight = (importer.operand(node, item) for item in node.args[:3])
    graph, element = importer.graph, x.element
    x, y, weight = (groups.wide(graph, item) for item in (x, y, weight))
    step = graph.arith("sub", y, x)
    up = graph.arith("add", x, graph.arith("mul", weight, step))
    down = graph.arith("sub", y, graph.arith("mul", step, graph.arith("sub", 1, weight)))
    size = graph.unary("math.absf", weight)
    return graph.cast(graph.select(graph.compare("lt", size, 0.5), up, down), element)


@handles("aten.addcmul.default", "aten.addcdiv.default")
def convert_add_product(importer: Importer, node: Any) -> Value:
    """x + value y z, or x + value y / z."""
    x, y, z = (importer.operand(node, item) for item in node.args[:3])
    graph, element, value = importer.graph, x.element, argument(node, 3, "value", 1)
    x, y, z = (groups.wide(graph, item) for item in (x, y, z))
    y = y if value == 1 else graph.arith("mul", y, value)
    kind = "mul" if str(node.target) == "aten.addcmul.default" else "div"
    return graph.cast(graph.arith("add", x, graph.arith(kind, y, z)), element)


# Quotients and remainders.

def whole_quotient(importer: Importer, x: Value, y: Value, is_floor: bool) -> Value:
    """The quotient rounded to minus infinity or to 0. Floats have no gradient; a quotient that was
    rounded up to a whole number is corrected by the remainder, as torch does."""
    graph = importer.graph
    if not is_floor:
        quotient = graph.arith("div", x, y)
        return graph.unary("math.trunc", quotient) if x.is_float else quotient
    if x.is_float:
        x, y = importer.stop_gradient(x), importer.stop_gradient(y)
    rest = graph.arith("rem", x, y)
    is_below = graph.binary("arith.andi", graph.compare("ne", rest, 0), graph.binary(
        "arith.xori", graph.compare("lt", rest, 0), graph.compare("lt", y, 0)))
    if not x.is_float:
        quotient = graph.arith("div", x, y)
        return graph.select(is_below, graph.arith("sub", quotient, 1), quotient)
    ratio = graph.arith("div", x, y)
    quotient = graph.arith("div", graph.arith("sub", x, rest), y)
    quotient = graph.select(is_below, graph.arith("sub", quotient, 1), quotient)
    floor = graph.unary("math.floor", quotient)
    is_high = graph.compare("gt", graph.arith("sub", quotient, floor), 0.5)
    floor = graph.select(is_high, graph.arith("add", floor, 1), floor)
    floor = graph.select(graph.compare("eq", quotient, 0), graph.arith("mul", ratio, 0), floor)
    return graph.select(graph.compare("eq", y, 0), ratio, floor)


def dividends(importer: Importer, node: Any) -> tuple[Value, Value]:
    """Dividend and divisor, 16-bit floats in f32."""
    x, y = (groups.wide(importer.graph, importer.operand(node, item)) for item in node.args[:2])
    if x.element == "i1" or not x.is_float and node.args[1] == 0:
        raise ImportFailure(f"expects {node.target} of floats, or of integers by a number other "
                            f"than 0, but got {x.type} and {node.args[1]}")
    return x, y


def check_untrained(importer: Importer, node: Any) -> None:
    """Fails if a loss trains a result for which torch has no gradient."""
    if node in importer.trained and importer.has_loss():
        raise ImportFailure(f"expects operands of {node.target} without gradients, since torch "
                            "has none; detach them")


@handles("aten.floor_divide.default", "aten.floor_divide.Scalar")
def convert_floor_divide(importer: Importer, node: Any) -> Value:
    check_untrained(importer, node)
    quotient = whole_quotient(importer, *dividends(importer, node), is_floor=True)
    return importer.graph.cast(quotient, importer.element_of(node))


@handles("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def convert_rounded_division(importer: Importer, node: Any) -> Value:
    mode = node.kwargs["rounding_mode"]
    if mode is None:
        return binary_op(importer, node, "arith.divf", None)
    quotient = whole_quotient(importer, *dividends(importer, node), is_floor=mode == "floor")
    importer.trained.discard(node)
    return importer.graph.cast(quotient, importer.element_of(node))


@handles("aten.fmod.Tensor", "aten.fmod.Scalar")
def convert_signed_remainder(importer: Importer, node: Any) -> Value:
    """The remainder with the sign of the dividend."""
    graph = importer.graph
    return graph.cast(graph.arith("rem", *dividends(importer, node)), importer.element_of(node))


@handles("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def convert_remainder(importer: Importer, node: Any) -> Value:
    """The remainder with the sign of the divisor; its derivative by the divisor is minus the
    floor of the quotient."""
    if str(node.target) == "aten.remainder.Scalar_Tensor":
        check_untrained(importer, node)
    graph, (x, y) = importer.graph, dividends(importer, node)
    divisor = importer.stop_gradient(y)
    rest = graph.arith("rem", x, divisor)
    is_other = graph.binary("arith.andi", graph.compare("ne", rest, 0), graph.binary(
        "arith.xori", graph.compare("lt", rest, 0), graph.compare("lt", y, 0)))
    rest = graph.select(is_other, graph.arith("add", rest, divisor), rest)
    if node.args[1] in importer.trained:
        floor = whole_quotient(importer, x, y, is_floor=True)
        rest = with_slope(importer, rest, y, graph.unary("arith.negf", floor))
    return graph.cast(rest, importer.element_of(node))


def with_slope(importer: Importer, y: Value, x: Value, slope: Value) -> Value:
    """The value y, whose derivative by x is the slope in addition to what y has. x is finite."""
    graph = importer.graph
    moved = graph.arith("sub", x, importer.stop_gradient(x))
    return graph.arith("add", y, graph.arith("mul", moved, importer.stop_gradient(slope)))
