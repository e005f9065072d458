"""Errors for the user: one line each."""

from __future__ import annotations

import os
import pathlib
import traceback
from types import ModuleType


class Error(Exception):
    """The base of all errors of this package; the text gives the reason in one line."""


class ImportFailure(Error):
    """A graph that cannot be imported."""


class CompileError(Error):
    """A graph that cannot be compiled as asked, or a cache that cannot be used."""


class ProgramError(Error):
    """A program that cannot start or has ended, or arguments that it does not take."""


class ShardingsError(Error):
    """Shardings that cannot be read, or that a model or a framework cannot take; the text names
    the file and the tensor or module in one line."""


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def find_line(error: BaseException, library: ModuleType) -> str:
    """File and line of the user's source that called the library and caused the error; empty if
    there is none."""
    return find_frame(traceback.extract_tb(error.__traceback__), library)


def find_frame(stack: traceback.StackSummary, library: ModuleType) -> str:
    """File and line of the innermost frame outside of a library, Python's own and this package."""
    folders = [pathlib.Path(library.__file__ or "").parent, pathlib.Path(__file__).parent]
    skipped = tuple(str(folder) + os.sep for folder in folders)
    standard = os.path.dirname(os.__file__)
    found = ""
    for frame in stack:
        is_standard = frame.filename.startswith(standard) and "-packages" not in frame.filename
        if not is_standard and not frame.filename.startswith((*skipped, "<")):
            found = f"{frame.filename}:{frame.lineno}"
    return found
