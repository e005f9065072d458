"""Reads mixtures of experts in the graph that torch.export makes, and writes each as nn.experts.

A row is a choice: token t goes to the experts ids[t, 0], ids[t, 1], ... of a top_k. Rows are
described, not computed: a description says exactly which number each row holds, for rows in plain
order and for rows that are sorted by expert. An op without a rule for such rows is an error, so
nothing but a mixture without dropped choices becomes nn.experts."""

from __future__ import annotations

import dataclasses
import math
import operator
from typing import Any, NamedTuple

import torch

from .errors import ImportFailure
from .graph_text import Value

# Ids that a function of ids is tried on, in addition to all choices of one expert.
TRIALS = 16
GROUPED = {"transformers.grouped_mm_fallback.default", "aten._grouped_mm.default"}
ACTIVATIONS = {"silu": "silu", "erf": "gelu", "tanh": "gelu_tanh"}
# Ops that a bias may go through before it is added to scores.
RESHAPES = {"aten.unsqueeze.default", "aten.view.default", "aten.reshape.default",
            "aten.expand.default", "aten.to.dtype"}


class Choice(NamedTuple):
    """The ids of a top_k of [tokens..., experts]: distinct and in range."""
    ids: Value
    experts: int
    # The name of the bias that changes this choice alone, if there is one.
    bias: str = ""

    @property
    def k(self) -> int:
        return self.ids.shape[-1]

    @property
    def rows(self) -> int:
        return math.prod(self.ids.shape)


class Order(NamedTuple):
    """The order of a sort of a choice's ids: equal ids may come in any order."""
    choice: Choice
    sort: str


@dataclasses.dataclass(frozen=True)
class OfIds:
    """A value that follows from the ids of a choice and constants alone."""
    choice: Choice


@dataclasses.dataclass(frozen=True)
class SortedIds(OfIds):
    """The ids in ascending order."""


@dataclasses.dataclass(frozen=True)
class Positions(OfIds):
    """numbers[p] for each row of the sorted order, p its position in plain order."""
    order: Order
    numbers: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Inverse(OfIds):
    """The position in the sorted order of each row."""
    order: Order


@dataclasses.dataclass(frozen=True)
class Weights:
    """The matrix of each row's expert, in plain order; its dimensions may be swapped."""
    choice: Choice
    node: Any
    is_swapped: bool = False


@dataclasses.dataclass(frozen=True)
class Rows:
    """A tensor with a row for each choice, in plain order if `order` is none."""
    order: Order | None
    content: Any


# Contents of rows.

@dataclasses.dataclass(frozen=True)
class Token:
    """Row j is token j / k."""
    x: Value
    k: int


@dataclasses.dataclass(frozen=True)
class Gate:
    """Row j is the gate of choice j."""
    gates: Value


@dataclasses.dataclass(frozen=True)
class Product:
    """Rows times the matrices [in, out] of their experts, elements from `start` on."""
    rows: Any
    choice: Choice
    weight: Value
    start: int
    size: int


@dataclasses.dataclass(frozen=True)
class Activated:
    product: Product
    activation: str


@dataclasses.dataclass(frozen=True)
class Hidden:
    """The activated product times the other one."""
    gate: Activated
    up: Product


@dataclasses.dataclass(frozen=True)
class Weighted:
    """The product of hidden rows, times gates. With `is_split` its shape is [tokens, k, width]."""
    product: Product
    gates: Value
    is_split: bool = False


def visit(importer: Any, node: Any, name: str) -> bool:
    """Reads a node of a mixture; false for other nodes."""
    known = importer.routed
    if node.target is operator.getitem and isinstance(known.get(node.args[0]), list):
        known[node] = known[node.args[0]][node.args[1]]
        return True
    found = read(importer, node, name, [known.get(item) for item in node.all_input_nodes])
    if found is None:
        return False
    known[node] = found
    if any(source in importer.trained for source in node.all_input_nodes):
        importer.trained.add(node)
    if isinstance(found, Value):
        del known[node]
        importer.values[node] = found
    return True


