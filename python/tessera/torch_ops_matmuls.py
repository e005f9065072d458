"""Converts matmuls of torch, convolutions that are matmuls, and attention."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import LETTERS, Value
from .torch_importer import Importer, argument, handles, place


def finish_linear(importer: Importer, node: Any, y: Value) -> Value:
    return importer.merged(y, node.meta["val"].shape)


@handles("aten.linear.default")
def convert_linear(importer: Importer, node: Any) -> Value:
    x, weight = (importer.value(item) for item in node.args[:2])
    bias = argument(node, 2, "bias")
    y = importer.linear(x, weight, is_transposed=True)
    y = groups.add_bias(importer.graph, y, importer.value(bias) if bias is not None else None)
    return finish_linear(importer, node, y)


@handles("aten.addmm.default")
def convert_addmm(importer: Importer, node: Any) -> Value:
    if argument(node, 3, "beta", 1) != 1 or argument(node, 4, "alpha", 1) != 1:
        raise ImportFailure(f"{place(node)}: expects addmm without factors")
    bias, x, weight = (importer.value(item) for item in node.args[:3])
    y = groups.add_bias(importer.graph, importer.linear(x, weight, is_transposed=False), bias)
    return finish_linear(importer, node, y)


@handles("aten.matmul.default", "aten.bmm.default", "aten.mm.default")
def convert_matmul(importer: Importer, node: Any) -> Value:
    x, y = (importer.value(item) for item in node.args[:2])
    if len(y.shape) == 2 and len(x.shape) >= 2:
        return finish_linear(importer, node, importer.linear(x, y, is_transposed=False))
    rank = len(x.shape)
    if rank < 2 or len(y.shape) != rank:
        raise ImportFailure(f"{place(node)}: expects matmuls of matrices but got {x.type} and "
                            f"{y.type}")
    shape = node.meta["val"].shape
    x = importer.graph.expand(x, [*shape[:-2], *x.shape[-2:]])
    y = importer.graph.expand(y, [*shape[:-2], *y.shape[-2:]])
    batch = LETTERS[3:1 + rank]
    return importer.graph.einsum(batch + "bc", batch + "ca", batch + "ba", x, y)


@handles("aten.baddbmm.default")
def convert_baddbmm(importer: Importer, node: Any) -> Value:
    added, x, y = (importer.value(item) for item in node.args[:3])
    graph, beta = importer.graph, argument(node, 3, "beta", 1)
    product = graph.einsum("abd", "adc", "abc", x, y)

    def scaled(value: Value, factor: float) -> Value:
        constant = graph.constant(factor, value.shape, value.element)
        return value if factor == 1 else graph.binary("arith.mulf", value, constant)
    product = scaled(product, argument(node, 4, "alpha", 1))
    if beta == 0:
        # torch ignores the summand, even if it is not finite.
        return product
    return graph.binary("arith.addf", scaled(graph.expand(added, product.shape), beta), product)


@handles("aten.einsum.default")
def convert_einsum(importer: Importer, node: Any) -> Value:
    spec = node.args[0].replace(" ", "")
    operands, _, result = spec.partition("->")
    parts = operands.split(",")
    if "." in spec or len(parts) != 2 or "->" not in spec:
        raise ImportFailure(f"{place(node)}: expects an einsum of two tensors with a result but "
                            f"got {spec}")
    x, y = (importer.value(item) for item in node.args[1])
    return importer.graph.einsum(*parts, result, x, y)


@handles("aten.scaled_dot_product_attention.default")
def convert_attention(importer: Importer, node: Any) -> Value:
    q, k, v = (importer.value(item) for item in node.args[:3])
    if argument(node, 4, "dropout_p", 0.0):
        raise ImportFailure(f"{place(node)}: expects attention without dropout")
    if any(len(x.shape) != 4 for x in (q, k, v)):
        raise ImportFailure(f"{place(node)}: expects attention of [batch, head, position, dim]")
    scale = argument(node, 6, "scale")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    mask, is_causal = argument(node, 3, "attn_mask"), argument(node, 5, "is_causal", False)
    visibility = groups.Visibility(is_causal, False, False)
    if mask is not None:
        visibility = groups.read_mask(constant_array(importer.constants.get(mask)), q.shape[2],
                                      k.shape[2], is_causal)
    if visibility.has_mask:
        return groups.masked_attention(importer.graph, q, k, v, scale, importer.value(mask),
                                       visibility)
    k, v = (importer.repeated.get(x, x) for x in (k, v))
    if k.shape[1] != v.shape[1]:
        k, v = (importer.value(item) for item in node.args[1:3])
    return groups.grouped_attention(importer.graph, q, k, v, scale, visibility.is_causal)


def constant_array(tensor: torch.Tensor | None) -> Any:
    if tensor is None:
        return None
    tensor = tensor.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


@handles("aten.conv2d.default", "aten.conv2d.padding")
def convert_convolution(importer: Importer, node: Any) -> Value:
    """A convolution of patches that do not overlap, as a matmul."""
    x, weight = (importer.value(item) for item in node.args[:2])
    kernel = weight.shape[2:]
    settings = [argument(node, i, name, default) for i, name, default in
                ((3, "stride", (1, 1)), (4, "padding", (0, 0)), (5, "dilation", (1, 1)))]
    # "same" pads only windows that overlap.
    settings = [tuple((0, 0) if item in ("valid", "same") else item) for item in settings]
    parts = argument(node, 6, "groups", 1)
    if settings != [kernel, (0, 0), (1, 1)] or parts != 1 or \
            any(size % part for size, part in zip(x.shape[2:], kernel)):
        raise ImportFailure(f"{place(node)}: expects a convolution of patches that do not overlap")
    y = groups.patches(importer.graph, x, weight)
    bias = argument(node, 2, "bias")
    if bias is None:
        return y
    vector_ = importer.graph.broadcast(importer.value(bias), y.shape, [1])
    return importer.graph.binary("arith.addf", y, vector_)
