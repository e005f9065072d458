"""Imports torch modules: the graph of a module at example arguments."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import pathlib
import sys
import traceback
import zipfile
from typing import Any, Iterator

import torch

from . import torch_importer, torch_ops
from .errors import ImportFailure, find_frame, find_line, first_line
from .python_file import Examples


@contextlib.contextmanager
def watch_functions() -> Iterator[list[str]]:
    """Collects the applied autograd.Functions and their places: torch.export drops their rules.
    """
    names: list[str] = []
    # `apply` calls this at the innermost level; a module may have stored `apply` itself.
    base = torch.autograd.function._SingleLevelFunction

    def apply(cls: type, *arguments: Any, **keywords: Any) -> Any:
        # Rules of registered and of higher-order ops, which are in the graph.
        if not cls.__name__.startswith("GeneratedBackwardFor_") and \
                not cls.__module__.startswith("torch._higher_order_ops."):
            where = find_frame(traceback.extract_stack(), torch)
            names.append(f"{where}: " * bool(where) + cls.__name__)
        return super(base, cls).apply(*arguments, **keywords)
    base.apply = classmethod(apply)
    try:
        yield names
    finally:
        del base.apply


@contextlib.contextmanager
def without_caches(module: torch.nn.Module) -> Iterator[str]:
    """Turns off `use_cache` in the configs of a module and of the modules in it, as transformers'
    models have it: a graph returns no keys and values for later calls. Yields a note if one was on,
    and restores the configs."""
    cached = [part for part in module.modules()
              if getattr(getattr(part, "config", None), "use_cache", None) is True]
    configs = [part.config for part in cached]
    try:
        for config in configs:
            config.use_cache = False
        yield (f"{type(cached[0]).__name__}: use_cache is off: a graph has no caches"
               if cached else "")
    finally:
        for config in configs:
            config.use_cache = True


def export(module: torch.nn.Module, examples: Examples) -> Any:
    # torch.export merges two arguments that are the same tensor into one input.
    positional, keywords = torch.utils._pytree.tree_map(
        lambda item: item.clone() if isinstance(item, torch.Tensor) else item,
        (tuple(examples.positional), dict(examples.keywords)))
    torch.compiler.reset()
    try:
        with without_log():
            return torch.export.export(module, positional, keywords, strict=False)
    except Exception as error:
        raise ImportFailure(describe_failure(module, error)) from None


@contextlib.contextmanager
def without_log() -> Iterator[None]:
    """Suppresses the logs and prints of a failing torch: its error has the same in one line. Output
    of a success goes to stderr, since the graph may go to stdout."""
    before, printed = logging.root.manager.disable, io.StringIO()
    logging.disable(logging.ERROR)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield
        sys.stderr.write(printed.getvalue())
    finally:
        logging.disable(before)


def describe_failure(module: torch.nn.Module, error: Exception) -> str:
    """The reason why torch.export rejects a module: the module's source line if known and the first
    line of the error, or the name of a tensor without values among tensors with values."""
    tensors = [*module.named_parameters(), *module.named_buffers()]
    missing = [name for name, tensor in tensors if tensor.is_meta]
    if missing and "device" in str(error):
        return f"{missing[0]}: expects a tensor with values, as others have, but got one on meta"
    where = find_line(error, torch) or type(module).__name__
    if "cache_utils" in str(error):
        return f"{where}: expects a result without caches, as with use_cache=False"
    # Configs of transformers say how experts are computed where there are none, too.
    has_experts = any("Experts" in type(part).__name__ for part in module.modules())
    kinds = {getattr(getattr(part, "config", None), "_experts_implementation", None)
             for part in module.modules()}
    if has_experts and "eager" in kinds and "data-dependent" in str(error):
        return (f"{where}: expects experts without a loop over them, as with "
                'experts_implementation="batched_mm"')
    if "data-dependent" in str(error).lower():
        return (f"{where}: expects branches, loops and sizes that follow from no value of a "
                "tensor; write torch.where(condition, x, y) for a branch")
    advice = "; write it with torch.nn.functional.scaled_dot_product_attention" \
        if "FlexAttention" in str(error) else ""
    reason = first_line(error).rstrip(".")
    return f"{where}: expects a module that torch.export takes: {reason}{advice}"


@dataclasses.dataclass(frozen=True)
class Graph:
    """The graph of a program of torch.export, and the walk that made it."""
    program: Any
    importer: torch_ops.Importer
    text: str
    note: str = ""

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        return find_weights(self.program, self.importer)


def read_graph(module: torch.nn.Module, examples: Examples) -> Graph:
    """The graph of a module at example arguments, with a note."""
    with watch_functions() as functions, without_caches(module) as note:
        program = export(module, examples)
    graph = read_program(program, type(module).__name__, note)
    if graph.importer.is_loss and functions:
        advice = "; pass use_reentrant=False to the checkpoint" \
            if functions[0].endswith("CheckpointFunction") else ""
        raise ImportFailure(f"{functions[0]}: expects no gradient of its own (autograd.Function)"
                            f"{advice}")
    return graph


def read_program(program: Any, name: str, note: str = "") -> Graph:
    importer = torch_ops.Importer(program)
    return Graph(program, importer, importer.run(name), note)


def read_module(module: torch.nn.Module,
                examples: Examples) -> tuple[str, dict[str, torch.Tensor], str]:
    """The graph of a module at example arguments, its parameters by name, and a note."""
    graph = read_graph(module, examples)
    return graph.text, graph.weights, graph.note


def read_file(path: pathlib.Path) -> tuple[str, dict[str, torch.Tensor], Any]:
    """The graph of a program that torch.export.save wrote, its parameters by name, and the program.
    """
    if not zipfile.is_zipfile(path):
        raise ImportFailure(f"{path}: expects a file of torch.export.save")
    try:
        program = torch.export.load(path)
    except Exception as error:
        raise ImportFailure(f"{path}: expects a file of torch.export.save but got: "
                            f"{first_line(error)}") from None
    try:
        graph = read_program(program, path.stem)
        return graph.text, graph.weights, program
    except ImportFailure as error:
        raise ImportFailure(f"{path}: {error}") from None


def find_weights(program: Any, importer: torch_ops.Importer) -> dict[str, torch.Tensor]:
    """Parameters by their first name, and biases of choices."""
    weights: dict[tuple[Any, ...], tuple[str, torch.Tensor]] = {}
    for name, parameter in program.named_parameters():
        torch_importer.check_parameter(name, parameter)
        weights.setdefault(torch_importer.view_of(parameter), (name, parameter.detach()))
    return {**dict(weights.values()), **importer.biases}
