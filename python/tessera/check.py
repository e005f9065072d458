"""Compares an imported graph with its source: the compiler's interpreter runs the graph on the
source's own parameters.

The reference is the source in f64. The allowed difference follows from the narrowest float type of
the graph, and from the difference between the source in its own types and the reference: a graph
cannot be more precise than the types that its source chose."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
import subprocess
import tempfile
from typing import Any, Mapping, NamedTuple, Sequence

from .errors import ImportFailure

# The differences that are allowed whatever the source's own error is, relative to the largest
# number of a tensor: of results and of gradients, by the narrowest float type of a graph.
FLOORS = {"f64": (1e-5, 1e-4), "f32": (1e-5, 1e-4), "f16": (2**-10, 2**-9), "bf16": (2**-7, 2**-6)}
# The allowed multiple of the source's own error. Another order of roundings has another largest
# error.
FACTOR = 4
# The largest change of a parameter in a step that shows gradients. Parameters themselves are small
# beside it.
CHANGE = 2.0**14
STEP = ["--optimizer", "sgd", "--weight-decay", "0", "--clip", "0"]
# Ops that move elements, or choose among them. Their integers are ids if one of their operands is.
MOVES = {"tensor.extract_slice", "tensor.concat", "tensor.collapse_shape", "tensor.expand_shape",
         "nn.transpose", "nn.broadcast", "arith.select", "arith.maxsi", "arith.minsi",
         "arith.extsi", "arith.extui", "arith.trunci", "nn.stop_gradient"}


@dataclasses.dataclass(frozen=True)
class Run:
    """The results of a source in order, and the gradients of its parameters by name."""
    results: Sequence[Any]
    gradients: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Computed:
    """Parameters and inputs of a source by name, its run in f64, and its run in its own types. Both
    are one run where the source is in f64, or fails in one of the two."""
    weights: Mapping[str, Any]
    inputs: Mapping[str, Any]
    exact: Run
    own: Run


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
    """For inputs of ids, the least size of the tables that they index and the least number of
    classes of the losses that they are labels of, by name of the input. Positions that are set are
    left out: sources differ in the gradients of equal ones."""
    found: dict[str, int] = {}
    written: set[str] = set()
    names: dict[str, set[str]] = {}
    for number, (_, attributes) in enumerate(split_arguments(graph)):
        name = re.search(r'nn\.input = "([^"]*)"', attributes)
        size = re.search(r"nn\.vocab = (\d+)", attributes)
        if name:
            names[f"%arg{number}"] = {name.group(1)}
        if name and size:
            found[name.group(1)] = int(size.group(1))
    for result, op, rest in re.findall(r"^ *(%\w+) = ([\w.]+) (.*)", graph, re.MULTILINE):
        values, _, types = rest.partition(" : ")
        operands = [names.get(value, set()) for value in re.findall(r"%\w+", values)]
        if op in MOVES:
            names[result] = set().union(*operands)
        elif op in ("nn.embedding", "nn.cross_entropy", "nn.take_along_axis") and \
                len(operands) > 1:
            shape = types.partition(">")[0].partition("<")[2].split("x")
            size = int(shape[0] if op == "nn.embedding" else shape[-2])
            found.update({name: min(size, found.get(name, size)) for name in operands[1]})
        elif op == "nn.scatter" and rest.startswith("<set>"):
            written |= operands[1]
    return {name: size for name, size in found.items() if name not in written}


class Parameter(NamedTuple):
    """A parameter of a graph: a strided view of a tensor of the source. One of 16 bits that is
    trained has a master, a copy of f32 that steps change."""
    shape: list[int]
    tensor: str
    offset: int
    strides: list[int]
    has_master: bool


def read_arguments(graph: str) -> dict[str, Parameter]:
    """The parameters of a graph by name."""
    found = {}
    for kind, attributes in split_arguments(graph):
        name = re.search(r'nn\.param = "([^"]*)"', attributes)
        source = re.search(
            r'#nn\.source<"([^"]*)", \[[^]]*\], offset (\d+), strides \[([^]]*)\]', attributes)
        *sizes, element = kind.split("x")
        shape = [int(size) for size in sizes]
        has_master = element in ("f16", "bf16") and "nn.frozen" not in attributes
        if name and source:
            strides = [int(stride) for stride in source.group(3).split(", ") if stride]
            found[name.group(1)] = Parameter(shape, source.group(1), int(source.group(2)), strides,
                                             has_master)
        elif name:
            strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
            found[name.group(1)] = Parameter(shape, name.group(1), 0, strides, has_master)
    return found


def view_of(array: Any, parameter: Parameter) -> Any:
    """The view of an array that a parameter is."""
    import numpy
    flat = numpy.ascontiguousarray(array).reshape(-1)[parameter.offset:]
    return numpy.lib.stride_tricks.as_strided(
        flat, parameter.shape, [stride * flat.itemsize for stride in parameter.strides])


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


def read_floors(graph: str) -> tuple[float, float]:
    """The floors of results and gradients for the narrowest float type of a graph."""
    kinds = set(re.findall(r"[x<](f64|f32|f16|bf16)>", graph))
    return max((FLOORS[kind] for kind in kinds), default=FLOORS["f32"])


def judge(name: str, ours: Any, exact: Any, own: Any, floor: float,
          least: float = 0.0) -> tuple[float, float]:
    """The difference of an array from the reference, and the allowed one. Fails if the difference
    is larger. Both are relative to the largest number of the reference, or to `least` if it is
    larger; of integers they are shares of elements. Elements that overflow in the source's own
    types do not count."""
    import numpy
    if not numpy.issubdtype(exact.dtype, numpy.floating):
        found, error, floor = *(float((x != exact).sum()) / max(exact.size, 1)
                                for x in (ours, own)), 0.0
    else:
        is_counted = numpy.isfinite(own) | ~numpy.isfinite(exact)
        if exact.size and not is_counted.any():
            raise ImportFailure(f"--check: expects a source whose {name} does not overflow in its "
                                "own types")
        ours, exact, own = ours[is_counted], exact[is_counted], own[is_counted]
        scale, is_finite = max(largest(exact), least), numpy.isfinite(exact)
        found = difference(ours, exact, scale)
        error = difference(own[is_finite], exact[is_finite], scale)
    bound = max(floor, FACTOR * error)
    if not found <= bound:
        raise ImportFailure(f"--check: expects {name} within {bound:.2g} of the source's but got a "
                            f"difference of {found:.2g}")
    return found, bound


def describe(found: float, bound: float, usual: float) -> str:
    """The difference, and the allowed one if it is not the usual one."""
    return f"{found:.1e}" + (f", at most {bound:.1e}" if bound > usual else "")


def check(compiler: str, graph: pathlib.Path, outputs: Sequence[str], computed: Computed) -> None:
    """Fails unless the results and gradients of the graph match the source's."""
    import numpy
    text = graph.read_text()
    arguments, floors = read_arguments(text), read_floors(text)
    with tempfile.TemporaryDirectory(prefix="tessera-check") as name:
        folder = pathlib.Path(name)
        (folder / "inputs").mkdir()
        for own, parameter in arguments.items():
            view = view_of(computed.weights[parameter.tensor], parameter)
            numpy.save(folder / "inputs" / f"{own}.npy", numpy.array(view, order="C"))
        for own, array in computed.inputs.items():
            numpy.save(folder / "inputs" / f"{own}.npy", array)
        results = interpret(compiler, graph, folder, ["--forward"])
        for own, exact, rounded in zip(outputs, computed.exact.results, computed.own.results):
            ours = numpy.load(results / f"{own}.npy")
            found = judge(own, ours, exact, rounded, floors[0])
            print(f"{own} agrees ({describe(*found, FLOORS['f32'][0])})")
        if computed.exact.gradients:
            for own, array in computed.inputs.items():
                # A step has a dimension of micro-batches.
                numpy.save(folder / "inputs" / f"{own}.npy", array[None])
            for own in (own for own, parameter in arguments.items() if parameter.has_master):
                array = numpy.load(folder / "inputs" / f"{own}.npy").astype("f4")
                numpy.save(folder / "inputs" / f"{own}.master.npy", array)
            rate = choose_rate(computed.exact.gradients)
            results = interpret(compiler, graph, folder, [*STEP, "--lr", str(rate)])
            compare_gradients(arguments, folder, results, rate, computed, floors[1])


