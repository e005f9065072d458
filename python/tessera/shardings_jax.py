"""Shardings of pytrees as NamedShardings of JAX."""

from __future__ import annotations

import math
import re
from typing import Any, Iterable, Sequence

from .shardings import Axis, Layout, Shardings, count_shards, nearest


def name_path(path: Any) -> str:
    """The name of a leaf, as graphs of JAX functions have it: words joined by dots."""
    import jax
    return ".".join(re.findall(r"[A-Za-z0-9_-]+", jax.tree_util.keystr(path)))


def find_name(shardings: Shardings, leaf: str) -> str:
    """The tensor of a leaf: of its name, or of its name after that of an argument."""
    if leaf in shardings.tensors:
        return leaf
    found = [name for name in shardings.tensors if name.partition(".")[2] == leaf]
    if len(found) > 1:
        shardings.fail(f"tensors.{found[0]}", f"expects one tensor {leaf} but {found[1]} is "
                       f'another; give to_jax a dict of the arguments, {{"'
                       f'{found[0].partition(".")[0]}": ...}}')
    if not found:
        shardings.fail("tensors", f"expects {leaf}, which the parameters have"
                       f"{nearest(leaf, list(shardings.tensors))}")
    return found[0]


def convert(shardings: Shardings, params: Any, devices: Sequence[Any] | None) -> Any:
    """The NamedShardings of a pytree."""
    import jax
    shardings.check_plan("pp", "pipeline stages", "JAX")
    leaves, tree = jax.tree_util.tree_flatten_with_path(params)
    used: list[str] = []
    for path, leaf in leaves:
        text = name_path(path)
        if not hasattr(leaf, "shape"):
            shardings.fail("tensors", f"expects a pytree of arrays but {text} is a "
                           f"{type(leaf).__name__}")
        used.append(find_name(shardings, text))
        shardings.check_shape(used[-1], leaf.shape)
        check_divides(shardings, used[-1])
    shardings.check_names("tensors", shardings.tensors, used, "a leaf of the parameters")
    mesh, cuts = make_mesh(shardings, devices)
    found = [named(mesh, cuts, shardings.axes_of(name, "JAX")) for name in used]
    return jax.tree_util.tree_unflatten(tree, found)


def convert_inputs(shardings: Shardings, devices: Sequence[Any] | None) -> dict[str, Any]:
    """The NamedSharding of each input."""
    mesh, cuts = make_mesh(shardings, devices)
    return {name: named(mesh, cuts, layout) for name, layout in shardings.inputs.items()}


def check_divides(shardings: Shardings, name: str) -> None:
    """Fails for a dimension that its axes do not divide, which JAX does not pad."""
    for size, axes in zip(shardings.tensors[name].shape, shardings.axes_of(name, "JAX")):
        if size % count_shards(axes):
            shardings.fail(f"tensors.{name}", "JAX expects a dimension that "
                           f"{', '.join(map(str, axes))} ({count_shards(axes)} devices) divides "
                           f"but got {size}")


def layouts_of(shardings: Shardings) -> Iterable[Layout]:
    yield from (tensor.axes for tensor in shardings.tensors.values() if tensor.axes is not None)
    yield from shardings.inputs.values()


def cut(shardings: Shardings) -> dict[str, list[Axis]]:
    """The axes that JAX's mesh has for each of ours: the parts between the boundaries of all
    sub-axes in use."""
    bounds = {name: {1, size} for name, size in shardings.mesh.items()}
    for axis in (axis for layout in layouts_of(shardings) for dim in layout for axis in dim):
        bounds[axis.name] |= {axis.before, axis.before * axis.size}
    cuts: dict[str, list[Axis]] = {}
    for name, found in bounds.items():
        ends, size = sorted(found), shardings.mesh[name]
        for start, end in zip(ends, ends[1:]):
            if end % start:
                shardings.fail("mesh", f"JAX expects sub-axes of {name}={size} that nest but got "
                               f"boundaries at {start} and {end}")
        cuts[name] = [Axis(name, start, end // start, end // start == size)
                      for start, end in zip(ends, ends[1:])] or [Axis(name, 1, 1, True)]
    return cuts


def make_mesh(shardings: Shardings,
              devices: Sequence[Any] | None) -> tuple[Any, dict[str, list[Axis]]]:
    """JAX's mesh, and its axes for each of ours."""
    import jax
    import numpy
    given = list(jax.devices() if devices is None else devices)
    number = math.prod(shardings.mesh.values())
    if len(given) < number or (devices is not None and len(given) != number):
        shardings.fail("mesh", f"expects {number} devices but got {len(given)}")
    cuts = cut(shardings)
    axes = [axis for found in cuts.values() for axis in found]
    grid = numpy.asarray(given[:number]).reshape([axis.size for axis in axes])
    return jax.sharding.Mesh(grid, tuple(map(str, axes))), cuts


def named(mesh: Any, cuts: dict[str, list[Axis]], layout: Layout) -> Any:
    """The NamedSharding of a layout, as it is written by hand: no tuple of one axis, and none of
    no axes."""
    import jax
    spec: Any = jax.sharding.PartitionSpec
    dims: list[Any] = []
    for axes in layout:
        names = [str(part) for axis in axes for part in cuts[axis.name]
                 if axis.before <= part.before < axis.before * axis.size or axis.is_whole]
        dims.append(tuple(names) if len(names) > 1 else names[0] if names else None)
    return jax.sharding.NamedSharding(mesh, spec(*dims))
