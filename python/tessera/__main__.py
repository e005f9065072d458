"""python3 -m tessera import FILE: the graph of a file or a function."""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any, Sequence

from . import jax_import
from .errors import ImportFailure

DESCRIPTION = """\
Reads a graph and runs `tessera import` on it. FILE is
  model.py:make   a function that returns a JAX function and its example arguments
                  (arrays or jax.ShapeDtypeStruct), in this order: f, x, y, ...
  model.mlir      StableHLO as text, bytecode or portable artifact
"""


def load_function(path: pathlib.Path, name: str) -> tuple[Any, Sequence[Any]]:
    """What `name` of a Python file returns."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ImportFailure(f"{path}: expects a file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    make = getattr(module, name, None)
    if not callable(make):
        raise ImportFailure(f"{path}: expects a function {name}")
    function, *arguments = make()
    if not callable(function):
        raise ImportFailure(f"{path}:{name}: expects a function and its arguments but got "
                            f"{type(function).__name__}")
    return function, arguments


def read(source: str) -> str:
    """The module of a source in MLIR's generic form."""
    path, _, name = source.partition(":")
    if path.endswith(".py"):
        if not name:
            raise ImportFailure(f"{source}: expects {path}:NAME")
        return jax_import.read_function(*load_function(pathlib.Path(path), name))
    return jax_import.read_file(pathlib.Path(source))


def find_compiler() -> str:
    """$TESSERA, a build beside this package, or one in PATH."""
    root = pathlib.Path(__file__).resolve().parents[2]
    built = [root / folder / "bin" / "tessera" for folder in ("build-release", "build")]
    candidates = [os.environ.get("TESSERA")] + [str(p) for p in built if p.is_file()]
    for candidate in candidates + [shutil.which("tessera")]:
        if candidate:
            return candidate
    raise ImportFailure("expects tessera in PATH, or as the environment's TESSERA")


def run_import(options: argparse.Namespace) -> int:
    command = [find_compiler(), "import", "-"]
    for name, value in (("--inputs", options.inputs), ("--no-raise", options.no_raise),
                        ("--dims", options.dims), ("-o", options.output)):
        if value:
            command += [name, value]
    text = read(options.file)
    if options.generic:
        sys.stdout.write(text)
        return 0
    return subprocess.run(command, input=text, text=True, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tessera")
    commands = parser.add_subparsers(dest="command", required=True)
    importer = commands.add_parser(
        "import", description=DESCRIPTION, help="read a graph",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    importer.add_argument("file", metavar="FILE")
    importer.add_argument("-o", dest="output", metavar="FILE",
                          help="write the graph there (default: stdout)")
    importer.add_argument("--inputs", metavar="LIST",
                          help="arguments of floats that are inputs, not parameters")
    importer.add_argument("--no-raise", metavar="LIST",
                          help="ops that groups of ops do not become, as gelu,attention; or all")
    importer.add_argument("--dims", metavar="LIST",
                          help="names of dimensions of arguments, as ids=batch,seq;mask=batch")
    importer.add_argument("--generic", action="store_true",
                          help="print MLIR's generic form and stop: what tessera import reads")
    try:
        return run_import(parser.parse_args())
    except ImportFailure as error:
        print(f"tessera: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
