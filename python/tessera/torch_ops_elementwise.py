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
                   "round": "math.roundeven"}.items():
    def _unary(importer: Importer, node: Any, op: str = _op) -> Value:
        x = importer.operand(node, node.args[0])
        if not x.is_float:
            if op != "arith.negf":
                raise ImportFailure(f"{place(node)}: expects floats but got {x.type}")
            return importer.graph.binary(
                "arith.subi", importer.graph.constant(0, x.shape, x.element), x)
        return importer.graph.unary(op, x)
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
                         (None, "arith.ori", "arith.ori")}.items():
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


@handles("aten.leaky_relu.default")
def convert_leaky_relu(importer: Importer, node: Any) -> Value:
    x, graph = importer.operand(node, node.args[0]), importer.graph
    slope = graph.constant(argument(node, 1, "negative_slope", 0.01), x.shape, x.element)
    zero = graph.constant(0, x.shape, x.element)
    return graph.select(graph.compare("gt", x, zero), x, graph.binary("arith.mulf", x, slope))


@handles("aten.elu.default")
def convert_elu(importer: Importer, node: Any) -> Value:
    """x, or alpha (exp(x) - 1) for x below zero; the exponential and the gradients stay finite."""
    x, graph = importer.operand(node, node.args[0]), importer.graph
    if argument(node, 2, "scale", 1) != 1 or argument(node, 3, "input_scale", 1) != 1:
        raise ImportFailure(f"{place(node)}: expects an elu without scales")
    zero = graph.constant(0, x.shape, x.element)
    is_above = graph.compare("gt", x, zero)
    low = graph.unary("math.expm1", graph.select(is_above, zero, x))
    alpha = graph.constant(argument(node, 1, "alpha", 1), x.shape, x.element)
    return graph.select(is_above, x, graph.binary("arith.mulf", low, alpha))


@handles("aten.reciprocal.default")
def convert_reciprocal(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    return importer.graph.binary("arith.divf", importer.graph.constant(1, x.shape, x.element), x)


@handles("aten.sigmoid.default")
def convert_sigmoid(importer: Importer, node: Any) -> Value:
    return groups.sigmoid(importer.graph, importer.operand(node, node.args[0]))


@handles("aten.copy.default", "aten.fill.Scalar", "aten.fill.Tensor")
def convert_copy(importer: Importer, node: Any) -> Value:
    return importer.operand(node, node.args[1])


@handles("aten.relu.default")
def convert_relu(importer: Importer, node: Any) -> Value:
    return groups.relu(importer.graph, importer.operand(node, node.args[0]))


@handles("aten.softplus.default")
def convert_softplus(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    return groups.softplus(importer.graph, x, argument(node, 1, "beta", 1),
                           argument(node, 2, "threshold", 20))


@handles("aten.clamp.default", "aten.clamp_min.default")
def convert_clamp(importer: Importer, node: Any) -> Value:
    x = importer.operand(node, node.args[0])
    low, high = (None if bound is None else importer.graph.constant(bound, x.shape, x.element)
                 for bound in (argument(node, 1, "min"), argument(node, 2, "max")))
    return groups.clamp(importer.graph, x, low, high)


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


@handles("aten.gelu.default")
def convert_gelu(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    kind = "tanh" if argument(node, 1, "approximate", "none") == "tanh" else "erf"
    return importer.graph.unary(f"nn.gelu <{kind}>", x)


@handles("aten.silu.default")
def convert_silu(importer: Importer, node: Any) -> Value:
    return importer.graph.unary("nn.silu", importer.value(node.args[0]))


@handles("aten.detach.default")
def convert_detach(importer: Importer, node: Any) -> Value:
    x = importer.value(node.args[0])
    if node not in importer.trained:
        return x
    importer.trained.remove(node)
    return importer.stop_gradient(x)
