"""Compiles models of torch and JAX with Tessera, and imports graphs of other frameworks.

`tessera.compile` makes a program of a model and runs it on many ranks; docs/python.md describes it.
The command is `python3 -m tessera import FILE -o g.mlir`; docs/import.md lists the formats that it
reads. A framework is imported only when a model or a graph of it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import CompileError, Error, ImportFailure, ProgramError
from .optimizers import SGD, AdamW

if TYPE_CHECKING:
    from .api import compile, with_loss
    from .program import Program, StepResult

__all__ = ["SGD", "AdamW", "CompileError", "Error", "ImportFailure", "Program", "ProgramError",
           "StepResult", "compile", "with_loss"]


def __getattr__(name: str) -> Any:
    """Loads what needs NumPy when it is used first."""
    if name in ("compile", "with_loss"):
        from . import api
        return getattr(api, name)
    if name in ("Program", "StepResult"):
        from . import program
        return getattr(program, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