def choose_rate(gradients: Mapping[str, Any]) -> float:
    """The power of two, of those of f32, for which the largest gradient changes a parameter by at
    most CHANGE."""
    most = max(largest(array) for array in gradients.values())
    return CHANGE / 2.0 ** max(math.ceil(math.log2(most)), -100) if most else CHANGE


def compare_gradients(arguments: Mapping[str, Parameter], folder: pathlib.Path,
                      results: pathlib.Path, rate: float, computed: Computed,
                      floor: float) -> None:
    import numpy
    exact, rounded = computed.exact.gradients, computed.own.gradients
    trained = sum(parameter.tensor in exact for parameter in arguments.values())
    if numpy.load(results / "skipped.npy") == 1:
        # A step whose norm is not finite changes nothing.
        if all(numpy.isfinite(array).all() for array in rounded.values()):
            raise ImportFailure("--check: the norm of the gradients is not finite")
        print(f"{trained} gradients agree (not finite)")
        return
    most = max(largest(array) for array in exact.values())
    worst = 0.0, floor
    for own, parameter in arguments.items():
        # A frozen parameter does not change.
        theirs = [view_of(gradients[parameter.tensor], parameter) if parameter.tensor in exact else
                  numpy.zeros(parameter.shape) for gradients in (exact, rounded)]
        changed = f"{own}.master.npy" if parameter.has_master else f"{own}.npy"
        before, after = numpy.load(folder / "inputs" / changed), numpy.load(results / changed)
        ours = (before.astype("f8") - after) / rate
        found = judge(f"the gradient of {own}", ours, *theirs, floor, 1e-3 * most)
        worst = max(worst, found, key=lambda pair: pair[0] / pair[1])
    print(f"{trained} gradients agree ({describe(*worst, FLOORS['f32'][1])})")
