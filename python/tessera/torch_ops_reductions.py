"""Converts reductions of torch, softmaxes and norms."""

from __future__ import annotations

import math
from typing import Any, Sequence

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import LETTERS, Graph, Value
from .torch_importer import HANDLERS, Importer, argument, element_of, handles, positive


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


@handles("aten.any.default", "aten.any.dim", "aten.any.dims", "aten.all.default", "aten.all.dim",
         "aten.all.dims")
def convert_quantifier(importer: Importer, node: Any) -> Value:
    x, graph = importer.graph.cast(importer.value(node.args[0]), "i1"), importer.graph
    kind = "max" if str(node.target).startswith("aten.any.") else "min"
    found = graph.reduce(kind, graph.cast(x, "i32"), dimensions(node, 1, x))
    return graph.reshape(graph.cast(found, "i1"), node.meta["val"].shape)


@handles("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def convert_count(importer: Importer, node: Any) -> Value:
    x, graph = importer.graph.cast(importer.value(node.args[0]), "i1"), importer.graph
    return graph.reduce("sum", graph.cast(x, "i64"), dimensions(node, 1, x))


@handles("aten.prod.default", "aten.prod.dim_int")
def convert_product(importer: Importer, node: Any) -> Value:
    """Products of halves, whose gradients are products of the other numbers, also of 0."""
    graph, result = importer.graph, node.meta["val"]
    x = groups.wide(graph, graph.cast(importer.value(node.args[0]), element_of(result.dtype)))
    if str(node.target) == "aten.prod.default":
        x = graph.reshape(x, [math.prod(x.shape)])
        dim = 0
    else:
        dim = positive(node.args[1], len(x.shape))
    while x.shape[dim] > 1:
        half = x.shape[dim] // 2
        parts = [graph.slice(x, dim, start, half) for start in (0, half)]
        rest = [graph.slice(x, dim, 2 * half, 1)] if x.shape[dim] % 2 else []
        x = graph.concat([graph.arith("mul", *parts), *rest], dim)
    return graph.reshape(graph.cast(x, element_of(result.dtype)), result.shape)


@handles("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim", "aten.norm.Scalar")
def convert_vector_norm(importer: Importer, node: Any) -> Value:
    """The root of a sum of squares, a sum of magnitudes or the largest one, with the gradient 0 at
    0."""
    graph, result = importer.graph, node.meta["val"]
    element = element_of(result.dtype)
    x = groups.wide(graph, graph.cast(importer.value(node.args[0]), element))
    order = argument(node, 1, "ord" if "linalg" in str(node.target) else "p", 2)
    dims = dimensions(node, 2, x)
    if order in (2, None):
        y = groups.root(graph, graph.reduce("sum", graph.binary("arith.mulf", x, x), dims))
    elif order in (1, math.inf):
        y = graph.reduce("sum" if order == 1 else "max", graph.unary("math.absf", x), dims)
    else:
        raise ImportFailure(f"expects a norm of order 1, 2 or inf but got {order}")
    return graph.reshape(graph.cast(y, element), result.shape)


def find_moments(importer: Importer, node: Any) -> tuple[Value, Value]:
    """Variance and mean over the dimensions of the argument `dim`, in at least f32, without these
    dimensions."""
    graph = importer.graph
    x = groups.wide(graph, importer.value(node.args[0]))
    dims = dimensions(node, 1, x)
    # The argument `unbiased` of the older form is a correction of 0 or 1.
    name = "unbiased" if str(node.target) == "aten.var.dim" else "correction"
    correction = argument(node, 2, name)
    correction = 1 if correction is None else correction
    kept = [i for i in range(len(x.shape)) if i not in dims]
    mean = groups.mean(graph, x, dims)
    moved = graph.arith("sub", x, graph.broadcast(mean, x.shape, kept))
    square = graph.reduce("sum", graph.arith("mul", moved, moved), dims)
    count = math.prod(x.shape[d] for d in dims)
    if count <= correction:
        raise ImportFailure(f"expects more numbers than the correction of {node.target} but got "
                            f"{count}")
    return graph.arith("div", square, count - correction), mean


def finish_moments(importer: Importer, node: Any, *moments: Value) -> list[Value]:
    """Moments in the types of a node's results."""
    results = node.meta["val"]
    results = results if isinstance(results, (list, tuple)) else [results]
    return [importer.graph.reshape(importer.graph.cast(moment, element_of(result.dtype)),
                                   result.shape)
            for moment, result in zip(moments, results)]


@handles("aten.var.correction", "aten.var.dim", "aten.var_mean.correction")
def convert_variance(importer: Importer, node: Any) -> Value | list[Value]:
    found = finish_moments(importer, node, *find_moments(importer, node))
    return found if str(node.target) == "aten.var_mean.correction" else found[0]


@handles("aten.std.correction", "aten.std_mean.correction")
def convert_deviation(importer: Importer, node: Any) -> Value | list[Value]:
    """The root of the variance, with the gradient 0 at 0."""
    variance, mean = find_moments(importer, node)
    found = finish_moments(importer, node, groups.root(importer.graph, variance), mean)
    return found if str(node.target) == "aten.std_mean.correction" else found[0]


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


# Norms.

def vector(importer: Importer, item: Any, shape: Sequence[int], like: Value,
           number: float) -> Value:
    """A weight of a norm as a vector; of one number, if there is none."""
    size = [math.prod(shape)]
    if item is None:
        return importer.graph.constant(number, size, like.element)
    return importer.graph.reshape(importer.value(item), size)


def layer_norm(graph: Graph, x: Value, gamma: Value, beta: Value, eps: float) -> Value:
    return graph.op(f"nn.layer_norm {x.name}, {gamma.name}, {beta.name} eps "
                    f"{groups.literal_eps(eps)} : {x.type}, {gamma.type}, {beta.type}", x.shape,
                    x.element)


def norm_rows(importer: Importer, node: Any) -> tuple[Value, Sequence[int]]:
    """The operand of a norm with the dimensions that it normalizes as one, and their sizes."""
    x, sizes = importer.value(node.args[0]), list(node.args[1])
    kept = x.shape[:len(x.shape) - len(sizes)]
    return importer.graph.reshape(x, [*kept, math.prod(sizes)]), sizes


@handles("aten.native_layer_norm.default")
def convert_native_layer_norm(importer: Importer, node: Any) -> list[Value]:
    return without_moments(node, convert_layer_norm(importer, node))


@handles("aten.layer_norm.default")
def convert_layer_norm(importer: Importer, node: Any) -> Value:
    x, sizes = norm_rows(importer, node)
    gamma = vector(importer, argument(node, 2, "weight"), sizes, x, 1)
    beta = vector(importer, argument(node, 3, "bias"), sizes, x, 0)
    y = layer_norm(importer.graph, x, gamma, beta, argument(node, 4, "eps", 1e-5))
    return importer.graph.reshape(y, importer.value(node.args[0]).shape)


@handles("aten.rms_norm.default")
def convert_rms_norm(importer: Importer, node: Any) -> Value:
    (x, sizes), eps = norm_rows(importer, node), argument(node, 3, "eps")
    # torch computes norms of 16-bit floats in f32.
    eps = torch.finfo(torch.float64 if x.element == "f64" else torch.float32).eps \
        if eps is None else eps
    gamma = vector(importer, argument(node, 2, "weight"), sizes, x, 1)
    y = importer.graph.op(f"nn.rms_norm {x.name}, {gamma.name} eps {groups.literal_eps(eps)} : "
                          f"{x.type}, {gamma.type}", x.shape, x.element)
    return importer.graph.reshape(y, node.meta["val"].shape)


def scale_channels(importer: Importer, node: Any, x: Value, weight: Any, bias: Any) -> Value:
    """x times weights plus biases of its dimension 1, in x's type, cast to the node's."""
    graph = importer.graph
    for item, name in ((weight, "mul"), (bias, "add")):
        if item is not None:
            row = graph.cast(importer.value(item), x.element)
            x = graph.arith(name, x, graph.broadcast(row, x.shape, [1]))
    result = node.meta["val"]
    result = result[0] if isinstance(result, (list, tuple)) else result
    return graph.cast(x, element_of(result.dtype))


def norm_groups(importer: Importer, node: Any, count: int, weight: Any, bias: Any,
                eps: float) -> Value:
    """Normalizes each of `count` groups of channels, which are dimension 1, in at least f32."""
    graph, x = importer.graph, groups.wide(importer.graph, importer.value(node.args[0]))
    rows = graph.reshape(x, [x.shape[0], count, math.prod(x.shape[1:]) // count])
    ones, zeros = (graph.constant(number, rows.shape[-1:], x.element) for number in (1, 0))
    y = graph.reshape(layer_norm(graph, rows, ones, zeros, eps), x.shape)
    return scale_channels(importer, node, y, weight, bias)


@handles("aten.group_norm.default")
def convert_group_norm(importer: Importer, node: Any) -> Value:
    return norm_groups(importer, node, node.args[1], argument(node, 2, "weight"),
                       argument(node, 3, "bias"), argument(node, 4, "eps", 1e-5))


@handles("aten.native_group_norm.default")
def convert_native_group_norm(importer: Importer, node: Any) -> list[Value]:
    weight, bias = node.args[1:3]
    return without_moments(node, norm_groups(importer, node, node.args[6], weight, bias,
                                             node.args[7]))


@handles("aten.instance_norm.default", "aten.batch_norm.default")
def convert_channel_norm(importer: Importer, node: Any) -> Value:
    return norm_channels(importer, node, *node.args[1:6], node.args[7])


@handles("aten.native_batch_norm.default", "aten.cudnn_batch_norm.default",
         "aten.miopen_batch_norm.default")
def convert_native_norm(importer: Importer, node: Any) -> list[Value]:
    return without_moments(node, norm_channels(importer, node, *node.args[1:6], node.args[7]))


@handles("aten._native_batch_norm_legit_no_training.default")
def convert_fixed_norm(importer: Importer, node: Any) -> list[Value]:
    return without_moments(node, norm_channels(importer, node, *node.args[1:5], False,
                                               node.args[6]))


@handles("aten._native_batch_norm_legit.no_stats")
def convert_measured_norm(importer: Importer, node: Any) -> list[Value]:
    weight, bias = node.args[1:3]
    return without_moments(node, norm_channels(importer, node, weight, bias, None, None,
                                               node.args[3], node.args[5]))


def without_moments(node: Any, value: Value) -> list[Value]:
    """The results of a norm that also returns moments, which nothing may read."""
    if any(user.args[1] and user.users for user in node.users):
        raise ImportFailure(f"expects no use of the moments of {node.target}")
    return [value]


def norm_channels(importer: Importer, node: Any, weight: Any, bias: Any, mean: Any, variance: Any,
                  is_measured: bool, eps: float) -> Value:
    """Normalizes channels, which are dimension 1, by fixed moments, by those of a sample
    (instance_norm) or by those of the batch."""
    graph, x = importer.graph, importer.value(node.args[0])
    if is_measured and mean is not None:
        raise ImportFailure(f"expects {node.target} that writes no running moments; call eval(), "
                            "or set track_running_stats=False")
    if is_measured and str(node.target) == "aten.instance_norm.default":
        return norm_groups(importer, node, x.shape[1], weight, bias, eps)
    x = groups.wide(graph, x)
    if is_measured:
        order = [1, 0, *range(2, len(x.shape))]
        turned = graph.transpose(x, order)
        rows = graph.reshape(turned, [turned.shape[0], math.prod(turned.shape[1:])])
        ones, zeros = (graph.constant(number, rows.shape[-1:], x.element) for number in (1, 0))
        rows = graph.reshape(layer_norm(graph, rows, ones, zeros, eps), turned.shape)
        return scale_channels(importer, node, graph.transpose(rows, order), weight, bias)
    mean, variance = (graph.cast(importer.value(item), x.element) for item in (mean, variance))
    factor = graph.unary("math.rsqrt", graph.arith("add", variance, eps))
    if weight is not None:
        factor = graph.arith("mul", factor, graph.cast(importer.value(weight), x.element))
    moved = graph.arith("sub", x, graph.broadcast(mean, x.shape, [1]))
    y = graph.arith("mul", moved, graph.broadcast(factor, x.shape, [1]))
    return scale_channels(importer, node, y, None, bias)