def read(importer: Any, node: Any, name: str, inputs: list[Any]) -> Any:
    """The description of a node's result, a value if it is one, or none if no rows are read."""
    choice = find_choice(importer, node.all_input_nodes[0]) if node.all_input_nodes else None
    if choice and name in ("aten.sort.default", "aten.sort.stable", "aten.argsort.default"):
        return read_sort(node, name, choice)
    if name == "aten.index.Tensor":
        found = read_index(importer, node)
        if found is not None:
            return found
    if name == "aten.repeat_interleave.self_int" and is_tokens(importer, node):
        return Rows(None, Token(importer.value(node.args[0]), node.args[1]))
    if all(item is None for item in inputs):
        return OfIds(choice) if choice and name == "aten.histc.default" else None
    if all(isinstance(item, OfIds) or source in importer.constants
           for item, source in zip(inputs, node.all_input_nodes)):
        return read_of_ids(importer, node, name, inputs)
    found = read_rows(importer, node, name)
    if found is None:
        raise ImportFailure(f"expects experts that are gated MLPs of the "
                            f"tokens that chose them, weighted by their gates, but got {name} of "
                            "their rows")
    return found


def find_choice(importer: Any, node: Any) -> Choice | None:
    """The choice whose ids, one after the other, a node is."""
    value = importer.values.get(node)
    if not isinstance(value, Value) or len(value.shape) != 1:
        return None
    found: Choice | None = importer.choices.get(importer.unmerged.get(value, value))
    return found


def is_tokens(importer: Any, node: Any) -> bool:
    """True if a node repeats rows that ids were chosen for, along the first dimension."""
    value = importer.values.get(node.args[0])
    return isinstance(value, Value) and len(value.shape) == 2 and \
        (node.args[2] if len(node.args) > 2 else node.kwargs.get("dim")) == 0 and \
        any(choice.k == node.args[1] and choice.rows == value.shape[0] * choice.k
            for choice in importer.choices.values())


# Biases of choices.

def find_biased_choice(node: Any) -> Any:
    """The top_k of all experts whose scores a tensor [experts] is added to, if it changes nothing but
    choices; none for other tensors."""
    value = node.meta["val"]
    if not isinstance(value, torch.Tensor) or value.dim() != 1 or value.dtype != torch.float32:
        return None
    while len(node.users) == 1 and str(next(iter(node.users)).target) in RESHAPES:
        node = next(iter(node.users))
    if any(str(user.target) != "aten.add.Tensor" or user.kwargs for user in node.users):
        return None
    found, seen, rest = [], set(), [node]
    while rest:
        for user in set(rest.pop().users) - seen:
            seen.add(user)
            if user.op != "call_function":
                return None
            result = user.meta.get("val")
            if str(user.target) == "aten.topk.default" and \
                    user.args[0].meta["val"].shape[-1] == value.shape[0]:
                found.append(user)
            if not isinstance(result, torch.Tensor) or result.dtype.is_floating_point:
                rest.append(user)
    return found[0] if len(found) == 1 else None


def count_choices(importer: Any, choice: Choice, tokens: tuple[int, ...]) -> Value:
    """The choices of each expert, in f32, of tokens of these dimensions."""
    graph = importer.graph
    ids = graph.reshape(choice.ids, (*tokens, choice.k))
    ones = graph.constant(1, (*tokens, 1), "f32")
    rows = Value("", (*tokens, choice.experts, 1), "f32")
    rows = graph.op(f"nn.expert_rows {ones.name}, {ids.name} : {ones.type}, {ids.type} -> "
                    f"{rows.type}", rows.shape, "f32")
    return graph.reduce("sum", rows, [*range(len(tokens)), len(tokens) + 1])


# Integers.

def read_sort(node: Any, name: str, choice: Choice) -> Any:
    dims = [*node.args[1:], *([node.kwargs["dim"]] if "dim" in node.kwargs else [])]
    if any(item not in (0, -1) or isinstance(item, bool) for item in dims) or \
            node.kwargs.get("descending", False):
        return None
    positions = Positions(choice, Order(choice, node.name), tuple(range(choice.rows)))
    return positions if "argsort" in name else [SortedIds(choice), positions]


