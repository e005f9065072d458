"""Training steps below f32: correct programs must pass, wrong ones fail.

A partitioned step differs from the original by roundings alone, on any mesh. Then one error at a
time is made in it: a reduction left out, a scale changed."""

import itertools
import re
import subprocess
import sys

MESHES = ["dp=2,tp=2", "dp=1,tp=4", "dp=4,tp=2", "dp=3,tp=2"]
STRATEGIES = ["dp,tp", "dp,tp,sp,zero=2", "dp,tp,sp,zero=3"]
PRECISIONS = ["bf16", "fp8", "f16"]
SCALE = 2


def verify(*arguments):
    """None, or the error."""
    run = subprocess.run(["tessera", "verify", *arguments, "--no-proof"], capture_output=True, text=True)
    lines = (run.stdout + run.stderr).splitlines()
    if run.returncode:
        return next((line for line in lines if " NO" in line or "error:" in line), "no output")
    return None if lines and "ranks" in lines[0] else "it was not partitioned"


def check_right(programs):
    cases = list(itertools.product(programs, MESHES, STRATEGIES, PRECISIONS))
    right = 0
    for program, mesh, strategy, precision in cases:
        why = verify(program, "--mesh", mesh, "--strategy", strategy, "--precision", precision)
        right += why is None
        if why is not None:
            print("FAIL", program, mesh, strategy, precision, why)
    print(f"{right} of {len(cases)} right")


def plant(text):
    """(what, program) for each error."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        reduce = re.match(r"(\s*%\w+ = )dist.all_reduce <sum> (%\S+) .* : (\S+) -> (\S+)", line)
        if reduce:
            head, operand, source, _ = reduce.groups()
            wrong = f"{head}tensor.cast {operand} : {source} to {source}"
            yield "without " + line.strip(), lines[:i] + [wrong] + lines[i + 1:]
        scale = re.search(r"scale (\d\.\d+)", line)
        if scale:
            wrong = line.replace(scale[1], f"{float(scale[1]) * SCALE}")
            yield "scale of " + line.strip(), lines[:i] + [wrong] + lines[i + 1:]


def check_wrong(program, precision, temporary):
    options = ["--mesh", "dp=2,tp=2", "--strategy", "dp,tp", "--precision", precision, "--quiet"]
    for phase in ("train", "partition"):
        subprocess.run(["tessera", "compile", program, *options, f"--compile-to={phase}", "-o",
                        f"{temporary}.{phase}.mlir"], check=True)
    original, partitioned = f"{temporary}.train.mlir", f"{temporary}.partition.mlir"
    why = verify(original, "--partitioned", partitioned)
    if why:
        print("FAIL unchanged:", why)
    seen = count = 0
    with open(partitioned) as file:
        text = file.read()
    for what, lines in plant(text):
        with open(f"{temporary}.wrong.mlir", "w") as file:
            file.write("\n".join(lines) + "\n")
        count += 1
        why = verify(original, "--partitioned", f"{temporary}.wrong.mlir")
        seen += why is not None
        if why is None:
            print("NOT SEEN", precision, what)
    print(f"{precision}: {seen} of {count} errors seen")


def main():
    temporary, *programs = sys.argv[1:]
    check_right(programs)
    for precision in PRECISIONS[:2]:
        check_wrong(programs[0], precision, temporary)


if __name__ == "__main__":
    main()
