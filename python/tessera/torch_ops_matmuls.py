"""Converts matmuls of torch, and attention."""

from __future__ import annotations

import math
import operator
import string
from typing import Any, NamedTuple, Sequence

import torch

from . import groups
from .errors import ImportFailure
from .graph_text import LETTERS, Graph, Value, regroup
from .torch_importer import IDENTITIES, Importer, argument, handles, place, positive


# Ops whose result has the dimensions of their first operand.
KEEPS_DIMENSIONS = IDENTITIES | {"aten.slice.Tensor", "aten.mul.Tensor", "aten.to.dtype",
                                 "aten.type_as.default", "aten.split.Tensor", "aten.chunk.default",
                                 "aten.split_with_sizes.default"}


def finish_linear(importer: Importer, node: Any, y: Value) -> Value:
    return importer.merged(y, node.meta["val"].shape)


def contract(importer: Importer, x: Value, dim: int, table: torch.Tensor) -> Value:
    """A matmul of a dimension with a constant table; 16-bit floats become f32."""
    graph, letters = importer.graph, LETTERS[2:2 + len(x.shape)]
    before, after, x = letters[:dim], letters[dim + 1:], groups.wide(graph, x)
    constant = importer.write(table.to(torch.float64 if x.element == "f64" else torch.float32))
    return graph.einsum(f"{before}a{after}", "ab", f"{before}b{after}", x, constant)


@handles("aten.linear.default")
def convert_linear(importer: Importer, node: Any) -> Value:
    x, weight = (importer.value(item) for item in node.args[:2])
    bias = argument(node, 2, "bias")
    y = importer.linear(x, weight, is_transposed=True)
    y = groups.add_bias(importer.graph, y, importer.value(bias) if bias is not None else None)
    return finish_linear(importer, node, y)


def add_scaled(importer: Importer, node: Any, product: Value) -> Value:
    """beta times the first argument plus alpha times a product. torch ignores a summand with the
    factor 0, even if it is not finite."""
    graph, beta, alpha = importer.graph, argument(node, 3, "beta", 1), argument(node, 4, "alpha", 1)
    product = product if alpha == 1 else graph.arith("mul", product, alpha)
    if beta == 0:
        return product
    added = importer.value(node.args[0])
    added = added if beta == 1 else graph.arith("mul", added, beta)
    return graph.arith("add", graph.expand(added, product.shape), product)


@handles("aten.addmm.default")
def convert_addmm(importer: Importer, node: Any) -> Value:
    added, x, weight = (importer.value(item) for item in node.args[:3])
    y = importer.linear(x, weight, is_transposed=False)
    if argument(node, 3, "beta", 1) == argument(node, 4, "alpha", 1) == 1:
        # A bias of the value before its leading dimensions were merged.
        y = groups.add_bias(importer.graph, y, added)
    else:
        y = add_scaled(importer, node, finish_linear(importer, node, y))
    return finish_linear(importer, node, y)


@handles("aten.addmv.default", "aten.addr.default")
def convert_add_vector_product(importer: Importer, node: Any) -> Value:
    """A matrix times a vector, or the outer product of two vectors, and a summand."""
    x, y = (importer.value(item) for item in node.args[1:3])
    letters = ("ab", "b", "a") if str(node.target) == "aten.addmv.default" else ("a", "b", "ab")
    return add_scaled(importer, node, importer.graph.einsum(*letters, x, y))


@handles("aten.baddbmm.default", "aten.addbmm.default")
def convert_baddbmm(importer: Importer, node: Any) -> Value:
    """A batch of matmuls, or their sum, and a summand."""
    x, y = (importer.value(item) for item in node.args[1:3])
    result = "abc" if str(node.target) == "aten.baddbmm.default" else "bc"
    return add_scaled(importer, node, importer.graph.einsum("abd", "adc", result, x, y))


@handles("aten.matmul.default", "aten.bmm.default", "aten.mm.default", "aten.mv.default",
         "aten.dot.default", "aten.vdot.default")
def convert_matmul(importer: Importer, node: Any) -> Value:
    """Matmuls of matrices, whose leading dimensions broadcast; a vector is one row or column."""
    (x, y), graph = (importer.value(item) for item in node.args[:2]), importer.graph
    if len(y.shape) == 2 and len(x.shape) >= 2:
        return finish_linear(importer, node, importer.linear(x, y, is_transposed=False))
    if len(y.shape) == 1:
        y = graph.reshape(y, [*y.shape, 1])
    if len(x.shape) == 1:
        x = graph.reshape(x, [1, *x.shape])
    shape = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = (graph.expand(value, [*shape, *value.shape[-2:]]) for value in (x, y))
    batch = LETTERS[3:3 + len(shape)]
    product = graph.einsum(batch + "bc", batch + "ca", batch + "ba", x, y)
    return graph.reshape(product, node.meta["val"].shape)


