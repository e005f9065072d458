"""Finds mixtures of experts in a jaxpr, and calls nn.experts in their place.

A row is a choice: token t goes to the experts ids[t, 0], ids[t, 1], ... of a top_k. Rows that
`ragged_dot` multiplies are described, not computed: a description says which choice each row
belongs to and what it holds. Integers that follow from ids alone (orders, sizes of groups) are run
on trial ids, so it does not matter how they are written. An op without a rule for such rows is an
error, so nothing but a mixture without dropped choices becomes nn.experts."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, Callable, NamedTuple, NoReturn, Sequence

import jax
import numpy
from jax import numpy as jnp

from .errors import ImportFailure
from .jax_gradients import find_bodies, place, source_of

CALL = "nn.experts"
DOT, CHOICE = "ragged_dot_general", "top_k"
# Ids that functions of ids are run on: all tokens to the same few experts, and random ones.
EVEN_TRIALS, RANDOM_TRIALS = 8, 4
# Equations that do what their body does.
CALLS = {"jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2",
         "custom_jvp_call", "custom_vjp_call"}
# Equations that change no number, apart from rounding.
KEEPS = {"convert_element_type", "copy", "name", "reduce_precision"}
ELEMENTWISE = {"abs", "add", "add_any", "div", "eq", "erf", "erfc", "exp", "exp2", "expm1", "ge",
               "gt", "integer_pow", "le", "log", "log1p", "logistic", "lt", "max", "min", "mul",
               "ne", "neg", "pow", "rsqrt", "select_n", "sign", "sqrt", "square", "sub", "tanh"}
ACTIVATIONS = {"silu": jax.nn.silu, "gelu": functools.partial(jax.nn.gelu, approximate=False),
               "gelu_tanh": functools.partial(jax.nn.gelu, approximate=True)}
TOLERANCE = 1e-5


@dataclasses.dataclass(eq=False)
class Choice:
    """The ids [tokens..., k] of a top_k of [tokens..., experts]: distinct and in range."""
    ids: Any
    experts: int

    @property
    def k(self) -> int:
        return int(self.ids.shape[-1])

    @property
    def rows(self) -> int:
        return int(math.prod(self.ids.shape))

    @functools.cached_property
    def trials(self) -> list[numpy.ndarray]:
        """Distinct ids of each token: the first trials load few experts with all tokens."""
        generator = numpy.random.default_rng(0)
        tokens, found = self.rows // self.k, []
        starts = numpy.linspace(0, self.experts - 1, EVEN_TRIALS).astype(int)
        for start in [*starts, *[None] * RANDOM_TRIALS]:
            offsets = generator.permutation(self.experts)[:self.k]
            first = generator.integers(self.experts, size=(tokens, 1)) if start is None else start
            ids = (numpy.broadcast_to(first, (tokens, 1)) + offsets) % self.experts
            found.append(ids.reshape(self.ids.shape).astype(self.ids.dtype))
        return found


class Call:
    """An equation that is evaluated if its results are needed, at most once."""

    def __init__(self, eqn: Any, operands: Sequence[Any]) -> None:
        self.eqn, self.operands = eqn, operands

    @functools.cached_property
    def results(self) -> list[Any]:
        return bind(self.eqn, [plain(item) for item in self.operands])

    @functools.cached_property
    def trials(self) -> list[list[numpy.ndarray]]:
        """The results for each trial of the ids that the operands follow from."""
        count = max([1, *(len(item.trials) for item in self.operands
                          if isinstance(item, Numbers))])
        found = []
        with jax.ensure_compile_time_eval():
            for i in range(count):
                results = bind(self.eqn, [item.trial(i) if isinstance(item, Numbers) else item
                                          for item in self.operands])
                found.append([numpy.asarray(result) for result in results])
        return found


@dataclasses.dataclass(eq=False)
class Numbers:
    """A value that follows from constants, and from the ids of a choice if there is one."""
    choice: Choice | None
    call: Call | None = None
    index: int = 0

    @property
    def value(self) -> Any:
        return self.call.results[self.index] if self.call else self.choice.ids

    @property
    def trials(self) -> list[numpy.ndarray]:
        if self.call is None:
            return self.choice.trials
        return [results[self.index] for results in self.call.trials]

    def trial(self, i: int) -> numpy.ndarray:
        """The value of trial i; constants have one value."""
        return self.trials[i if len(self.trials) > 1 else 0]


@dataclasses.dataclass(eq=False)
class Picked:
    """Rows of a value at positions that follow from ids. It is computed if another op than those on
    rows of experts needs it."""
    source: Any
    choice: Choice
    # The position of each row, for each trial.
    positions: list[numpy.ndarray]
    call: Call
    # The source is repeated: row i of the value is row i / repeats of it.
    repeats: int = 1

    @property
    def value(self) -> Any:
        return self.call.results[0]


@dataclasses.dataclass(eq=False)
class Product:
    """Rows times the matrices [experts, in, out] of their experts, elements from `start` on. The
    rows are tokens of x, or hidden rows."""
    rows: Any
    weight: Any
    start: int
    size: int


@dataclasses.dataclass(eq=False)
class Applied:
    """A function of each element of a product."""
    product: Product
    function: Callable[[numpy.ndarray], numpy.ndarray]


@dataclasses.dataclass(eq=False)
class Hidden:
    """An activated product times another one, and times gates if there are any."""
    activation: str
    gate: Product
    up: Product
    gates: Any = None


@dataclasses.dataclass(eq=False)
class Weighted:
    """The product of hidden rows, times gates."""
    product: Product
    gates: Any


class Rows(NamedTuple):
    """A tensor with a row for each choice: for each trial, which choice."""
    choice: Choice
    order: list[numpy.ndarray]
    # The dimensions of rows, and elements of a row.
    shape: tuple[int, ...]
    content: Any

    def is_plain(self) -> bool:
        """True if the rows are in the order of choices."""
        return all(numpy.array_equal(order, numpy.arange(self.choice.rows))
                   for order in self.order)


def bind(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Evaluates or traces an equation, whose ops keep their place in the source."""
    from jax._src import source_info_util
    stack = source_info_util.current_name_stack() + eqn.source_info.name_stack
    with source_info_util.user_context(eqn.source_info.traceback, name_stack=stack), \
            eqn.ctx.manager:
        found = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    return list(found) if eqn.primitive.multiple_results else [found]


