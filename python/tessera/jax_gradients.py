"""Checks that the gradient of a JAX loss is the gradient of its ops, and rejects ops that StableHLO
expands or calls.

StableHLO has no gradients: a `stop_gradient` and custom rules are lost there, so the jaxpr is read
first. Accepted are rules that change no gradient: a stop_gradient of a maximum (as in a softmax) or
of numbers that depend on no parameter, and the rules of jax's own functions, which match their ops.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Iterator, Sequence

from .errors import ImportFailure


@dataclass(frozen=True)
class Origin:
    """The facts that a value depends on."""
    parameters: bool = False
    # True for a maximum of a tensor, also in another shape.
    maximum: bool = False


KEEPS_MAXIMUM = {"reshape", "broadcast_in_dim", "convert_element_type", "squeeze", "expand_dims",
                 "transpose", "max", "select_n", "is_finite"}


# Primitives that StableHLO expands to shifts and additions that draw numbers, and primitives that
# it turns into calls.
RANDOM = {"random_bits", "random_gamma", "rng_bit_generator", "rng_uniform", "threefry2x32"}
CALLS = {"debug_callback", "debug_print", "io_callback", "pure_callback", "shard_map"}


def check_ops(closed: Any) -> None:
    """Fails on random numbers, a callback or a shard_map."""
    check_body(closed.jaxpr, source_of(closed))


def source_of(closed: Any) -> str:
    """File and line of a jaxpr's function."""
    info = getattr(getattr(closed.jaxpr, "debug_info", None), "func_src_info", None) or ""
    return str(info).rpartition(" at ")[2]


def check_body(jaxpr: Any, outer: str) -> None:
    for eqn in jaxpr.eqns:
        name, where = eqn.primitive.name, place(eqn) or outer
        if name in RANDOM:
            raise ImportFailure(f"{where}: expects no random numbers but got {name}")
        if name in CALLS:
            raise ImportFailure(f"{where}: expects an op that has a meaning in nn but got {name}")
        check_devices(list(eqn.params.values()), where)
        for body in find_bodies(eqn):
            check_body(body, where)


def check_devices(values: Any, where: str) -> None:
    """Fails if values are or have shardings over a mesh that permutes the devices: ranks are
    numbered in the order of the mesh."""
    import jax
    for value in jax.tree_util.tree_leaves(values):
        mesh = getattr(getattr(value, "sharding", value), "mesh", None)
        ids = [device.id for device in mesh.devices.flat] \
            if isinstance(mesh, jax.sharding.Mesh) else []
        if ids != sorted(ids):
            raise ImportFailure(f"{where}: expects a mesh whose devices are in order but got {ids}")


def is_float(dtype: Any) -> bool:
    import jax
    return bool(jax.numpy.issubdtype(dtype, jax.numpy.floating))


def check_gradients(closed: Any) -> None:
    """Fails if the gradient of a loss (a function of one float) differs from its ops' gradient."""
    jaxpr = closed.jaxpr
    results = [var.aval for var in jaxpr.outvars]
    if len(results) != 1 or results[0].shape != () or not is_float(results[0].dtype):
        return
    walk(jaxpr, [Origin(parameters=is_float(var.aval.dtype)) for var in jaxpr.invars],
         source_of(closed))


def check_state(closed: Any, arguments: Sequence[Any], result: Any) -> None:
    """Fails if a function returns, next to a loss, new values of arguments that the loss does not
    depend on, such as the moments of a batch norm: a training step would not keep them. A function
    that returns values for the loss's own arguments, gradients or a step's parameters, passes."""
    import jax
    from jax.interpreters import partial_eval
    is_loss = [var.aval.shape == () and is_float(var.aval.dtype) for var in closed.jaxpr.outvars]
    if not any(is_loss) or all(is_loss):
        return
    in_loss = partial_eval.dce_jaxpr(closed.jaxpr, is_loss)[1]
    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(tuple(arguments))[0]]
    returned = jax.tree_util.tree_flatten_with_path(result)[0]
    written = [(path, is_used) for path, argument, is_used in zip(paths, closed.in_avals, in_loss)
               for own, value in returned if is_new_value(path, argument, own, value)]
    if written and not any(is_used for _, is_used in written):
        raise ImportFailure(
            f"{source_of(closed)}: expects a loss without new values of arguments but got "
            f"{jax.tree_util.keystr(written[0][0][1:])}: batch norms take given statistics, as by "
            "use_running_average=True")