@handles("aten.bilinear.default")
def convert_bilinear(importer: Importer, node: Any) -> Value:
    """x, a matrix for each result, and y."""
    x, y, weight = (importer.value(item) for item in node.args[:3])
    bias, letters = argument(node, 3, "bias"), LETTERS[3:2 + len(x.shape)]
    graph = importer.graph
    half = graph.einsum(letters + "a", "cab", letters + "cb", x, weight)
    product = graph.einsum(letters + "cb", letters + "b", letters + "c", half, y)
    return groups.add_bias(graph, product, None if bias is None else importer.value(bias))


class Term(NamedTuple):
    """An operand of an einsum, and the letters of its dimensions."""
    letters: str
    value: Value


@handles("aten.einsum.default")
def convert_einsum(importer: Importer, node: Any) -> Value:
    """A product of tensors, two after two from the left."""
    values = [importer.value(item) for item in node.args[1]]
    operands, result = read_spec(node.args[0], [len(value.shape) for value in values])
    sizes = {letter: max(sizes) for letter, sizes in collect_sizes(operands, values).items()}
    graph = importer.graph
    terms = [drop_ones(graph, Term(*term), sizes) for term in zip(operands, values)]
    while len(terms) > 1:
        (left, x), (right, y), *rest = terms
        needed = result + "".join(term.letters for term in rest)
        left, x = sum_out(graph, Term(left, x), needed + right)
        right, y = sum_out(graph, Term(right, y), needed + left)
        kept = "".join(letter for letter in dict.fromkeys(left + right) if letter in needed)
        kept = kept if rest or set(kept) != set(result) else result
        terms = [Term(kept, graph.einsum(left, right, kept, x, y)), *rest]
    letters, x = sum_out(graph, terms[0], result)
    x = graph.transpose(x, [letters.index(letter) for letter in result if letter in letters])
    return graph.broadcast(x, [sizes[letter] for letter in result],
                           [i for i, letter in enumerate(result) if letter in letters])


def read_spec(spec: str, ranks: list[int]) -> tuple[list[str], str]:
    """The letters of the operands and the result of an einsum, with letters in place of dots."""
    operands, arrow, result = spec.replace(" ", "").partition("->")
    parts = operands.split(",")
    free = [letter for letter in string.ascii_letters if letter not in spec]
    most = max((rank - len(part) + 3 for part, rank in zip(parts, ranks) if "." in part),
               default=0)
    dots = "".join(free[:most])
    parts = [part.replace("...", dots[most - (rank - len(part) + 3):]) if "." in part else part
             for part, rank in zip(parts, ranks)]
    if not arrow:
        named = "".join(parts)
        result = "..." + "".join(sorted(letter for letter in set(named) - set(dots)
                                        if named.count(letter) == 1))
    for part in parts:
        if len(set(part)) != len(part):
            raise ImportFailure(f"expects an einsum without diagonals but got {spec}; take "
                                "torch.diagonal before")
    return parts, result.replace("...", dots)


def collect_sizes(operands: list[str], values: list[Value]) -> dict[str, set[int]]:
    """The sizes that a letter has in the operands: one, or 1 and another."""
    sizes: dict[str, set[int]] = {}
    for letters, value in zip(operands, values):
        for letter, size in zip(letters, value.shape):
            sizes.setdefault(letter, set()).add(size)
    return sizes


def drop_ones(graph: Graph, term: Term, sizes: dict[str, int]) -> Term:
    """The term without dimensions of size 1 that are larger in another one."""
    kept = [i for i, letter in enumerate(term.letters) if term.value.shape[i] == sizes[letter]]
    return Term("".join(term.letters[i] for i in kept),
                graph.reshape(term.value, [term.value.shape[i] for i in kept]))


def sum_out(graph: Graph, term: Term, needed: str) -> Term:
    """The term summed over dimensions whose letters nothing else has."""
    dims = [i for i, letter in enumerate(term.letters) if letter not in needed]
    if not dims:
        return term
    return Term("".join(letter for letter in term.letters if letter in needed),
                graph.reduce("sum", term.value, dims))


