"""Inlines the higher-order ops of the graph that torch.export makes: regions, branches on
constants, and loops whose numbers of trips follow from constants, which are unrolled."""

from __future__ import annotations

import operator
from typing import Any, Callable, Sequence

import torch

from .errors import ImportFailure

# The largest number of trips of a loop that is unrolled.
TRIPS = 4096
# Regions: the index of the body among the arguments; operands follow it.
REGIONS = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4}
# Advice for ops that are refused.
ADVICE = {"flex_attention": "write it with torch.nn.functional.scaled_dot_product_attention",
          "associative_scan": "write it with torch.cumsum, or as a loop of Python"}


def is_higher_order(node: Any) -> bool:
    return isinstance(node.target, torch._ops.HigherOrderOperator)


def check_known(module: Any, place: Callable[[Any], str]) -> None:
    """Fails if a module or a body in it has an unknown higher-order op."""
    for part in module.modules():
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else []:
            name = str(node.target)
            if is_higher_order(node) and name not in REGIONS and name not in LOOPS:
                advice = f"; {ADVICE[name]}" if name in ADVICE else ""
                raise ImportFailure(f"{place(node)}: expects an op that has a meaning in nn but "
                                    f"got {name}{advice}")


def visit(importer: Any, node: Any, name: str, where: str) -> bool:
    """Inlines a higher-order op; false for other nodes. `where` is its place in the source."""
    if not is_higher_order(node):
        return False
    if name in REGIONS:
        inline_region(importer, node, name, where)
    else:
        importer.parts[node] = LOOPS[name](importer, node, where)
    return True


def body_of(node: Any) -> Any:
    """The module that a node get_attr names."""
    return node.graph.owning_module.get_submodule(node.target)


def bodies_of(node: Any) -> list[Any]:
    """The modules among a node's arguments."""
    return [body_of(item) for item in node.all_input_nodes
            if item.op == "get_attr" and isinstance(item_of(item), torch.fx.GraphModule)]


def item_of(node: Any) -> Any:
    """The value of a node get_attr: a module or a tensor."""
    item = node.graph.owning_module
    for name in node.target.split("."):
        item = getattr(item, name)
    return item


def inline(importer: Any, body: Any, operands: Sequence[Any]) -> list[Any]:
    """Visits the nodes of a body, and returns keys of its results. An operand is a node, a key or a
    number."""
    nodes = list(body.graph.nodes)
    for found in (importer.values, importer.constants, importer.written, importer.routed,
                  importer.parts):
        for node in nodes:
            found.pop(node, None)
    importer.trained.difference_update(nodes)
    for inner, operand in zip((n for n in nodes if n.op == "placeholder"), operands):
        assign(importer, inner, operand)
    for inner in nodes:
        if inner.op == "call_function":
            importer.visit(inner)
        elif inner.op == "get_attr":
            read_attribute(importer, inner)
    # A loop visits the nodes again, so the results need keys of their own.
    results = next(node for node in nodes if node.op == "output").args[0]
    return [assign(importer, object(), item) for item in
            (results if isinstance(results, (list, tuple)) else [results])]


def read_attribute(importer: Any, node: Any) -> None:
    """Reads a tensor of a body."""
    item = item_of(node)
    if isinstance(item, torch.Tensor):
        importer.constants[node] = item


def assign(importer: Any, key: Any, item: Any) -> Any:
    """Makes a key an alias of a node or a key, or of a number."""
    if item is None or isinstance(item, (bool, int, float)):
        importer.constants[key] = item
    else:
        importer.alias(key, item)
    return key


def inline_region(importer: Any, node: Any, name: str, where: str) -> None:
    index = REGIONS[name]
    body, operands = body_of(node.args[index]), node.args[index + 1:]
    if name == "wrap_with_autocast":
        check_autocast(body, node.args[1], where)
        if importer.has_loss() and follows_same(node):
            raise ImportFailure(f"{where}: expects no autocasts directly one after the other: "
                                "torch.export makes them of a torch.no_grad in one, and drops it; "
                                "put the autocast into the torch.no_grad")
    results = importer.parts[node] = inline(importer, body, operands)
    if name == "wrap_with_set_grad_enabled" and not node.args[0]:
        for result in results:
            if result in importer.trained:
                importer.values[result] = importer.stop_gradient(importer.values[result])
                importer.trained.remove(result)


def follows_same(node: Any) -> bool:
    """True if the op before an autocast is one with the same settings."""
    before = node.prev
    while before.op == "get_attr" or before.target is operator.getitem:
        before = before.prev
    return bool(before.target is node.target and before.args[:4] == node.args[:4])


