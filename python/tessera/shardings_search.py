"""Shardings of a model of torch or JAX, found by the compiler."""

from __future__ import annotations

import pathlib
import sys
import tempfile
from typing import Any, Mapping, Sequence

from . import jax_import
from .compiler import find_compiler, run_tool
from .errors import ImportFailure, ShardingsError
from .mesh import write_mesh
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
    arguments, as "ids=batch,seq") as `tessera import`; `options` are further ones of `tessera
    compile`.

    Raises ImportFailure for a model that cannot be imported, CompileError for a mesh without
    names, and ShardingsError for a strategy that the compiler cannot apply to it."""
    axes = write_mesh(mesh, None)
    text = read_model(model, Examples(tuple(args), dict(kwargs or {})))
    names = [*(["--inputs", inputs] if inputs else []), *(["--dims", dims] if dims else [])]
    links = ["--cluster", cluster] if cluster else []
    tool = find_compiler()
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        graph, found = pathlib.Path(folder, "graph.mlir"), pathlib.Path(folder, "shardings.json")
        run_tool([tool, "import", "-", "--locations", *names, "-o", str(graph)], ImportFailure,
                 text)
        run_tool([tool, "compile", str(graph), "--mesh", axes, "--strategy", strategy, *links,
                  *options, "--quiet", "--shardings-out", str(found), "--compile-to", "propagate"],
                 ShardingsError)
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