def read_of_ids(importer: Any, node: Any, name: str, inputs: list[Any]) -> Any:
    """Numbers of positions, the inverse of an order, or another function of ids."""
    first = inputs[0]
    choice = next(item.choice for item in inputs if item is not None)
    if any(item is not None and item.choice != choice for item in inputs):
        raise ImportFailure("expects ids of one choice")
    identity = tuple(range(choice.rows))
    if name == "aten.empty_like.default":
        return None
    if isinstance(first, Positions) and len(node.all_input_nodes) == 1 and \
            name in ("aten.floor_divide.default", "aten.div.Tensor_mode", "aten.remainder.Scalar"):
        numbers = node.target(torch.tensor(first.numbers), *node.args[1:], **node.kwargs)
        return Positions(choice, first.order, tuple(numbers.tolist()))
    if isinstance(first, Positions) and first.numbers == identity and \
            name in ("aten.argsort.default", "aten.sort.default") and len(node.args) == 1 and \
            not node.kwargs:
        inverse = Inverse(choice, first.order)
        return inverse if "argsort" in name else [OfIds(choice), inverse]
    if name == "aten.index_put_.default":
        index, numbers = node.args[1], importer.constants.get(node.args[2])
        order = importer.routed.get(index[0]) if len(index) == 1 else None
        if isinstance(order, Positions) and order.numbers == identity and \
                numbers is not None and tuple(numbers.flatten().tolist()) == identity and \
                len(node.args[0].users) == 1 and len(node.args) == 3:
            return Inverse(choice, order.order)
        raise ImportFailure("expects the inverse of an order")
    return OfIds(choice)


def check_offsets(importer: Any, node: Any, choice: Choice) -> None:
    """Fails unless a function of ids gives the end of each expert's rows in the sorted order."""
    generator = torch.Generator().manual_seed(0)
    trials = [torch.full((choice.rows,), expert) for expert in range(choice.experts)]
    trials += [torch.randint(choice.experts, (choice.rows,), generator=generator)
               for _ in range(TRIALS)]
    for ids in trials:
        ends = torch.bincount(ids, minlength=choice.experts).cumsum(0)
        if not torch.equal(compute(importer, node, ids, {}).to(torch.int64), ends):
            raise ImportFailure("expects groups of all rows of each expert but got others")


def compute(importer: Any, node: Any, ids: torch.Tensor, known: dict[Any, Any]) -> Any:
    """A function of ids, at these ids."""
    if find_choice(importer, node):
        return ids.to(node.meta["val"].dtype)
    if node in importer.constants:
        return importer.constants[node]
    if node not in known:
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            raise ImportFailure("expects groups that follow from ids by ops that write no operand")
        arguments, keywords = torch.fx.node.map_arg(
            (node.args, dict(node.kwargs)), lambda item: compute(importer, item, ids, known))
        known[node] = node.target(*arguments, **keywords)
    return known[node]


# Rows.

