"""Shardings of a model of torch or JAX, found by the compiler."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Mapping, Sequence

from . import jax_import
from .errors import ImportFailure, ShardingsError
from .python_file import Examples, bind
from .shardings import Shardings, read_shardings


def find_shardings(model: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
                   *, mesh: Any, strategy: str = "auto", cluster: str | None = None,
                   inputs: str | None = None, dims: str | None = None,
                   options: Sequence[str] = ()) -> Shardings:
    """Finds the shardings of a model by the compiler, in a process of its own.

    `model` is a torch module or a JAX function, and `args` and `kwargs` are its example arguments
    of whole batches; their values are not read. `mesh` has sizes by name, outermost first: a dict
    as {"dp": 2, "tp": 4}, a DeviceMesh or a JAX Mesh. `strategy` and `cluster` are as `tessera
    compile` has them, `inputs` (floats that are no parameters) and `dims` (names of dimensions of
    arguments, as "ids=batch,seq") as `tessera import`; `options` are further ones of `tessera compile`.

    Raises ImportFailure for a model that cannot be imported, and ShardingsError for a strategy
    that the compiler cannot apply to it."""
    axes = ",".join(f"{name}={size}" for name, size in sizes_of(mesh).items())
    text = read_model(model, Examples(tuple(args), dict(kwargs or {})))
    names = [*(["--inputs", inputs] if inputs else []), *(["--dims", dims] if dims else [])]
    links = ["--cluster", cluster] if cluster else []
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        graph, found = pathlib.Path(folder, "graph.mlir"), pathlib.Path(folder, "shardings.json")
        run_tool(["import", "-", "--locations", *names, "-o", str(graph)], text, ImportFailure)
        run_tool(["compile", str(graph), "--mesh", axes, "--strategy", strategy, *links, *options,
                  "--shardings-out", str(found), "--compile-to", "propagate"], "", ShardingsError)
        return read_shardings(found.read_text(encoding="utf-8"), "shardings")


def read_model(model: Any, examples: Examples) -> str:
    """The graph of a model as `tessera import` reads it."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from . import torch_import
        return torch_import.read_module(model, bind(model.forward, [examples]))[0]
    if not callable(model):
        raise ImportFailure("expects a torch module or a JAX function but got "
                            f"{type(model).__name__}")
    if examples.keywords:
        raise ImportFailure("expects arguments of a JAX function by position but got "
                            f"{', '.join(examples.keywords)}")
    function, arguments = jax_import.hold_constants(model, examples.positional)
    return jax_import.read_function(function, arguments)


def sizes_of(mesh: Any) -> dict[str, int]:
    """The names and sizes of a mesh."""
    if isinstance(mesh, Mapping):
        return {str(name): int(size) for name, size in mesh.items()}
    if getattr(mesh, "mesh_dim_names", None):
        return dict(zip(mesh.mesh_dim_names, map(int, mesh.shape)))
    if hasattr(mesh, "axis_names"):
        return {str(name): int(mesh.shape[name]) for name in mesh.axis_names}
    raise ShardingsError('mesh: expects sizes by name, as {"dp": 2, "tp": 4}, a DeviceMesh with '
                         f"names or a Mesh of JAX but got {type(mesh).__name__}")


def run_tool(arguments: Sequence[str], text: str, kind: type[Exception]) -> None:
    """Runs `tessera`; its first error becomes an exception."""
    from .__main__ import find_compiler
    done = subprocess.run([find_compiler(), *arguments], input=text, capture_output=True,
                          text=True, check=False)
    if done.returncode == 0:
        return
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error: " in line] or lines or ["no message"]
    raise kind(f"tessera {arguments[0]}: {errors[0].partition('error: ')[2] or errors[0]}")
