"""torch modules: the graph of a module at example arguments."""

from __future__ import annotations

import contextlib
import pathlib
import zipfile
from typing import Any, Iterator, Sequence

import torch

from . import torch_ops
from .errors import ImportFailure


@contextlib.contextmanager
def watch_functions() -> Iterator[list[str]]:
    """The names of autograd.Functions that are applied: torch.export forgets their rules."""
    names: list[str] = []
    # What apply, which a module may have kept, calls for one level of functions.
    base = torch.autograd.function._SingleLevelFunction

    def apply(cls: type, *arguments: Any, **keywords: Any) -> Any:
        names.append(cls.__name__)
        return super(base, cls).apply(*arguments, **keywords)
    base.apply = classmethod(apply)
    try:
        yield names
    finally:
        del base.apply


def export(module: torch.nn.Module, arguments: Sequence[Any]) -> Any:
    keywords = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
    # torch.export takes one tensor in two arguments for one input.
    positional, keywords = torch.utils._pytree.tree_map(
        lambda item: item.clone() if isinstance(item, torch.Tensor) else item,
        (tuple(arguments[:-1] if keywords else arguments), keywords))
    try:
        return torch.export.export(module, positional, keywords, strict=False)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ImportFailure(f"{type(module).__name__}: expects a module that torch.export takes: "
                            f"{lines[0] if lines else type(error).__name__}") from None


def read_module(module: torch.nn.Module,
                arguments: Sequence[Any]) -> tuple[str, dict[str, torch.Tensor]]:
    """The graph of a module at example arguments, and its parameters by name."""
    with watch_functions() as functions:
        program = export(module, arguments)
    importer = torch_ops.Importer(program)
    text = importer.run(type(module).__name__)
    if importer.is_loss and functions:
        raise ImportFailure(f"{functions[0]}: expects no gradient of its own (autograd.Function)")
    return text, find_weights(program)


def read_file(path: pathlib.Path) -> tuple[str, dict[str, torch.Tensor], Any]:
    """The graph of a program that torch.export.save wrote, its parameters by name, and the
    program."""
    if not zipfile.is_zipfile(path):
        raise ImportFailure(f"{path}: expects a file of torch.export.save")
    try:
        program = torch.export.load(path)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ImportFailure(f"{path}: expects a file of torch.export.save but got: "
                            f"{lines[0]}") from None
    try:
        return torch_ops.Importer(program).run(path.stem), find_weights(program), program
    except ImportFailure as error:
        raise ImportFailure(f"{path}: {error}") from None


def find_weights(program: Any) -> dict[str, torch.Tensor]:
    """Parameters by their first name."""
    weights: dict[str, torch.Tensor] = {}
    for name, parameter in program.named_parameters():
        if all(parameter.data_ptr() != other.data_ptr() for other in weights.values()):
            weights[name] = parameter.detach()
    return weights
