"""Loads a function or a module from a Python file, with its example arguments."""

from __future__ import annotations

import importlib.util
import inspect
import os
import pathlib
import sys
import traceback
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Sequence

from .errors import ImportFailure, first_line


@dataclass(frozen=True)
class Examples:
    """The example arguments of a function, by position and by name."""
    positional: Sequence[Any] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)


def load_function(path: pathlib.Path, name: str) -> tuple[Any, Examples]:
    """Calls `name` of a Python file; returns the function or the module that it gives, and its
    example arguments."""
    # A folder without `..` and symbolic links: files in messages exist wherever they are read.
    file = os.path.join(os.path.realpath(path.parent), path.name)
    spec = importlib.util.spec_from_file_location(path.stem, file)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ImportFailure(f"{path}: expects a file of Python")
    module = importlib.util.module_from_spec(spec)
    # The files next to this one, or to the one that it links to.
    sys.path[:0] = dict.fromkeys((os.path.dirname(file), os.path.dirname(os.path.realpath(file))))
    # Annotations of dataclasses are looked up there.
    sys.modules.setdefault(spec.name, module)
    try:
        spec.loader.exec_module(module)
        make = getattr(module, name, None)
        made = make() if callable(make) else ()
    except Exception as error:
        raise ImportFailure(f"{path}:{line_of(error, file)}: {type(error).__name__}: "
                            f"{first_line(error)}") from None
    if not callable(make):
        raise ImportFailure(f"{path}: expects a function {name}")
    try:
        return split(made)
    except ImportFailure as error:
        raise ImportFailure(f"{path}:{name}: {error}") from None


def line_of(error: Exception, file: str) -> int:
    """The line of a file at which it or a function that it calls fails."""
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == file]
    return (lines[-1] if lines else None) or 1


def split(made: Any) -> tuple[Any, Examples]:
    """The function that a `make` returns, and its example arguments."""
    if callable(made):
        raise ImportFailure("expects example arguments after the function, as in `return model, "
                            "tokens`")
    function, *arguments = made if isinstance(made, (list, tuple)) and made else (made,)
    if not callable(function):
        raise ImportFailure("expects a function or a module, and its example arguments, but got "
                            f"{type(function).__name__}")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(function, torch.nn.Module):
        examples = bind(function.forward, [*in_names(in_sequence(arguments)), *as_given(arguments)])
        check_leaves(torch, examples)
        return function, examples
    found = bind(function, [*as_given(arguments), *in_names(in_sequence(arguments))])
    if not found.keywords:
        return function, found
    bound = inspect.signature(function).bind(*found.positional, **found.keywords)
    if bound.kwargs:
        raise ImportFailure("expects example arguments that can be given by position but got "
                            f"{', '.join(bound.kwargs)}")
    return function, Examples(list(bound.args))


# The ways in which arguments can be meant.

def as_given(arguments: Sequence[Any]) -> list[Examples]:
    return [Examples(arguments)]


def in_sequence(arguments: Sequence[Any]) -> Sequence[Any]:
    """The elements of the only argument if it is a tuple or a list, else the arguments."""
    is_whole = len(arguments) == 1 and type(arguments[0]) in (list, tuple)
    return list(arguments[0]) if is_whole else arguments


def in_names(arguments: Sequence[Any]) -> list[Examples]:
    """The last argument as names if it is a dict; then all arguments by position."""
    last = arguments[-1] if arguments else None
    has_names = isinstance(last, dict) and all(isinstance(key, str) for key in last)
    named = [Examples(arguments[:-1], last)] if has_names else []
    return [*named, Examples(arguments)]


def bind(function: Callable[..., Any], meanings: Sequence[Examples]) -> Examples:
    """The first meaning of arguments that a function takes, names in the function's order."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # A function of C may have no signature.
        return meanings[0]
    name, reason = getattr(function, "__name__", type(function).__name__), ""
    for meaning in meanings:
        try:
            signature.bind(*meaning.positional, **meaning.keywords)
        except TypeError as error:
            reason = reason or str(error)
        else:
            order = [key for key in signature.parameters if key in meaning.keywords]
            names = dict.fromkeys([*order, *meaning.keywords])
            return Examples(meaning.positional, {key: meaning.keywords[key] for key in names})
    raise ImportFailure(f"expects example arguments of {name}{signature} but got: "
                        f"{reason}")


def check_leaves(torch: Any, examples: Examples) -> None:
    """Fails for an example argument that torch.export does not take."""
    leaves = torch.utils._pytree.tree_leaves((list(examples.positional), dict(examples.keywords)))
    for leaf in leaves:
        if leaf is not None and not isinstance(leaf, (torch.Tensor, bool, int, float, str)):
            raise ImportFailure("expects example arguments that are tensors of torch but got "
                                f"{type(leaf).__name__}")
