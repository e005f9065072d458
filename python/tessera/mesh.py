"""Meshes of other libraries as the compiler writes them: dp=2,tp=2."""

from __future__ import annotations

import math
import re
from typing import Any, Mapping, Optional, Protocol, Union, runtime_checkable

from .errors import CompileError


@runtime_checkable
class DeviceMesh(Protocol):
    """torch.distributed's DeviceMesh: names and sizes of its axes."""
    @property
    def mesh_dim_names(self) -> Optional[tuple[str, ...]]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


@runtime_checkable
class JaxMesh(Protocol):
    """jax.sharding.Mesh: sizes by name."""
    @property
    def axis_names(self) -> tuple[Any, ...]: ...
    @property
    def shape(self) -> Mapping[Any, int]: ...


Mesh = Union[Mapping[str, int], DeviceMesh, JaxMesh, str]


def write_mesh(mesh: Mesh, ranks: Optional[int]) -> str:
    """The mesh as text. Fails for axes without names, and for another number of devices than
    `ranks`."""
    if isinstance(mesh, str):
        return mesh
    axes = read_axes(mesh)
    for name, size in axes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise CompileError(f"mesh: expects a size of axis {name} of at least 1 but got "
                               f"{size!r}")
    count = math.prod(axes.values())
    if ranks is not None and count != ranks:
        raise CompileError(f"mesh: expects {ranks} devices, as ranks says, but got {count}")
    return ",".join(f"{name}={size}" for name, size in axes.items())


def count_devices(mesh: Mesh) -> int:
    """The number of devices of a mesh."""
    if isinstance(mesh, str):
        return math.prod(int(size) for size in re.findall(r"=(\d+)", mesh))
    return math.prod(read_axes(mesh).values())


def read_axes(mesh: Any) -> dict[str, int]:
    if isinstance(mesh, Mapping):
        return {str(name): size for name, size in mesh.items()}
    if hasattr(mesh, "mesh_dim_names"):
        if not mesh.mesh_dim_names:
            raise CompileError("mesh: expects a DeviceMesh with names, as of "
                               'mesh_dim_names=("dp", "tp"), but got one without')
        return {name: int(size) for name, size in zip(mesh.mesh_dim_names, mesh.shape)}
    if hasattr(mesh, "axis_names"):
        return {str(name): int(mesh.shape[name]) for name in mesh.axis_names}
    raise CompileError('mesh: expects names and sizes, as {"dp": 2, "tp": 2}, a DeviceMesh or a '
                       f"Mesh but got {type(mesh).__name__}")