def check_autocast(body: Any, dtype: torch.dtype, where: str) -> None:
    """Fails if an op of a body has results of other types by an autocast than by itself."""
    for node in body.graph.nodes:
        if is_higher_order(node):
            if str(node.target) != "wrap_with_autocast":
                for inner in bodies_of(node):
                    check_autocast(inner, dtype, where)
        elif node.op == "call_function" and hasattr(node.target, "_schema"):
            given, named = torch.fx.node.map_arg((node.args, dict(node.kwargs)),
                                                 lambda item: item.meta["val"])
            with torch.no_grad():
                found = node.target(*given, **named)
            if types_of(found) != types_of(node.meta.get("val")):
                raise ImportFailure(
                    f"{where}: expects no autocast that casts by itself, as the operands of "
                    f"{node.target}; cast them, as with .to({dtype}), or the whole module")


def types_of(item: Any) -> list[torch.dtype]:
    return [leaf.dtype for leaf in torch.utils._pytree.tree_leaves(item)
            if isinstance(leaf, torch.Tensor)]


# Branches and loops.

def is_true(importer: Any, item: Any) -> bool | None:
    """The value of a condition, which follows from constants; none if it does not."""
    if isinstance(item, bool):
        return item
    constant = importer.constants.get(item)
    return None if constant is None else bool(constant)


def inline_cond(importer: Any, node: Any, where: str) -> list[Any]:
    condition, chosen, other, operands = node.args
    is_chosen = is_true(importer, condition)
    if is_chosen is None:
        raise ImportFailure(f"{where}: expects a cond whose condition follows from no input and no "
                            "parameter; write torch.where(condition, x, y), which computes both")
    return inline(importer, body_of(chosen if is_chosen else other), operands)


def inline_while_loop(importer: Any, node: Any, where: str) -> list[Any]:
    condition, body, carried, others = node.args
    carried = list(carried)
    for _ in range(TRIPS + 1):
        goes_on = is_true(importer, inline(importer, body_of(condition), [*carried, *others])[0])
        if goes_on is None:
            raise ImportFailure(f"{where}: expects a while_loop whose number of trips follows from "
                                "no input and no parameter; write a loop of Python")
        if not goes_on:
            return [assign(importer, object(), item) for item in carried]
        carried = inline(importer, body_of(body), [*carried, *others])
    raise ImportFailure(f"{where}: expects a while_loop of at most {TRIPS} trips")


def inline_scan(importer: Any, node: Any, where: str) -> list[Any]:
    """Unrolls a scan: the last values that are carried, and the other results of all trips."""
    body, carried, rows, others = node.args
    count = count_of(rows, "scan", where)
    kept: list[list[Any]] = []
    carried = list(carried)
    for i in range(count):
        results = inline(importer, body_of(body),
                         [*carried, *(row_of(importer, item, i) for item in rows), *others])
        kept.append(results[len(carried):])
        carried = results[:len(carried)]
    return [*(assign(importer, object(), item) for item in carried), *stack(importer, kept)]


def inline_map(importer: Any, node: Any, where: str) -> list[Any]:
    body, rows, others = node.args
    return stack(importer, [
        inline(importer, body_of(body), [*(row_of(importer, item, i) for item in rows), *others])
        for i in range(count_of(rows, "map", where))])


LOOPS: dict[str, Callable[[Any, Any, str], list[Any]]] = {
    "cond": inline_cond, "while_loop": inline_while_loop, "scan": inline_scan,
    "map_impl": inline_map}


def count_of(rows: Sequence[Any], name: str, where: str) -> int:
    """The number of trips of a loop over the first dimension of tensors."""
    count = rows[0].meta["val"].shape[0]
    if not isinstance(count, int) or not 0 < count <= TRIPS:
        raise ImportFailure(f"{where}: expects a {name} of 1 to {TRIPS} trips but got {count}")
    return count


def row_of(importer: Any, item: Any, index: int) -> Any:
    """A key of a row of the first dimension."""
    key = object()
    if item in importer.constants:
        importer.constants[key] = importer.constants[item][index]
        return key
    x = importer.value(item)
    row = importer.graph.slice(x, 0, index, 1)
    importer.values[key] = importer.graph.reshape(row, x.shape[1:])
    if item in importer.trained:
        importer.trained.add(key)
    return key


def stack(importer: Any, trips: Sequence[Sequence[Any]]) -> list[Any]:
    """Keys of the results of all trips, each result along a new first dimension."""
    keys = []
    for items in zip(*trips):
        key = object()
        if all(item in importer.constants for item in items):
            importer.constants[key] = torch.stack([importer.constants[item] for item in items])
        else:
            values = [importer.value(item) for item in items]
            rows = [importer.graph.reshape(x, (1,) + x.shape) for x in values]
            importer.values[key] = importer.graph.concat(rows, 0)
        if any(item in importer.trained for item in items):
            importer.trained.add(key)
        keys.append(key)
    return keys
