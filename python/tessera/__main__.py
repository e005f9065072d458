"""python3 -m tessera import FILE: imports the graph of a file or a function."""

from __future__ import annotations

import argparse
import dataclasses
import errno
import os
import pathlib
import re
import subprocess
import sys
import traceback
from typing import Any, Sequence

from . import check, jax_import
from .compiler import find_compiler, without_locations
from .errors import ImportFailure, first_line
from .python_file import Examples, load_function

# An environment variable: unexpected errors are shown with their traceback.
TRACEBACK = "TESSERA_TRACEBACK"

DESCRIPTION = """\
Reads a graph and runs `tessera import` on it. FILE is
  model.py:make   a function that returns a torch module or a JAX function and its
                  example arguments (of JAX arrays or jax.ShapeDtypeStruct): f, x, y, ...
                  or f, (x, y); the last one may be a dict of names
  model.mlir      StableHLO as text, bytecode or portable artifact
  model.onnx      ONNX, opset 13 to 23
  model.pt2       a program of torch.export.save
"""


@dataclasses.dataclass
class Source:
    """The source of an import: its text and file; a torch module or a JAX function with its
    arguments, or an ONNX model; the parameters of a module or a file by name."""
    text: str
    file: str = ""
    module: Any = None
    model: Any = None
    function: Any = None
    examples: Examples = Examples()
    weights: dict[str, Any] = dataclasses.field(default_factory=dict)
    # A note for the user, in addition to the graph.
    note: str = ""


def read(source: str, parameters: Sequence[str], constants: Sequence[str]) -> Source:
    path, _, name = source.partition(":") if ".py:" not in source else source.rpartition(":")
    if (parameters or constants) and pathlib.Path(source).suffix != ".onnx":
        raise ImportFailure("--parameters and --constants expect a file of ONNX")
    if not path.endswith(".py"):
        return read_file(pathlib.Path(source), parameters, constants)
    if not name:
        raise ImportFailure(f"{source}: expects {path}:NAME")
    function, examples = load_function(pathlib.Path(path), name)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(function, torch.nn.Module):
        function, arguments = jax_import.hold_constants(function, examples.positional)
        return Source(jax_import.read_function(function, arguments), function=function,
                      examples=Examples(arguments))
    from . import torch_import
    text, weights, note = torch_import.read_module(function, examples)
    return Source(text, module=function, examples=examples, weights=weights, note=note)


def read_file(path: pathlib.Path, parameters: Sequence[str],
              constants: Sequence[str]) -> Source:
    if path.suffix == ".pt2":
        return read_exported(path)
    if path.suffix != ".onnx":
        return Source(jax_import.read_file(path))
    from . import onnx_import
    text, weights, model, left_out = onnx_import.read_file(path, parameters, constants)
    note = f"{path}: constants, not parameters: {', '.join(left_out)}" if left_out else ""
    return Source(text, model=model, weights=weights, note=note)


def read_exported(path: pathlib.Path) -> Source:
    try:
        from . import torch_import
    except ImportError as error:
        raise ImportFailure(f"expects torch, which reads {path}: {error}") from None
    text, weights, program = torch_import.read_file(path)
    return Source(text, module=program.module(), weights=weights,
                  examples=Examples(*(program.example_inputs or ())))


def run_check(source: Source, graph: pathlib.Path) -> None:
    """Compares the graph with its source."""
    text = graph.read_text()
    limits = check.read_limits(text)
    outputs = [name for name in re.findall(r'nn\.output = "([^"]*)"', text)
               if name not in ("loss_sum", "tokens")]
    run = run_torch if source.module is not None else \
        run_onnx if source.model is not None else run_jax
    check.check(find_compiler(), graph, outputs, run(source, text, limits))


def run_jax(source: Source, text: str, limits: dict[str, int]) -> check.Computed:
    from . import jax_check
    return jax_check.run_function(source.function, source.examples.positional, text, limits)


def run_onnx(source: Source, text: str, limits: dict[str, int]) -> check.Computed:
    from . import onnx_check
    inputs, results = onnx_check.run_model(source.model, limits)
    run = check.Run(results, {})
    return check.Computed(source.weights, inputs, run, run)


def run_torch(source: Source, text: str, limits: dict[str, int]) -> check.Computed:
    from . import torch_check, torch_import
    names = re.findall(r'nn\.input = "([^"]*)"', text)
    check_values(source.weights, "--check")
    if not source.examples.positional and not source.examples.keywords:
        raise ImportFailure("--check expects a program with example inputs")
    weights = {name: torch_check.array(tensor).copy() for name, tensor in source.weights.items()}
    drawn, examples = torch_check.draw_inputs(names, source.examples, limits)
    with torch_import.without_caches(source.module):
        exact, own = torch_check.run_module(source.module, examples, weights)
    inputs = {name: torch_check.array(tensor) for name, tensor in drawn.items()}
    return check.Computed(weights, inputs, exact, own)


def split_names(text: str | None) -> list[str]:
    return text.split(",") if text else []