@handles("aten.scaled_dot_product_attention.default")
def convert_attention(importer: Importer, node: Any) -> Value:
    """Attention of [.., head, position, dim]; without a dimension of heads there is one head. The
    heads of five dimensions or more are those that a weight makes."""
    if argument(node, 4, "dropout_p", 0.0):
        raise ImportFailure(f"{place(node)}: expects attention without dropout")
    values, graph = [importer.value(item) for item in node.args[:3]], importer.graph
    leading = {value.shape[:-2] if len(value.shape) < 4 else value.shape[:-3] for value in values}
    if len(leading) > 1 or len({len(value.shape) for value in values}) > 1:
        raise ImportFailure("expects attention whose queries, keys and values have the same "
                            "leading dimensions; expand them before")
    order = order_of(node)
    if len(order) != 4:
        values = [graph.transpose(value, order) for value in values]
        values = [graph.reshape(value, four_dimensions(value.shape)) for value in values]
    q, k, v = values
    scale = argument(node, 6, "scale")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    mask, is_causal = argument(node, 3, "attn_mask"), argument(node, 5, "is_causal", False)
    visibility = groups.Visibility(is_causal, False, False)
    if mask is not None:
        visibility = groups.read_mask(constant_array(importer.constants.get(mask)), q.shape[2],
                                      k.shape[2], is_causal)
    if visibility.has_mask:
        shown = importer.value(mask)
        if len(order) != 4 and len(shown.shape) > 2:
            shown = graph.expand(shown, [*node.meta["val"].shape[:-1], k.shape[2]])
            shown = graph.transpose(shown, order)
            shown = graph.reshape(shown, four_dimensions(shown.shape))
        mixed = groups.masked_attention(graph, q, k, v, scale, shown, visibility)
        return reordered(graph, mixed, order, node.meta["val"].shape)
    k, v = (importer.repeated.get(x, x) for x in (k, v))
    if k.shape[1] != v.shape[1]:
        k, v = values[1:]
    mixed = groups.grouped_attention(graph, q, k, v, scale, visibility.is_causal)
    return reordered(graph, mixed, order, node.meta["val"].shape)


def reordered(graph: Graph, x: Value, order: Sequence[int], shape: Sequence[int]) -> Value:
    """A value of that shape, whose dimensions come in an order in x, some of them merged."""
    apart = graph.reshape(x, [shape[dim] for dim in order])
    return graph.transpose(apart, [order.index(dim) for dim in range(len(order))])


def order_of(node: Any) -> list[int]:
    """The dimensions of an attention's operands with the heads before the last two."""
    rank = node.meta["val"].dim()
    heads = next((found for found in map(find_heads, node.args[1:3]) if found is not None),
                 rank - 3) if rank > 4 else rank - 3
    others = [dim for dim in range(rank - 2) if dim != heads]
    return [*others, *([heads] if rank > 2 else []), rank - 2, rank - 1]


def find_heads(node: Any) -> int | None:
    """The dimension, before the last two, that a reshape split from the last dimension of another
    value, such as a linear layer's result; none if there is none."""
    # The dimensions of the current node that are those of the first one.
    dims = dict(enumerate(range(node.meta["val"].dim() - 2)))
    while node.op == "call_function" and isinstance(node.args[0], torch.fx.Node):
        name, source = str(node.target), node.args[0]
        if node.target is operator.getitem:
            node, name = source, str(source.target)
            source = node.args[0]
        if name in ("aten.view.default", "aten.reshape.default"):
            left, right, _ = regroup(source.meta["val"].shape, node.meta["val"].shape)
            split = next(after for before, after in zip(left, right)
                         if source.meta["val"].dim() - 1 in before)
            return next((dim for dim, now in dims.items() if now in split), None)
        rank = source.meta["val"].dim()
        order = list(range(rank))
        if name == "aten.permute.default":
            order = [positive(dim, rank) for dim in node.args[1]]
        elif name == "aten.transpose.int":
            a, b = node.args[1:3]
            order[a], order[b] = order[b], order[a]
        elif name in ("aten.select.int", "aten.unbind.int"):
            order.pop(positive(argument(node, 1, "dim", 0), rank))
        elif name not in KEEPS_DIMENSIONS or name == "aten.mul.Tensor" and \
                source.meta["val"].shape != node.meta["val"].shape:
            return None
        dims, node = {dim: order[now] for dim, now in dims.items()}, source
    return None


def four_dimensions(shape: Sequence[int]) -> list[int]:
    """[batch, head, row, column] of a shape that has several or no dimensions of batches, or
    none of heads."""
    if len(shape) == 3:
        return [shape[0], 1, *shape[1:]]
    heads = shape[-3:-2] or [1]
    return [math.prod(shape[:-3]), *heads, *shape[-2:]]


def constant_array(tensor: torch.Tensor | None) -> Any:
    if tensor is None:
        return None
    tensor = tensor.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()
