"""Runs the compiler, and finds a program that it compiled before."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import warnings
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from . import cache
from .errors import CompileError, Error, ImportFailure
from .options import COMPILE, Option

# The files of an entry of the cache, besides the graph.
PROGRAM, MANIFEST, REPORT = "program", "manifest.json", "report.json"
# Bytes that are too few for a program.
SPACE = 5 * 10**6


def find_compiler() -> str:
    """Finds the compiler: $TESSERA, a build in this repository, the one that this package was
    installed with, or one in PATH."""
    root = pathlib.Path(__file__).resolve().parents[2]
    built = [root / folder / "bin" / "tessera" for folder in ("build", "build-release")]
    candidates = [os.environ.get("TESSERA")] + [str(p) for p in built if p.is_file()]
    for candidate in [*candidates, find_installed(), shutil.which("tessera")]:
        if candidate:
            return candidate
    raise ImportFailure("expects tessera in PATH, or as the environment's TESSERA")


def find_installed() -> str | None:
    """Finds the tool that came in the wheel of this package."""
    package = pathlib.Path(__file__).resolve().parent
    # `pip install --target` moves scripts, and its record does not say so.
    candidates = [package.parent / "bin" / "tessera"]
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        files = importlib.metadata.files("tessera-compiler") or []
        candidates += [pathlib.Path(str(file.locate())) for file in files
                       if file.name == "tessera" and file.parent.name == "bin"]
    return next((str(path) for path in candidates if path.is_file()), None)


def without_locations(text: str) -> str:
    """Removes the locations of ops, which are at the ends of lines."""
    location = r' loc\("(?:[^"\\]|\\.)*"(?:\("(?:[^"\\]|\\.)*"\))?\)$'
    return re.sub(location, "", text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Compiled:
    """A compiled program in the cache, and the command that compiled it."""
    folder: pathlib.Path
    graph: pathlib.Path
    tool: str
    arguments: list[str]

    @property
    def program(self) -> pathlib.Path:
        return self.folder / PROGRAM

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    def print_phase(self, phase: str) -> str:
        """The program after a phase."""
        return run_tool([self.tool, "compile", str(self.graph), *self.arguments, "--quiet",
                         "--compile-to", phase], CompileError)

    def write_shardings(self) -> str:
        """The text of the program's sharding file."""
        with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
            file = pathlib.Path(folder, "shardings.json")
            run_tool([self.tool, "compile", str(self.graph), *self.arguments, "--quiet",
                      "--compile-to", "propagate", "--shardings-out", str(file)], CompileError)
            return file.read_text(encoding="utf-8")


def compile_graph(text: str, name: str, imported: Sequence[str], arguments: Sequence[str],
                  check: Callable[[str], None]) -> Compiled:
    """Imports and compiles a graph, unless the cache has the program of the same graph, options,
    build of the compiler and processor. A file that the compiler writes is always written. `check`
    may refuse the imported graph."""
    folder = cache.open_cache()
    tool = find_tool()
    key = cache.make_key({
        "graph": without_locations(text), "name": name, "import": list(imported),
        "options": [describe_option(part, tool) for part in arguments],
        "build": cache.find_build(folder, tool, find_runtimes(tool, arguments)),
        "processor": describe_processor(arguments)})
    graph, written = f"{name}.mlir", {option.name for option in COMPILE.values()
                                      if option.is_written}
    entry = None if written & set(arguments) else \
        cache.find_entry(folder, key, [PROGRAM, MANIFEST, REPORT, graph])
    if entry is None:
        with cache.writing(folder) as made:
            try:
                make_entry(made, graph, text, str(tool), imported, arguments, check)
            except CompileError as error:
                # A linker says no more than that it cannot write.
                free = shutil.disk_usage(folder).free
                raise CompileError(f"{folder}: expects space for a program but has "
                                   f"{free / 1e6:.1f} MB left: {error}"
                                   if free < SPACE else str(error)) from None
            entry = cache.add_entry(folder, made, key)
    return Compiled(entry, entry / graph, str(tool), list(arguments))


def calibrate_host(ranks: Any) -> str:
    """The file of this machine as a cluster of so many ranks. It is measured once for each build
    of the compiler and processor, in some seconds."""
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        raise CompileError(f"ranks: expects a number of at least 1 but got {ranks!r}")
    folder = cache.open_cache()
    tool = find_tool()
    key = cache.make_key({"cluster": "host", "ranks": ranks,
                          "build": cache.find_build(folder, tool, find_runtimes(tool, [])),
                          "processor": describe_processor([])})
    file = folder / f"host-{key[:16]}.json"
    if not file.is_file():
        with cache.writing(folder) as made:
            run_tool([str(tool), "doctor", "--calibrate", "--ranks", str(ranks), "--quiet", "-o",
                      str(made / "host.json")], CompileError)
            os.replace(made / "host.json", file)
    return str(file)