def is_new_value(path: Sequence[Any], argument: Any, own: Sequence[Any], value: Any) -> bool:
    """True if a result has the type of an argument, and its path ends like the argument's. The
    first keys are the argument and the element of the result."""
    count = min(len(path), len(own)) - 1
    return (count > 0 and is_float(value.dtype) and tuple(path[-count:]) == tuple(own[-count:])
            and (argument.shape, argument.dtype) == (value.shape, value.dtype))


def walk(jaxpr: Any, inputs: Sequence[Origin], outer: str) -> list[Origin]:
    """The origins of a jaxpr's results, given those of its inputs."""
    known: dict[Any, Origin] = dict(zip(jaxpr.invars, inputs))

    def origin(atom: Any) -> Origin:
        return known.get(atom, Origin()) if not hasattr(atom, "val") else Origin()

    for eqn in jaxpr.eqns:
        operands = [origin(atom) for atom in eqn.invars]
        for var, result in zip(eqn.outvars, follow(eqn, operands, place(eqn) or outer)):
            known[var] = result
    return [origin(atom) for atom in jaxpr.outvars]


def follow(eqn: Any, operands: list[Origin], where: str) -> list[Origin]:
    """The origins of the results of an equation; `where` is its location in the source."""
    name = eqn.primitive.name
    depends = any(operand.parameters for operand in operands)
    maximum = name == "reduce_max" or (
        name in KEEPS_MAXIMUM and any(operand.maximum for operand in operands))
    if name == "stop_gradient" and depends and not operands[0].maximum:
        raise ImportFailure(f"{where}: expects a stop_gradient of a maximum or of what "
                            "follows from no parameter")
    if name.startswith("custom_") and depends and not is_own_rule(eqn):
        raise ImportFailure(f"{where}: expects no gradient of its own ({name})")
    bodies = list(find_bodies(eqn))
    if not bodies:
        return [Origin(depends, maximum)] * len(eqn.outvars)
    results: list[Origin] = []
    for body in bodies:
        inputs = operands[-len(body.invars):] if body.invars else []
        if len(inputs) != len(body.invars) or name in ("scan", "while", "cond"):
            inputs = [Origin(depends)] * len(body.invars)
        results = walk(body, inputs, where)
    if len(results) != len(eqn.outvars) or len(bodies) > 1:
        return [Origin(depends, maximum)] * len(eqn.outvars)
    return results


def find_bodies(eqn: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation."""
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            jaxpr = getattr(item, "jaxpr", item)
            if hasattr(jaxpr, "eqns") and hasattr(jaxpr, "invars"):
                yield jaxpr


def rule_source(eqn: Any) -> str:
    """Name and file of the function that has a custom rule."""
    body = next(find_bodies(eqn), None)
    return str(getattr(getattr(body, "debug_info", None), "func_src_info", None) or "")


def is_own_rule(eqn: Any) -> bool:
    """True if the function with a rule is jax's own or is defined in this module."""
    import jax
    return any(os.path.dirname(file) + os.sep in rule_source(eqn)
               for file in (jax.__file__, __file__))


def has_own_bounds(jaxpr: Any) -> bool:
    """True if the jaxpr calls jax's own relu or relu6, whose gradients at their bounds differ from
    their ops' gradients."""
    import jax
    return any((eqn.primitive.name == "custom_jvp_call"
                and rule_source(eqn).startswith(("relu at ", "relu6 at "))
                and os.path.dirname(jax.__file__) + os.sep in rule_source(eqn))
               or any(map(has_own_bounds, find_bodies(eqn))) for eqn in jaxpr.eqns)


def place(eqn: Any) -> str:
    """File and line of an equation; empty if it is not in the user's source."""
    from jax._src import source_info_util
    found: str = source_info_util.summarize(eqn.source_info).split(" ")[0]
    return "" if found.startswith(os.path.dirname(__file__) + os.sep) else found
