"""tessera.compile: a model of torch or JAX as a program that runs on many ranks."""

from __future__ import annotations

import difflib
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Union

from .compiler import calibrate_host, compile_graph, write_options
from .errors import CompileError
from .mesh import Mesh, count_devices, write_mesh
from .optimizers import Optimizer
from .options import COMPILE, IMPORT, Options
from .program import Program
from .source import Model, check_inputs, check_loss

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, "os.PathLike[str]"]


def compile(model: Any, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None, *,
            train: Optional[Optimizer] = None, mesh: Optional[Mesh] = None,
            weights: Optional[Path] = None, name: Optional[str] = None,
            timeout: Optional[float] = None, threads: Optional[int] = None,
            **options: Unpack[Options]) -> Program:
    """Compiles a model at example arguments, starts its ranks on this machine and gives them the
    model's parameters.

    model    a torch module, a program of torch.export, or a function of JAX
    args     example arguments by position; kwargs: by name
    train    an optimizer: each call is a step of training, and the model returns a loss
    mesh     names and sizes of axes, as {"dp": 2, "tp": 2}, a DeviceMesh of torch or a Mesh of JAX
    weights  files of safetensors, a folder of them or an index, which the ranks read; the model's
             own parameters need no values
    name     the program's name; default: the model's
    timeout  seconds for which a rank may keep the others waiting
    threads  threads of a rank; default: cores / ranks

    All others are options of `tessera compile` and `tessera import` with underscores: `strategy`,
    `ranks`, `micro_batches`, `precision`; see tessera.options. With `ranks`, `cluster` is "host" by
    default."""
    check_keywords(options)
    arguments = write_arguments(train, mesh, options)
    run = write_run(weights, timeout, threads)
    source = read_model(model, args, kwargs or {})
    if source.note:
        warnings.warn(source.note, stacklevel=2)
    program = name or re.sub(r"\W+", "_", source.name) or "program"

    def check(graph: str) -> None:
        check_inputs(graph, options.get("inputs"))
        if train is not None:
            check_loss(graph, source.name)
    compiled = compile_graph(source.text, program, write_options(IMPORT, options), arguments,
                             check)
    source.take_graph(compiled.graph.read_text())
    return Program(source, compiled, train is not None, weights is not None, run)


def with_loss(model: Any, fn: Callable[..., Any]) -> Any:
    """A model that returns fn(result of `model`, labels). Its argument `labels` comes by this name,
    or last by position; all others are those of `model`."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.export.ExportedProgram):
        model = model.module()
    if torch is not None and isinstance(model, torch.nn.Module):
        from .torch_model import WithLoss
        return WithLoss(model, fn)

    def with_labels(*args: Any) -> Any:
        return fn(model(*args[:-1]), args[-1])
    with_labels.__name__ = getattr(model, "__name__", type(model).__name__)
    return with_labels


def read_model(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Model:
    if not isinstance(args, (tuple, list)):
        raise CompileError("args: expects a tuple of example arguments but got "
                           f"{type(args).__name__}")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, (torch.nn.Module, torch.export.ExportedProgram)):
        from .torch_model import TorchModel
        return TorchModel(model, args, kwargs)
    if not callable(model):
        raise CompileError("model: expects a torch module, a program of torch.export or a function "
                           f"of JAX but got {type(model).__name__}")
    from .jax_model import JaxModel
    return JaxModel(model, args, kwargs)


def check_keywords(options: Mapping[str, Any]) -> None:
    known = {*COMPILE, *IMPORT, "train", "mesh", "weights", "name", "timeout", "threads"}
    for keyword in options:
        if keyword not in known:
            near = difflib.get_close_matches(keyword, sorted(known), 1)
            raise CompileError(f"{keyword}: expects an option of tessera.compile" +
                               (f", perhaps {near[0]}" if near else ""))


def write_arguments(train: Optional[Optimizer], mesh: Optional[Mesh],
                    options: Mapping[str, Any]) -> list[str]:
    """The options of `tessera compile`."""
    given = dict(options)
    if given.get("ranks") is not None and mesh is None:
        given.setdefault("cluster", "host")
    if given.get("cluster") == "host":
        ranks = count_devices(mesh) if mesh is not None else given.get("ranks")
        given["cluster"] = calibrate_host(ranks)
    arguments = [] if mesh is None else ["--mesh", write_mesh(mesh, given.get("ranks"))]
    if mesh is not None:
        given.pop("ranks", None)
    arguments += write_options(COMPILE, given)
    if train is None:
        return [*arguments, "--forward"]
    if not hasattr(train, "arguments"):
        raise CompileError("train: expects tessera.AdamW or tessera.SGD but got "
                           f"{type(train).__name__}")
    return [*arguments, *train.arguments()]


def write_run(weights: Optional[Path], timeout: Optional[float],
              threads: Optional[int]) -> list[str]:
    """The options of the program."""
    arguments = []
    if weights is not None:
        if not os.path.exists(weights):
            raise CompileError(f"weights: expects files of safetensors but got "
                               f"{os.fspath(weights)}, which does not exist")
        arguments += ["--weights", os.path.abspath(weights)]
    for option, value in (("timeout", timeout), ("threads", threads)):
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
                raise CompileError(f"{option}: expects a number above 0 but got {value!r}")
            arguments += [f"--{option}", repr(value)]
    return arguments
