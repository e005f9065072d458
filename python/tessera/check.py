"""Compares an imported graph with its source: the compiler's interpreter runs the graph on the
source's own parameters."""

from __future__ import annotations

import math
import pathlib
import re
import subprocess
import tempfile
from typing import Any, Mapping, Sequence

from .errors import ImportFailure

# The largest allowed difference, relative to the largest number of a tensor.
LOGITS, GRADIENTS = 1e-5, 1e-4
# A learning rate for which the change of a parameter shows its gradient.
RATE = 1024
STEP = ["--optimizer", "sgd", "--lr", str(RATE), "--weight-decay", "0", "--clip", "0"]


def split_arguments(graph: str) -> list[tuple[str, str]]:
    """The type and the attributes of each argument of a graph."""
    found = []
    for start in re.finditer(r"%arg\d+: tensor<([^>]*)> \{", graph):
        depth, end = 1, start.end()
        while depth:
            # Braces in strings are not counted.
            token = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]').search(graph, end)
            assert token is not None, "expects a graph whose braces match"
            depth += {"{": 1, "}": -1}.get(token.group(), 0)
            end = token.end()
        found.append((start.group(1), graph[start.end():end - 1]))
    return found


def read_limits(graph: str) -> dict[str, int]:
    """The sizes of the tables that inputs index, by name of the input."""
    found = {}
    for _, attributes in split_arguments(graph):
        name = re.search(r'nn\.input = "([^"]*)"', attributes)
        size = re.search(r"nn\.vocab = (\d+)", attributes)
        if name and size:
            found[name.group(1)] = int(size.group(1))
    return found


def read_arguments(graph: str) -> dict[str, tuple[list[int], str, int, list[int]]]:
    """For each parameter its shape, and the source tensor, offset and strides of its view."""
    found = {}
    for kind, attributes in split_arguments(graph):
        name = re.search(r'nn\.param = "([^"]*)"', attributes)
        source = re.search(
            r'#nn\.source<"([^"]*)", \[[^]]*\], offset (\d+), strides \[([^]]*)\]', attributes)
        shape = [int(size) for size in kind.split("x")[:-1]]
        if name and source:
            strides = [int(stride) for stride in source.group(3).split(", ") if stride]
            found[name.group(1)] = (shape, source.group(1), int(source.group(2)), strides)
        elif name:
            strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
            found[name.group(1)] = (shape, name.group(1), 0, strides)
    return found


def view_of(array: Any, shape: Sequence[int], offset: int, strides: Sequence[int]) -> Any:
    """A strided view of a contiguous array."""
    import numpy
    flat = array.reshape(-1)[offset:]
    return numpy.lib.stride_tricks.as_strided(flat, shape, [s * array.itemsize for s in strides])


def difference(ours: Any, theirs: Any, scale: float) -> float:
    """The largest difference relative to `scale`; absolute if `scale` is 0. NaNs are equal to each
    other."""
    import numpy
    left, right = ours.astype("f8"), theirs.astype("f8")
    is_same = (left == right) | (numpy.isnan(left) & numpy.isnan(right))
    with numpy.errstate(invalid="ignore"):
        distances = abs(numpy.where(is_same, 0, left - right))
    return float(distances.max(initial=0)) / (scale or 1.0)


def largest(array: Any) -> float:
    """The largest magnitude of the finite numbers."""
    import numpy
    sizes = abs(numpy.asarray(array, dtype="f8"))
    return float(sizes[numpy.isfinite(sizes)].max(initial=0))


def interpret(compiler: str, graph: pathlib.Path, folder: pathlib.Path,
              options: Sequence[str]) -> pathlib.Path:
    """Runs the graph on the inputs of a folder; returns the folder of its results."""
    command = [compiler, "verify", str(graph), "--no-proof", "--inputs",
               str(folder / "inputs"), "--dump", str(folder / "results"), *options]
    # A graph with shardings has its own mesh.
    if "dist.mesh" not in graph.read_text():
        command += ["--mesh", "dp=1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{compiler} ended with {done.returncode}"]
        raise ImportFailure(f"--check: {lines[-1]}")
    return folder / "results" / "expected"


def check(compiler: str, graph: pathlib.Path, weights: Mapping[str, Any],
          inputs: Mapping[str, Any], outputs: Mapping[str, Any],
          gradients: Mapping[str, Any]) -> None:
    """Fails unless the results and gradients of the graph match these arrays."""
    import numpy
    arguments = read_arguments(graph.read_text())
    with tempfile.TemporaryDirectory(prefix="tessera-check") as name:
        folder = pathlib.Path(name)
        (folder / "inputs").mkdir()
        for own, (shape, tensor, offset, strides) in arguments.items():
            view = view_of(numpy.ascontiguousarray(weights[tensor]), shape, offset, strides)
            numpy.save(folder / "inputs" / f"{own}.npy", numpy.array(view))
        for own, array in inputs.items():
            numpy.save(folder / "inputs" / f"{own}.npy", array)
        results = interpret(compiler, graph, folder, ["--forward"])
        for own, array in outputs.items():
            found = difference(numpy.load(results / f"{own}.npy"), array, largest(array))
            if not found <= LOGITS:
                raise ImportFailure(f"--check: {own} differs by {found:.2g}")
            print(f"{own} agrees ({found:.1e})")
        if gradients:
            for own, array in inputs.items():
                # A step has a dimension of micro-batches.
                numpy.save(folder / "inputs" / f"{own}.npy", array[None])
            results = interpret(compiler, graph, folder, STEP)
            compare_gradients(arguments, folder, results, gradients)


def compare_gradients(arguments: Mapping[str, Any], folder: pathlib.Path, results: pathlib.Path,
                      gradients: Mapping[str, Any]) -> None:
    import numpy
    trained = sum(tensor in gradients for _, tensor, _, _ in arguments.values())
    if numpy.load(results / "skipped.npy") == 1:
        # A step whose norm is not finite changes nothing.
        if all(numpy.isfinite(array).all() for array in gradients.values()):
            raise ImportFailure("--check: the norm of the gradients is not finite")
        print(f"{trained} gradients agree (not finite)")
        return
    most = max(largest(array) for array in gradients.values())
    worst = 0.0
    for own, (shape, tensor, offset, strides) in arguments.items():
        # A frozen parameter does not change.
        theirs = numpy.zeros(shape)
        if tensor in gradients:
            theirs = view_of(numpy.ascontiguousarray(gradients[tensor]), shape, offset, strides)
        before = numpy.load(folder / "inputs" / f"{own}.npy").astype("f8")
        ours = (before - numpy.load(results / f"{own}.npy")) / RATE
        scale = max(largest(theirs), 1e-3 * most)
        found = difference(ours, theirs, scale)
        if not found <= GRADIENTS or math.isnan(found):
            raise ImportFailure(f"--check: the gradient of {own} differs by {found:.2g}")
        worst = max(worst, found)
    print(f"{trained} gradients agree ({worst:.1e})")
