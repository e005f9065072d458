"""Runs a function in JAX, for --check."""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, Sequence

from .check import split_arguments
from .errors import ImportFailure

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
    """Returns given arrays; draws ids below the limits and normal numbers for given shapes."""
    import jax
    import numpy
    generator = numpy.random.default_rng(0)
    drawn = []
    for leaf, name in zip(leaves, names):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            drawn.append(numpy.asarray(leaf))
        elif numpy.issubdtype(leaf.dtype, numpy.integer):
            drawn.append(generator.integers(limits.get(name, 1), size=leaf.shape)
                         .astype(leaf.dtype))
        else:
            drawn.append((DEVIATION * generator.standard_normal(leaf.shape)).astype(leaf.dtype))
    return drawn


def run_function(function: Callable[..., Any], arguments: Sequence[Any], graph: str,
                 limits: Mapping[str, int]) -> tuple[dict[str, Any], dict[str, Any], list[Any],
                                                     dict[str, Any]]:
    """Parameters and inputs by name, results, and the gradients of the parameters if the only
    result is one float."""
    import jax
    import numpy
    leaves, tree = jax.tree_util.tree_flatten(tuple(arguments))
    names, inputs = name_arguments(graph)
    if len(names) != len(leaves):
        raise ImportFailure(f"--check: expects {len(leaves)} arguments in the graph but got "
                            f"{len(names)}")
    values = draw_leaves(leaves, names, limits)
    trained = [i for i, name in enumerate(names) if name not in inputs]

    def call(parameters: Sequence[Any]) -> Any:
        flat = [jax.numpy.asarray(value) for value in values]
        for i, parameter in zip(trained, parameters):
            flat[i] = parameter
        return function(*jax.tree_util.tree_unflatten(tree, flat))

    def leaves_of(parameters: Sequence[Any]) -> list[Any]:
        return jax.tree_util.tree_leaves(call(parameters))
    parameters = [values[i] for i in trained]
    shapes = jax.eval_shape(leaves_of, parameters)
    gradients: dict[str, Any] = {}
    # One compilation is faster than one for each op.
    if len(shapes) == 1 and not shapes[0].shape:
        loss, found = jax.jit(jax.value_and_grad(lambda given: leaves_of(given)[0]))(parameters)
        results = [numpy.asarray(loss)]
        gradients = {names[i]: numpy.asarray(gradient) for i, gradient in zip(trained, found)}
    else:
        results = [numpy.asarray(leaf) for leaf in jax.jit(leaves_of)(parameters)]
    return ({names[i]: values[i] for i in trained},
            {name: values[i] for i, name in enumerate(names) if name in inputs}, results, gradients)