def read_index(importer: Any, node: Any) -> Any:
    """Rows in the sorted order, rows in plain order again, or the matrices of rows."""
    indices = node.args[1]
    if len(indices) != 1 or indices[0] is None:
        return None
    index, source = importer.routed.get(indices[0]), importer.routed.get(node.args[0])
    table = importer.values.get(node.args[0])
    choice = find_choice(importer, indices[0])
    if choice and isinstance(table, Value) and len(table.shape) == 3:
        return Weights(choice, node.args[0])
    if isinstance(index, Inverse) and isinstance(source, Rows) and source.order == index.order:
        return dataclasses.replace(source, order=None)
    if not isinstance(index, Positions) or not isinstance(table, Value):
        return None
    choice, rows = index.choice, index.choice.rows
    if len(table.shape) == 2 and index.numbers == tuple(i // choice.k for i in range(rows)):
        return Rows(index.order, Token(table, choice.k))
    if len(table.shape) == 1 and index.numbers == tuple(range(rows)):
        return Rows(index.order, Gate(table))
    return None


def read_rows(importer: Any, node: Any, name: str) -> Any:
    """The result of an op on rows."""
    known = importer.routed
    first = known.get(node.args[0]) if isinstance(node.args[0], torch.fx.Node) else None
    if name in GROUPED:
        return read_grouped(importer, node)
    if name == "aten.bmm.default":
        return read_batched(importer, node)
    if isinstance(first, Weights) and name in ("aten.transpose.int", "aten.mT.default"):
        if {item % 3 for item in node.args[1:3]} not in (set(), {1, 2}):
            return None
        return dataclasses.replace(first, is_swapped=not first.is_swapped)
    if name == "aten.mul.Tensor":
        return read_multiplication(importer, node)
    if not isinstance(first, Rows):
        return None
    content = first.content
    before, after = node.args[0].meta["val"], node.meta["val"]
    if name in ("aten.to.dtype", "aten.contiguous.default", "aten.clone.default"):
        return first if after.dtype.is_floating_point and after.dtype.itemsize > 1 else None
    if name in ("aten.unsqueeze.default", "aten.squeeze.dim"):
        rank = max(before.dim(), after.dim())
        return first if node.args[1] % rank > 0 else None
    if name in ("aten.chunk.default", "aten.split.Tensor"):
        return read_chunks(node, first)
    if name in ("aten.silu.default", "aten.gelu.default") and isinstance(content, Product):
        kind = "silu" if "silu" in name else \
            "tanh" if node.kwargs.get("approximate") == "tanh" else "erf"
        return Rows(first.order, Activated(content, ACTIVATIONS[kind]))
    return read_sum(importer, node, name, first)


def read_chunks(node: Any, first: Rows) -> Any:
    """Slices of the last dimension of a product."""
    before, content = node.args[0].meta["val"], first.content
    dim = node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)
    if not isinstance(content, Product) or before.dim() != 2 or dim not in (-1, 1):
        return None
    parts, start = [], content.start
    for part in node.meta["val"]:
        parts.append(Rows(first.order, dataclasses.replace(content, start=start,
                                                           size=part.shape[-1])))
        start += part.shape[-1]
    return parts


def multiply(importer: Any, rows: Rows, choice: Choice, weight: Value) -> Any:
    """Rows times the matrices [experts, in, out] of their experts."""
    if not isinstance(rows.content, (Token, Hidden)) or weight.shape[0] != choice.experts:
        return None
    if isinstance(rows.content, Token) and rows.content.k != choice.k:
        return None
    return Rows(rows.order, Product(rows.content, choice, weight, 0, weight.shape[-1]))


def read_grouped(importer: Any, node: Any) -> Any:
    rows = importer.routed.get(node.args[0])
    offsets = node.args[2] if len(node.args) > 2 else node.kwargs.get("offs")
    others = [value for key, value in node.kwargs.items() if key != "offs"]
    if any(value is not None for value in (*node.args[3:], *others)):
        return None
    if not isinstance(rows, Rows) or rows.order is None or node.args[1] not in importer.values:
        return None
    if not isinstance(importer.routed.get(offsets), OfIds):
        return None
    choice = rows.order.choice
    if importer.routed[offsets].choice != choice:
        return None
    check_offsets(importer, offsets, choice)
    return multiply(importer, rows, choice, importer.value(node.args[1]))


def read_batched(importer: Any, node: Any) -> Any:
    """A bmm of rows in plain order with the matrices of their experts."""
    left, right = (importer.routed.get(item) for item in node.args[:2])
    shapes = [tuple(item.meta["val"].shape) for item in node.args[:2]]
    if isinstance(left, Weights) and isinstance(right, Rows) and shapes[1][2] == 1:
        weights, rows, is_swapped = left, right, not left.is_swapped
    elif isinstance(left, Rows) and isinstance(right, Weights) and shapes[0][1] == 1:
        weights, rows, is_swapped = right, left, right.is_swapped
    else:
        return None
    if rows.order is not None:
        return None
    weight = importer.value(weights.node)
    if is_swapped:
        weight = importer.graph.transpose(weight, [0, 2, 1])
    return multiply(importer, rows, weights.choice, weight)


