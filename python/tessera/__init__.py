"""Compiles models of torch and JAX with Tessera, and imports graphs of other frameworks.

`tessera.compile` makes a program of a model and runs it on many ranks; docs/python.md describes it.
`find_shardings` and `load_shardings` give shardings to other trainers; see docs/shardings.md.
The command is `python3 -m tessera import FILE -o g.mlir`; docs/import.md lists the formats that it
reads. A framework is imported only when a model or a graph of it is read."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import CompileError, Error, ImportFailure, ProgramError, ShardingsError
from .optimizers import SGD, AdamW

if TYPE_CHECKING:
    from .api import compile, with_loss
    from .program import Program, StepResult
    from .shardings import Shardings, load_shardings
    from .shardings_search import find_shardings

# The module of each name that needs NumPy, which is imported at its first use.
_MODULES = {"compile": "api", "with_loss": "api", "Program": "program", "StepResult": "program",
            "Shardings": "shardings", "load_shardings": "shardings",
            "find_shardings": "shardings_search"}
__all__ = ["SGD", "AdamW", "CompileError", "Error", "ImportFailure", "Program", "ProgramError",
           "Shardings", "ShardingsError", "StepResult", "compile", "find_shardings",
           "load_shardings", "with_loss"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