def run_compiler(command: Sequence[str], source: Source, weights_out: str | None) -> int:
    """Runs `tessera import`. The weights are written to a temporary file before it and renamed
    after it, so that neither output exists without the other."""
    path = pathlib.Path(weights_out or "")
    partial = stage_weights(path, source.weights) if weights_out else None
    try:
        done = subprocess.run(command, input=source.text, text=True, check=False,
                              stderr=subprocess.PIPE)
        for line in done.stderr.splitlines(keepends=True):
            # Ops without a known source line have the line of the generated text on stdin.
            line = re.sub(r"^<stdin>:(\d+:\d+:)? ", "", line)
            has_line = re.match(r".+:\d+:\d+: ", line)
            sys.stderr.write(line if has_line else f"{source.file}: {line}")
        if partial and done.returncode == 0:
            partial.replace(path)
        return done.returncode
    finally:
        if partial:
            partial.unlink(missing_ok=True)


def stage_weights(path: pathlib.Path, weights: dict[str, Any]) -> pathlib.Path:
    from . import safetensors_file
    check_values(weights, "--weights-out")
    return safetensors_file.stage(path, {name: safetensors_file.Tensor.of(weight)
                                         for name, weight in weights.items()})


def check_values(weights: dict[str, Any], option: str) -> None:
    """Fails if a parameter has no values, such as one on torch's device meta."""
    for name, weight in weights.items():
        if getattr(weight, "is_meta", False):
            raise ImportFailure(f"{name}: {option} expects a parameter with values but got one "
                                "on meta")


def check_output(name: str | None) -> None:
    """Fails if no file can be created at a path; checked before anything is read."""
    if not name or name == "-":
        return
    path = pathlib.Path(name).resolve()
    if path.is_dir() or not (path.exists() or path.parent.exists()):
        reason = os.strerror(errno.EISDIR if path.is_dir() else errno.ENOENT)
        raise ImportFailure(f"{name}: cannot be written: {reason}")


def run_import(options: argparse.Namespace) -> int:
    command = [find_compiler(), "import", "-"]
    for name, value in (("--inputs", options.inputs), ("--no-raise", options.no_raise),
                        ("--dims", options.dims), ("--tokens", options.tokens),
                        ("--labels", options.labels), ("--label-shift", options.label_shift),
                        ("-o", options.output)):
        if value:
            command += [name, value]
    if options.locations:
        command.append("--locations")
    for path in (options.output, options.weights_out):
        check_output(path)
    source = read(options.file, split_names(options.parameters), split_names(options.constants))
    source.file = options.file
    has_weights = source.module is not None or source.model is not None
    if options.weights_out and not has_weights:
        raise ImportFailure("--weights-out expects a torch module or program, or a file of ONNX")
    if options.check and not has_weights and source.function is None:
        raise ImportFailure("--check expects a torch module or program, a JAX function or a file "
                            "of ONNX")
    if options.check and not options.output:
        raise ImportFailure("--check expects -o, the graph's file")
    if options.generic:
        keeps = options.locations or not has_weights
        sys.stdout.write(source.text if keeps else without_locations(source.text))
        return 0
    status = run_compiler(command, source, options.weights_out)
    if status == 0 and source.note:
        print(f"tessera: note: {source.note}", file=sys.stderr)
    if status == 0 and options.check:
        run_check(source, pathlib.Path(options.output))
    return status


def make_parser() -> argparse.ArgumentParser:
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
    importer.add_argument("--parameters", metavar="LIST",
                          help="initializers of a file of ONNX that are parameters, whatever the "
                          "graph says of them")
    importer.add_argument("--constants", metavar="LIST", help="those that are not")
    importer.add_argument("--no-raise", metavar="LIST",
                          help="ops that groups of ops do not become, as gelu,attention; or all")
    importer.add_argument("--dims", metavar="LIST",
                          help="names of dimensions of arguments, as ids=batch,seq;mask=batch")
    importer.add_argument("--tokens", metavar="NAME",
                          help="the input that programs fill with the tokens of --data")
    importer.add_argument("--labels", metavar="NAME",
                          help="the input that they fill with labels")
    importer.add_argument("--label-shift", metavar="N", choices=("0", "1"),
                          help="by how many tokens labels are later than tokens: 1 (default), "
                          "or 0 for a loss that shifts them itself")
    importer.add_argument("--weights-out", metavar="FILE",
                          help="write the parameters of a torch module or program, or a file of "
                          "ONNX, as safetensors: what programs read with --weights")
    importer.add_argument("--check", action="store_true",
                          help="compare results and gradients of the graph with torch's or "
                          "JAX's, and results with ONNX's, in the interpreter")
    importer.add_argument("--locations", action="store_true",
                          help="write which node or line of the source each op of the graph is "
                          "from")
    importer.add_argument("--generic", action="store_true",
                          help="print what tessera import reads, of torch and ONNX without "
                          "--locations without them, and stop")
    return parser


def describe_fault(error: Exception, file: str) -> str:
    """Describes an unexpected error in one line, with its file and line in this package."""
    package = str(pathlib.Path(__file__).parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if frame.filename.startswith(package)]
    place = f" at {pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return (f"{file}: expects a graph that can be imported but got {type(error).__name__}: "
            f"{first_line(error)}{place} (with {TRACEBACK}=1 all of it)")


def main() -> int:
    options = make_parser().parse_args()
    try:
        return run_import(options)
    except ImportFailure as error:
        print(f"tessera: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        print(f"tessera: {describe_fault(error, options.file)}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