def read_multiplication(importer: Any, node: Any) -> Any:
    """An activated product times the other one, or the products of hidden rows times gates."""
    if any(not isinstance(item, torch.fx.Node) for item in node.args[:2]):
        return None
    for left, right in (node.args[:2], node.args[1::-1]):
        one, two = importer.routed.get(left), importer.routed.get(right)
        shapes = [tuple(item.meta["val"].shape) for item in (left, right)]
        if not isinstance(one, Rows) or len(shapes[0]) != 2:
            continue
        content = one.content
        if isinstance(content, Activated) and isinstance(two, Rows) and \
                isinstance(two.content, Product) and one.order == two.order and \
                shapes[0] == shapes[1] and content.product.choice == two.content.choice:
            return Rows(one.order, Hidden(content, two.content))
        if not isinstance(content, Product) or not isinstance(content.rows, Hidden) or \
                shapes[1] != (content.choice.rows, 1):
            continue
        if isinstance(two, Rows) and isinstance(two.content, Gate) and one.order == two.order:
            return Rows(one.order, Weighted(content, two.content.gates))
        gates = importer.values.get(right)
        if one.order is None and isinstance(gates, Value):
            return Rows(None, Weighted(content, gates))
    return None


def read_sum(importer: Any, node: Any, name: str, rows: Rows) -> Any:
    """The sum over a token's choices."""
    content = rows.content
    if not isinstance(content, Weighted) or rows.order is not None or node.kwargs:
        return None
    choice, shape = content.product.choice, tuple(node.meta["val"].shape)
    if name in ("aten.view.default", "aten.reshape.default"):
        is_split = shape == (choice.rows // choice.k, choice.k, content.product.size)
        return Rows(None, dataclasses.replace(content, is_split=True)) if is_split else None
    element = importer.element_of(node)
    if name != "aten.sum.dim_IntList" or not content.is_split or list(node.args[1]) not in \
            ([1], [-2]) or \
            len(node.args) > 2:
        return None
    whole = importer.graph.cast(build(importer, content), element)
    return importer.merged(whole, shape)


def build(importer: Any, content: Weighted) -> Value:
    """Writes nn.experts."""
    graph, down, choice = importer.graph, content.product, content.product.choice
    hidden: Hidden = down.rows
    gate, up = hidden.gate.product, hidden.up
    tokens = choice.ids.shape[:-1]
    if not isinstance(gate.rows, Token) or gate.rows != up.rows or \
            not gate.choice == up.choice == choice or (down.start, down.size) != \
            (0, down.weight.shape[-1]):
        raise ImportFailure("expects products of the same tokens and experts")
    whole = importer.unmerged.get(gate.rows.x, gate.rows.x)
    x = graph.reshape(whole, (*tokens, gate.rows.x.shape[-1]))
    if choice.bias:
        importer.loads.append((f"{choice.bias}.load",
                               count_choices(importer, choice, whole.shape[:-1])))
    gates = graph.cast(graph.reshape(content.gates, choice.ids.shape),
                       "f64" if x.element == "f64" else "f32")
    first, second = (graph.slice(part.weight, 2, part.start, part.size) for part in (gate, up))
    shape = (*tokens, down.size)
    kind = f"tensor<{''.join(f'{size}x' for size in shape)}{x.element}>"
    return graph.op(
        f"nn.experts <{hidden.gate.activation}> of {choice.experts} {x.name}, {choice.ids.name}, "
        f"{gates.name}, {first.name}, {second.name}, {down.weight.name} : {x.type}, "
        f"{choice.ids.type}, {gates.type}, {second.type}, {down.weight.type} -> {kind}", shape,
        x.element)
