"""Counts the programs of StableHLO's tests that are imported, and those whose results are right.

A program of https://github.com/openxla/stablehlo, stablehlo/testdata, has its inputs and the results
that JAX computed. Each is imported, which computes what follows from constants, and what it returns
is compared with these results: integers and booleans exactly, f32 and f64 to 1e-4 and floats of
16 bits to 2e-2 of a number or of 1.

    python3 bench/trials/stablehlo_programs.py --build build --programs stablehlo/stablehlo/testdata

Needs jaxlib, which reads the programs. Prints one JSON line for each reason of a refusal, with the
number of programs and one of them, the most frequent first; one for each program with other
results; and the counts. Exits with 1 if a program has other results, but for those in OTHER."""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from tessera import jax_import  # noqa: E402
from tessera.errors import ImportFailure  # noqa: E402

CHECK = re.compile(r"stablehlo\.custom_call @check\.\w+\((%[\w#]+), (%[\w#]+)\).*?: "
                   r"\((tensor<[^,]*>), tensor<.*>\) -> .*")
SIGNATURE = re.compile(r"@main\(\) -> .* \{$", re.M)
# Relative to the larger of 1 and the number.
LIMITS = {"bf16": 2e-2, "f16": 2e-2, "f32": 1e-4, "f64": 1e-4}
# Programs that are known to have other results.
OTHER = {
    # XLA's total order has a NaN with a sign below minus infinity, JAX's has all above infinity.
    "top_k_float32_5_chlo",
}


def sign(values, types):
    """Lines that make integers without a sign, which no graph returns, signed ones, and their names
    and types."""
    lines, names, signed = [], [], []
    for i, (value, kind) in enumerate(zip(values, types)):
        width = re.search(r"ui(\d+)>", kind)
        if width:
            to = kind.replace(width[0], f"i{min(64, 2 * int(width[1]))}>")
            op = "bitcast_convert" if width[1] == "64" else "convert"
            lines.append(f"    %signed{i} = stablehlo.{op} {value} : ({kind}) -> {to}")
            value, kind = f"%signed{i}", to
        names.append(value)
        signed.append(kind)
    return lines, names, signed


def pair_results(text):
    """The program whose function @main returns each result and the expected one, and the types."""
    checks = CHECK.findall(text)
    if not checks or not SIGNATURE.search(text):
        return None, []
    types = [each[2] for each in checks]
    lines, values, both = sign([*(each[0] for each in checks), *(each[1] for each in checks)],
                               [*types, *types])
    types = both[:len(types)]
    both = ", ".join(both)
    text = SIGNATURE.sub(lambda _: f"@main() -> ({both}) {{", text, count=1)
    text = CHECK.sub("", text)
    end = "\n".join([*lines, f"    return {', '.join(values)} : {both}"])
    return re.sub(r"^    return .*$", lambda _: end, text, count=1, flags=re.M), types


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if "error: " in line]
    return done.returncode, (lines or [done.stderr.strip()])[0].partition("error: ")[2]


def is_equal(got, expected, element):
    if got.shape != expected.shape:
        return False
    if element not in LIMITS:
        return bool((got == expected).all())
    got, expected = got.astype("f8"), expected.astype("f8")
    with numpy.errstate(invalid="ignore"):
        near = abs(got - expected) <= LIMITS[element] * numpy.maximum(1, abs(expected))
    return bool((near | (got == expected) | (numpy.isnan(got) & numpy.isnan(expected))).all())


def try_program(tessera, path, folder):
    """The reason of a refusal, "equal" or "other"."""
    text, types = pair_results(path.read_text())
    if text is None:
        return "expects results that are compared with others"
    source, graph, results = (folder / f"{path.stem}.{end}" for end in ("in", "mlir", "out"))
    source.write_text(text)
    try:
        generic = jax_import.read_file(source)
    except ImportFailure as failure:
        return f"jaxlib: {str(failure).partition(': ')[2]}"
    source.write_text(generic)
    status, error = run(tessera, "import", source, "-o", graph)
    if status:
        return error
    status, error = run(tessera, "verify", graph, "--mesh", "dp=1", "--no-proof", "--forward",
                        "--dump", results)
    if status:
        return f"verify: {error}"
    names = re.findall(r'nn\.output = "([^"]*)"', graph.read_text())
    arrays = [numpy.load(results / "expected" / f"{name}.npy") for name in names]
    half = len(types)
    elements = [each.removeprefix("tensor<").removesuffix(">").split("x")[-1] for each in types]
    return "equal" if all(map(is_equal, arrays[:half], arrays[half:], elements)) else "other"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default="build")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of programs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth program")
    options = parser.parse_args()
    paths = sorted(options.programs.glob("*.mlir"))[::options.every]
    if not paths:
        sys.exit(f"{options.programs}: expects programs of StableHLO")
    tessera = options.build / "bin" / "tessera"
    with tempfile.TemporaryDirectory() as name, \
            concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(try_program, [tessera] * len(paths), paths,
                              [pathlib.Path(name)] * len(paths)))
    reasons = collections.defaultdict(list)
    for path, reason in zip(paths, found):
        reasons[re.sub(r"tensor<[^>]*>+", "tensor", reason)].append(path.stem)
    equal, other = reasons.pop("equal", []), reasons.pop("other", [])
    for reason, programs in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        print(json.dumps({"refused": reason, "programs": len(programs), "one": programs[0]}))
    for program in other:
        print(json.dumps({"other_results": program}))
    print(json.dumps({"programs": len(paths), "taken": len(equal) + len(other),
                      "equal": len(equal)}))
    return not OTHER.issuperset(other)


if __name__ == "__main__":
    sys.exit(main())
