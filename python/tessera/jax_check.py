"""Runs a function in JAX, for --check."""

from __future__ import annotations

import re
import sys
from typing import Any, Callable, Mapping, Sequence

from .check import Computed, Run, split_arguments
from .errors import ImportFailure, first_line

# The standard deviation of parameters that are given by their shape.
DEVIATION = 0.1


def name_arguments(graph: str) -> tuple[list[str], set[str]]:
    """The names of a function's arguments in order, and the names of the inputs among them. A
    parameter that several arguments of the graph view is listed once."""
    names: list[str] = []
    inputs: set[str] = set()
    for _, attributes in split_arguments(graph):
        found = re.search(r'nn\.input = "([^"]*)"', attributes)
        if found:
            inputs.add(found.group(1))
        found = found or re.search(r'#nn\.source<"([^"]*)"', attributes) or \
            re.search(r'nn\.param = "([^"]*)"', attributes)
        if found and found.group(1) not in names:
            names.append(found.group(1))
    return names, inputs


def draw_leaves(leaves: Sequence[Any], names: Sequence[str],
                limits: Mapping[str, int]) -> list[Any]:
    """Returns given arrays; draws ids below the limits, bytes for other unsigned integers, and
    normal numbers for given shapes."""
    import jax
    import numpy
    generator = numpy.random.default_rng(0)
    drawn = []
    for leaf, name in zip(leaves, names):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            drawn.append(numpy.asarray(leaf))
        elif numpy.issubdtype(leaf.dtype, numpy.integer):
            most = 256 if numpy.issubdtype(leaf.dtype, numpy.unsignedinteger) else 1
            drawn.append(generator.integers(limits.get(name, most), size=leaf.shape)
                         .astype(leaf.dtype))
        else:
            drawn.append((DEVIATION * generator.standard_normal(leaf.shape)).astype(leaf.dtype))
    return drawn


def array(value: Any) -> Any:
    """Converts an array to NumPy, bf16 to f32, which NumPy has."""
    import numpy
    found = numpy.asarray(value)
    return found.astype("f4") if found.dtype.name == "bfloat16" else found


def run_function(function: Callable[..., Any], arguments: Sequence[Any], graph: str,
                 limits: Mapping[str, int]) -> Computed:
    """Runs a function in f64 and in its own types. One that fails in f64, for example because it
    mixes in numbers of f32, has the run in its own types for both, with a note."""
    import jax
    leaves, tree = jax.tree_util.tree_flatten(tuple(arguments))
    names, inputs = name_arguments(graph)
    if len(names) != len(leaves):
        raise ImportFailure(f"--check: expects {len(leaves)} arguments in the graph but got "
                            f"{len(names)}")
    values = draw_leaves(leaves, names, limits)
    trained = {name: i for i, name in enumerate(names) if name not in inputs}
    exact = own = run_once(function, tree, values, trained)
    try:
        with jax.enable_x64(True):
            wide = [value.astype("f8") if jax.numpy.issubdtype(value.dtype, jax.numpy.floating)
                    else value for value in values]
            exact = run_once(function, tree, wide, trained)
    except Exception as error:
        print(f"tessera: note: --check does not run the function in f64: {first_line(error)}",
              file=sys.stderr)
    arrays = {name: array(value) for name, value in zip(names, values)}
    return Computed({name: arrays[name] for name in trained},
                    {name: arrays[name] for name in names if name in inputs}, exact, own)


def run_once(function: Callable[..., Any], tree: Any, values: Sequence[Any],
             trained: Mapping[str, int]) -> Run:
    """Results, and the gradients of the parameters at the indices `trained` if the only result is
    one float."""
    import jax

    def leaves_of(parameters: Sequence[Any]) -> list[Any]:
        flat = [jax.numpy.asarray(value) for value in values]
        for i, parameter in zip(trained.values(), parameters):
            flat[i] = parameter
        return jax.tree_util.tree_leaves(function(*jax.tree_util.tree_unflatten(tree, flat)))
    parameters = [values[i] for i in trained.values()]
    shapes = jax.eval_shape(leaves_of, parameters)
    # One compilation is faster than one for each op.
    if len(shapes) == 1 and not shapes[0].shape:
        loss, found = jax.jit(jax.value_and_grad(lambda given: leaves_of(given)[0]))(parameters)
        return Run([array(loss)], dict(zip(trained, map(array, found))))
    return Run([array(leaf) for leaf in jax.jit(leaves_of)(parameters)], {})