def find_tool() -> pathlib.Path:
    """The compiler's own path. Fails if it cannot be run."""
    found = shutil.which(find_compiler())
    if not found:
        raise CompileError(f"{find_compiler()}: expects a compiler that can be run")
    return pathlib.Path(found).resolve()


def make_entry(made: pathlib.Path, graph: str, text: str, tool: str, imported: Sequence[str],
               arguments: Sequence[str], check: Callable[[str], None]) -> None:
    run_tool([tool, "import", "-", *imported, "-o", str(made / graph)], ImportFailure, text)
    check((made / graph).read_text())
    run_tool([tool, "compile", str(made / graph), *arguments, "--quiet", "--dist-report",
              str(made / REPORT), "-o", str(made / PROGRAM)], CompileError)
    (made / MANIFEST).write_text(run_tool([str(made / PROGRAM), "--manifest"], CompileError))


def run_tool(command: Sequence[str], kind: type[Error], text: str = "") -> str:
    """Runs a tool and returns its output. Its errors are one error, its warnings Python's."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise kind(f"{command[0]}: {error.strerror}") from None
    lines = [re.sub(r"^<stdin>:(\d+:\d+:)? ", "", line) for line in done.stderr.splitlines()]
    if done.returncode == 0:
        for line in lines:
            if "warning: " in line:
                warnings.warn(line, stacklevel=5)
        return done.stdout
    # Positions in a graph of the cache are nothing to a user.
    errors = [re.sub(r"^((tessera \w+|/.*\.mlir(:\d+:\d+)?): )?error: ", "", line)
              for line in lines if "error: " in line]
    reason = errors[0] if errors else lines[-1] if lines else ""
    if done.returncode < 0:
        reason = f"ended by {signal.Signals(-done.returncode).name}" + f": {reason}" * bool(reason)
    what = f"{pathlib.Path(command[0]).name} {command[1]}"
    raise kind(f"{what}: {reason or f'ended with {done.returncode}'}")


# The parts of a key.

def describe_option(part: str, tool: pathlib.Path) -> list[str]:
    """An option or its value; with the content if it is a file or names one that the compiler
    has."""
    shared = [tool.parents[1] / "share" / "tessera" / "clusters", tool.parents[1] / "share" /
              "clusters", *(parent / "share" / "clusters" for parent in tool.parents[2:3])]
    for path in [pathlib.Path(part), *(folder / f"{part}.json" for folder in shared)]:
        with contextlib.suppress(OSError, ValueError):
            if not part.startswith("-") and path.is_file():
                return [part, cache.hash_file(path)]
    return [part]


def find_runtimes(tool: pathlib.Path, arguments: Sequence[str]) -> list[pathlib.Path]:
    """The files that the compiler links programs with, as it finds them."""
    given = [pathlib.Path(value) for option, value in zip(arguments, arguments[1:])
             if option == "--runtime-library"]
    folders = [tool.parents[1] / "lib" / "tessera", tool.parents[1] / "lib"]
    found = [*given, *(path for folder in folders
                       for pattern in ("libtessera_rt_*.a", "link/*")
                       for path in sorted(folder.glob(pattern)))]
    return [path for path in found if path.is_file()]


def describe_processor(arguments: Sequence[str]) -> str:
    """The processor that code is generated for: --cpu, $TESSERA_CPU, or this machine's."""
    given = [value for option, value in zip(arguments, arguments[1:]) if option == "--cpu"]
    name = (given or [os.environ.get("TESSERA_CPU", "")])[-1]
    if name and name != "native":
        return name
    facts = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "CPU part",
             "CPU implementer", "Features")
    lines: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            word, _, value = line.partition(":")
            if word.strip() in facts:
                lines.setdefault(word.strip(), value.strip())
    return f"{os.uname().machine} {sorted(lines.items())}"


# Keywords as options.

def write_options(table: Mapping[str, Option], keywords: Mapping[str, Any]) -> list[str]:
    """The command line's options of the keywords of a table. None leaves an option out."""
    arguments: list[str] = []
    for keyword, value in keywords.items():
        option = table.get(keyword)
        if option is None or value is None:
            continue
        is_flag = isinstance(value, bool)
        if not isinstance(value, option.types) or (is_flag and bool not in option.types):
            names = " or ".join(kind.__name__ for kind in option.types)
            raise CompileError(f"{keyword}: expects {names} but got {type(value).__name__}")
        if option.value == "":
            arguments += [option.name] if value else []
        elif is_flag:
            arguments += [option.name, "on" if value else "off"]
        else:
            arguments += [option.name, os.fspath(value) if isinstance(value, os.PathLike)
                          else value if isinstance(value, str) else repr(value)]
    return arguments