def plain(item: Any) -> Any:
    """The value of an item."""
    if isinstance(item, Rows):
        raise ImportFailure("expects rows of experts that are summed by token")
    return item.value if isinstance(item, (Numbers, Picked)) else item


def is_constant(item: Any) -> bool:
    return not isinstance(item, (Numbers, Picked, Rows, jax.core.Tracer))


def has_op(jaxpr: Any, names: set[str]) -> bool:
    return any(eqn.primitive.name in names or any(has_op(body, names) for body in find_bodies(eqn))
               for eqn in jaxpr.eqns)


def raise_experts(function: Callable[..., Any], closed: Any, result: Any) -> Callable[..., Any]:
    """The function of a jaxpr, with nn.experts in place of mixtures of experts. `result` has the
    structure of its results."""
    if not has_op(closed.jaxpr, {DOT}):
        return function
    tree = jax.tree_util.tree_structure(result)

    @functools.wraps(function)
    def routed(*arguments: Any) -> Any:
        leaves = jax.tree_util.tree_leaves(arguments)
        results = Reader(source_of(closed)).run(closed.jaxpr, closed.consts, leaves)
        return jax.tree_util.tree_unflatten(tree, results)
    return routed


class Reader:
    """Evaluates a jaxpr, and describes the rows of experts in it."""

    def __init__(self, source: str) -> None:
        self.where = source
        # Values whose rows repeat those of another, and values that are spread along a new last
        # dimension of others, by their identity. They are kept, so no other value has it.
        self.repeated: dict[int, tuple[Any, Any]] = {}
        self.narrow: dict[int, tuple[Any, Any]] = {}

    def run(self, jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """The values of a jaxpr's results."""
        results = self.walk(jaxpr, consts, arguments)
        if any(isinstance(item, Rows) for item in results):
            raise ImportFailure(f"{self.where}: expects rows of experts that are summed by token")
        return [plain(item) for item in results]

    def walk(self, jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments]))

        def find(atom: Any) -> Any:
            return atom.val if hasattr(atom, "val") else known[atom]

        outer = self.where
        for eqn in jaxpr.eqns:
            self.where = place(eqn) or outer
            known.update(zip(eqn.outvars, self.visit(eqn, [find(atom) for atom in eqn.invars])))
            self.where = outer
        return [find(atom) for atom in jaxpr.outvars]

    def fail(self, text: str) -> NoReturn:
        raise ImportFailure(f"{self.where}: {text}")

    def visit(self, eqn: Any, operands: list[Any]) -> list[Any]:
        name = eqn.primitive.name
        has_rows = any(isinstance(item, Rows) for item in operands)
        if name in CALLS and (has_rows or not all(map(is_tracer, operands)) or
                              any(has_op(body, {DOT, CHOICE}) for body in find_bodies(eqn))):
            return self.enter(eqn, operands)
        if name == "scan" and any(has_op(body, {DOT}) for body in find_bodies(eqn)):
            return self.scan(eqn, [plain(item) for item in operands])
        if has_rows or name == DOT:
            found = self.read_dot(eqn, operands) if name == DOT else self.read_rows(eqn, operands)
            if found is None:
                self.fail("expects experts that are gated MLPs of the tokens that chose them, "
                          f"weighted by their gates, but got {name} of their rows")
            return found
        if any(has_op(body, {DOT}) for body in find_bodies(eqn)):
            self.fail(f"expects experts outside of {name}")
        choices = {item.choice for item in operands if isinstance(item, Numbers)} - {None}
        if all(isinstance(item, Numbers) or is_constant(item) for item in operands) and \
                len(choices) <= 1 and not eqn.effects:
            call, choice = Call(eqn, operands), next(iter(choices), None)
            return [Numbers(choice, call, i) for i in range(len(eqn.outvars))]
        return self.read_value(eqn, operands)

    def enter(self, eqn: Any, operands: list[Any]) -> list[Any]:
        """Evaluates the body of a call, with the shardings of its arguments and results."""
        closed = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
        jaxpr, consts = getattr(closed, "jaxpr", closed), getattr(closed, "consts", ())
        inputs = self.constrain(operands, eqn.params.get("in_shardings", ()))
        return self.constrain(self.walk(jaxpr, consts, inputs),
                              eqn.params.get("out_shardings", ()))

    def constrain(self, items: list[Any], shardings: Sequence[Any]) -> list[Any]:
        found = list(items)
        for i, sharding in enumerate(shardings):
            if isinstance(sharding, jax.sharding.Sharding):
                if isinstance(items[i], Rows):
                    self.fail("expects rows of experts without a sharding")
                found[i] = jax.lax.with_sharding_constraint(plain(items[i]), sharding)
        return found

    def scan(self, eqn: Any, operands: list[Any]) -> list[Any]:
        """Replaces mixtures in the body of a scan."""
        closed = eqn.params["jaxpr"]
        shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
                  for aval in closed.in_avals]
        body = jax.make_jaxpr(lambda *arguments: Reader(self.where).run(
            closed.jaxpr, closed.consts, arguments))(*shapes)
        return bind(eqn.replace(params={**eqn.params, "jaxpr": body}), operands)

    # Values.

    def read_value(self, eqn: Any, operands: list[Any]) -> list[Any]:
        """The results of an equation without rows; notes those that rows may be found by."""
        name, first = eqn.primitive.name, operands[0] if operands else None
        if name == "gather":
            found = self.read_pick(eqn, operands)
            if found is not None:
                return [found]
        if isinstance(first, Picked) and len(operands) == 1:
            kept = keep_picked(eqn, first)
            if kept is not None:
                return [kept]
        values = [plain(item) for item in operands]
        results = bind(eqn, values)
        if name == CHOICE and eqn.params.get("axis", -1) in (-1, values[0].ndim - 1):
            results[1] = Numbers(Choice(results[1], values[0].shape[-1]))
        if name in ("broadcast_in_dim", "reshape"):
            self.note_spread(eqn, values[0], results[0])
        return results

    def note_spread(self, eqn: Any, x: Any, result: Any) -> None:
        """Notes a value [tokens, width] that becomes [tokens, repeats, width], and then
        [tokens repeats, width]; and a value that gets a new last dimension."""
        source = self.repeated.get(id(x), (None, x))[1]
        shape = result.shape
        if eqn.primitive.name == "reshape":
            is_merge = len(shape) == 2 and x.ndim == 3 and source is not x and \
                shape[1] == x.shape[2]
            if is_merge:
                self.repeated[id(result)] = (result, source)
            return
        dims = eqn.params["broadcast_dimensions"]
        if source.ndim == 2 and len(shape) == 3 and shape[::2] == source.shape and \
                dims == ((0, 2) if source is x else (0, 1, 2)):
            self.repeated[id(result)] = (result, source)
        inner = self.narrow.get(id(x), (None, x))[1]
        if dims == tuple(range(x.ndim)) and shape[:inner.ndim] == inner.shape and \
                len(shape) == inner.ndim + 1:
            self.narrow[id(result)] = (result, inner)

    def read_pick(self, eqn: Any, operands: list[Any]) -> Picked | None:
        """Rows of tokens or of choices, at positions that follow from ids."""
        source, index = operands
        if not isinstance(index, Numbers) or index.choice is None or not is_row_gather(eqn) or \
                not jnp.issubdtype(eqn.outvars[0].aval.dtype, jnp.floating):
            return None
        choice, value = index.choice, plain(source)
        known = self.repeated.get(id(value), (None, value))[1]
        tokens = choice.rows // choice.k
        if known is not value and known.shape[0] != tokens or \
                value.shape[0] not in (tokens, choice.rows) or \
                len(index.trials[0].shape) != 2 or \
                any(((trial < 0) | (trial >= value.shape[0])).any() for trial in index.trials):
            return None
        repeats = 1 if known is value else choice.k
        return Picked(known, choice, [trial[:, 0] for trial in index.trials],
                      Call(eqn, operands), repeats)

    # Rows.

    def read_dot(self, eqn: Any, operands: list[Any]) -> list[Any] | None:
        """Rows times the matrices of their experts."""
        rows, weight, sizes = operands[:3]
        numbers = eqn.params["ragged_dot_dimension_numbers"]
        (left, right), batch = numbers.dot_dimension_numbers
        weight = plain(weight)
        if not isinstance(rows, (Rows, Picked)):
            self.fail("expects a ragged_dot of tokens that are sorted by the experts of a top_k")
        is_grouped = eqn.params["group_offset"] is None and len(operands) == 3 and \
            (tuple(left), tuple(batch), weight.ndim) == ((1,), ((), ()), 3) and \
            tuple(numbers.lhs_ragged_dimensions) == tuple(numbers.rhs_group_dimensions) == (0,)
        if not is_grouped:
            return None
        choice = rows.choice
        if not isinstance(sizes, Numbers) or sizes.choice is not choice or \
                weight.shape[0] != choice.experts or not all(
                    numpy.array_equal(trial, numpy.bincount(ids.ravel(), minlength=choice.experts))
                    for trial, ids in zip(sizes.trials, choice.trials)):
            self.fail("expects groups of all rows of each expert but got others")
        order = find_order(rows) if isinstance(rows, Picked) else rows.order
        if order is None or any((numpy.diff(ids.ravel()[row]) < 0).any()
                                for ids, row in zip(choice.trials, order)):
            self.fail("expects rows in the order of their experts")
        source = rows.source if isinstance(rows, Picked) else rows.content
        if isinstance(rows, Rows) and not isinstance(source, Hidden):
            return None
        if tuple(right) != (1,):
            weight = jnp.swapaxes(weight, 1, 2)
        size = weight.shape[-1]
        return [Rows(choice, order, (choice.rows, size), Product(source, weight, 0, size))]

    def read_rows(self, eqn: Any, operands: list[Any]) -> list[Any] | None:
        """The results of an equation on rows."""
        name, first = eqn.primitive.name, operands[0]
        shape = tuple(eqn.outvars[0].aval.shape)
        if name in KEEPS:
            kind = eqn.outvars[0].aval.dtype
            return [first] if jnp.issubdtype(kind, jnp.floating) and kind.itemsize > 1 else None
        if name == "reshape":
            return [first._replace(shape=shape)] if shape[-1:] == first.shape[-1:] else None
        if name == "gather":
            return self.read_reorder(eqn, operands)
        if name in ("slice", "split"):
            return read_slices(eqn, first)
        if name == "mul":
            found = self.multiply(operands)
            if found is not None:
                return [found]
        if name in ELEMENTWISE:
            return read_function(eqn, operands)
        if name in ("reduce_sum", "dot_general", "scatter-add"):
            weighted = self.read_sum(eqn, operands)
            return None if weighted is None else \
                [self.build(*weighted).reshape(shape).astype(eqn.outvars[0].aval.dtype)]
        return None

    def read_reorder(self, eqn: Any, operands: list[Any]) -> list[Any] | None:
        rows, index = operands
        if not isinstance(rows, Rows) or not isinstance(index, Numbers) or \
                index.choice is not rows.choice or len(rows.shape) != 2 or \
                not is_row_gather(eqn) or \
                any(not numpy.array_equal(numpy.sort(trial, None), numpy.arange(rows.choice.rows))
                    for trial in index.trials):
            return None
        order = [row[trial.ravel()] for row, trial in zip(rows.order, index.trials)]
        return [rows._replace(order=order, shape=tuple(eqn.outvars[0].aval.shape))]

    def multiply(self, operands: list[Any]) -> Rows | None:
        """An activated product times the other one, or rows times gates."""
        for one, two in (operands, operands[::-1]):
            if not isinstance(one, Rows):
                continue
            content = one.content
            if isinstance(two, Rows):
                other = two.content
                if isinstance(content, Applied) and isinstance(other, Product) and \
                        content.product is not other and is_alike(one, two):
                    activation = self.find_activation(content.function)
                    return one._replace(content=Hidden(activation, content.product, other))
                continue
            gates = self.find_gates(one, two)
            if gates is None:
                continue
            if isinstance(content, Hidden) and content.gates is None:
                return one._replace(content=dataclasses.replace(content, gates=gates))
            if is_down(content) and content.rows.gates is None:
                return one._replace(content=Weighted(content, gates))
        return None

    def find_gates(self, rows: Rows, item: Any) -> Any:
        """The gates of choices in plain order, if an item holds each row's."""
        if isinstance(item, Picked):
            is_gate = item.repeats == 1 and item.choice is rows.choice and \
                math.prod(item.source.shape) == rows.choice.rows and all(
                    map(numpy.array_equal, item.positions, rows.order))
            return item.source if is_gate else None
        if is_constant(item) or not rows.is_plain():
            return None
        value = plain(item)
        inner = self.narrow.get(id(value), (None, value))[1]
        is_gate = inner.shape in (rows.shape[:-1], (*rows.shape[:-1], 1))
        return inner if is_gate else None

    def find_activation(self, function: Callable[[numpy.ndarray], numpy.ndarray]) -> str:
        points = numpy.linspace(-8, 8, 257, dtype=numpy.float32)
        with jax.ensure_compile_time_eval():
            found = function(points)
            for name, activation in ACTIVATIONS.items():
                if numpy.allclose(found, activation(points), rtol=TOLERANCE, atol=TOLERANCE):
                    return name
        self.fail("expects SiLU or GELU as the activation of experts")

    def read_sum(self, eqn: Any, operands: list[Any]) -> tuple[Rows, Product, Any] | None:
        """Rows that an equation sums over the choices of each token, and their gates."""
        name = eqn.primitive.name
        rows = next(item for item in operands if isinstance(item, Rows))
        content, choice = rows.content, rows.choice
        lead, width = rows.shape[:-2], rows.shape[-1:]
        if name == "dot_general":
            other = plain(operands[1 if operands[0] is rows else 0])
            batch, inner = tuple(range(len(lead))), (len(lead),)
            numbers = eqn.params["dimension_numbers"]
            is_sum = [tuple(map(tuple, part)) for part in numbers] == \
                [(inner, inner), (batch, batch)] and other.shape == rows.shape[:-1]
            if not is_sum or not rows.is_plain() or not is_down(content) or \
                    content.rows.gates is not None:
                return None
            content = Weighted(content, other)
        elif name == "reduce_sum":
            if tuple(eqn.params["axes"]) != (len(lead),):
                return None
        elif not is_row_scatter(eqn, operands) or any(
                not numpy.array_equal(trial.ravel(), order // choice.k)
                for trial, order in zip(operands[1].trials, rows.order)):
            return None
        if name != "scatter-add" and (rows.shape != (*lead, choice.k, *width) or any(
                (order // choice.k != numpy.arange(choice.rows) // choice.k).any()
                for order in rows.order)):
            return None
        if is_down(content) and content.rows.gates is not None:
            return rows, content, content.rows.gates
        return (rows, content.product, content.gates) if isinstance(content, Weighted) else None

    def build(self, rows: Rows, down: Product, gates: Any) -> Any:
        """Calls nn.experts."""
        hidden, choice = down.rows, rows.choice
        gate, up = hidden.gate, hidden.up
        if gate.rows is not up.rows or (down.start, down.size) != (0, down.weight.shape[-1]):
            self.fail("expects products of the same tokens and experts")
        tokens = choice.ids.shape[:-1]
        kind = functools.reduce(jnp.promote_types, (item.dtype for item in (
            gate.rows, gate.weight, up.weight, down.weight)))
        x = gate.rows.astype(kind).reshape(*tokens, gate.rows.shape[-1])
        gates = gates.reshape(choice.ids.shape).astype(jnp.promote_types(kind, jnp.float32))
        first, second = (part.weight[..., part.start:part.start + part.size].astype(kind)
                         for part in (gate, up))
        call = jax.ffi.ffi_call(CALL, jax.ShapeDtypeStruct((*tokens, down.size), kind))
        return call(x, choice.ids, gates, first, second, down.weight.astype(kind),
                    activation=hidden.activation)


def is_tracer(item: Any) -> bool:
    return isinstance(item, jax.core.Tracer)


def keep_picked(eqn: Any, picked: Picked) -> Picked | None:
    """Picked rows in another float type, or with another number of dimensions of size 1."""
    name, aval = eqn.primitive.name, eqn.outvars[0].aval
    call = Call(eqn, [picked])
    if name == "convert_element_type" and jnp.issubdtype(aval.dtype, jnp.floating):
        return dataclasses.replace(picked, source=bind(eqn, [picked.source])[0], call=call)
    if name in ("broadcast_in_dim", "reshape") and math.prod(picked.source.shape[1:]) == 1 and \
            aval.shape[0] == len(picked.positions[0]) and \
            (name == "reshape" or eqn.params["broadcast_dimensions"][:1] == (0,)):
        return dataclasses.replace(picked, call=call)
    return None


def is_row_gather(eqn: Any) -> bool:
    """True if a gather takes whole rows of the first dimension."""
    table, index = (atom.aval.shape for atom in eqn.invars)
    dims = eqn.params["dimension_numbers"]
    return tuple(dims.collapsed_slice_dims) == tuple(dims.start_index_map) == (0,) and \
        not dims.operand_batching_dims and \
        tuple(dims.offset_dims) == tuple(range(len(index) - 1, len(index) + len(table) - 2)) and \
        tuple(eqn.params["slice_sizes"]) == (1, *table[1:])


def is_row_scatter(eqn: Any, operands: list[Any]) -> bool:
    """True if a scatter adds whole rows to zeros."""
    zeros, index, rows = operands
    dims = eqn.params["dimension_numbers"]
    return isinstance(zeros, Numbers) and zeros.choice is None and not zeros.trials[0].any() and \
        isinstance(rows, Rows) and len(rows.shape) == 2 and isinstance(index, Numbers) and \
        index.choice is rows.choice and not dims.operand_batching_dims and \
        tuple(dims.update_window_dims) == (1,) and tuple(dims.inserted_window_dims) == (0,) and \
        tuple(dims.scatter_dims_to_operand_dims) == (0,)


def find_order(picked: Picked) -> list[numpy.ndarray] | None:
    """The choice of each row, if the rows are tokens in the order of their experts."""
    choice = picked.choice
    tokens = choice.rows // choice.k
    if picked.source.ndim != 2 or picked.source.shape[0] != tokens:
        return None
    orders = []
    for ids, positions in zip(choice.trials, picked.positions):
        chosen = numpy.full((tokens, choice.experts), -1)
        chosen[numpy.arange(choice.rows) // choice.k, ids.ravel()] = numpy.arange(choice.rows)
        if len(positions) != choice.rows:
            return None
        order = chosen[positions // picked.repeats, numpy.sort(ids, None)]
        if not numpy.array_equal(numpy.sort(order), numpy.arange(choice.rows)):
            return None
        orders.append(order)
    return orders


def is_alike(one: Rows, two: Rows) -> bool:
    return one.choice is two.choice and one.shape == two.shape and \
        all(map(numpy.array_equal, one.order, two.order))


def is_down(content: Any) -> bool:
    """True for the product of hidden rows."""
    return isinstance(content, Product) and isinstance(content.rows, Hidden)


def read_slices(eqn: Any, rows: Rows) -> list[Any] | None:
    """Slices of the last dimension of a product."""
    content, params = rows.content, eqn.params
    last = len(rows.shape) - 1
    if not isinstance(content, Product):
        return None
    if eqn.primitive.name == "split":
        if params["axis"] != last:
            return None
        sizes = [int(size) for size in params["sizes"]]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
    else:
        begin, end = params["start_indices"], params["limit_indices"]
        if any(begin[:last]) or tuple(end[:last]) != rows.shape[:-1] or \
                any(stride != 1 for stride in params["strides"] or ()):
            return None
        sizes, starts = [end[last] - begin[last]], [begin[last]]
    return [rows._replace(shape=(*rows.shape[:-1], size), content=Product(
        content.rows, content.weight, content.start + start, size))
        for start, size in zip(starts, sizes)]


def read_function(eqn: Any, operands: list[Any]) -> list[Any] | None:
    """A function of each element of one product, and of constants that do not vary."""
    rows = [item for item in operands if isinstance(item, Rows)]
    products, parts = set(), []
    for item in operands:
        if isinstance(item, Rows):
            content = item.content
            product = content.product if isinstance(content, Applied) else content
            products.add(product)
            parts.append(content.function if isinstance(content, Applied) else lambda x: x)
            continue
        numbers = item.trials[0] if isinstance(item, Numbers) and item.choice is None else item
        if not is_constant(numbers):
            return None
        known = numpy.unique(numpy.asarray(numbers))
        if len(known) != 1:
            return None
        parts.append(functools.partial(numpy.full_like, fill_value=known[0]))
    if len(products) != 1 or not isinstance(product := products.pop(), Product) or \
            isinstance(product.rows, Hidden) or not all(is_alike(rows[0], item) for item in rows):
        return None

    def apply(x: numpy.ndarray) -> numpy.ndarray:
        return numpy.asarray(bind(eqn, [part(x) for part in parts])[0])
    return [rows[0]._replace(content=Applied(product, apply))]
