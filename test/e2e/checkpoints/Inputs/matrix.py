"""All pairs of a program that saves a checkpoint and one that loads it.

Each program trains some steps from the same seed and writes a checkpoint. Each other
program loads it, runs no step and saves whole tensors, which have to be those of the
checkpoint bit for bit. The mesh of a program is its name, "dp=4,zero=2", or "one".

usage: matrix.py TESSERA CONFIG DATA FOLDER STEPS MESH[:PRECISION]...
"""

import math
import pathlib
import subprocess
import sys

def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stderr}")
    return done.stdout


def tensors(path):
    return {file.name: file.read_bytes() for file in sorted(path.glob("*.npy"))}


def compile_case(tessera, graph, case, target):
    """Compiles a program for the mesh of a case, and returns the number of its ranks. A stage axis
    needs micro-batches."""
    axes = dict(axis.split("=") for axis in case.split(",") if "=" in axis)
    mesh = ",".join(f"{axis}={size}" for axis, size in axes.items() if axis in ("dp", "tp", "cp", "pp"))
    strategy = [axis if axis != "cp" else "cp=ring" for axis in axes if axis in ("dp", "tp", "cp", "pp")]
    strategy += [word for word in case.split(",") if word == "sp" or word.startswith("zero=")]
    options = ["--mesh", mesh, "--strategy", ",".join(strategy)] if mesh else []
    options += ["--micro-batches", 4] * ("pp" in axes)
    run(tessera, "compile", graph, *options, "--quiet", "-o", target)
    return math.prod(int(size) for axis, size in axes.items() if axis != "zero")


def run_here(_, program, *options):
    run(program, *options)


def compare(tessera, config, data, folder, steps, cases, run_program=run_here):
    """Compares all pairs; returns their number. `run_program` runs a program of so many ranks with
    options."""
    graph = folder / "g.mlir"
    folder.mkdir(parents=True)
    run(tessera, "model", config, "--batch", 12, "--seq", 16, "--train", "--quiet", "-o", graph)
    programs, saved = {}, {}
    for i, case in enumerate(cases):
        program = folder / f"p{i}"
        programs[case] = compile_case(tessera, graph, case, program), program
        checkpoints, whole = folder / f"ck{i}", folder / f"whole{i}"
        run_program(*programs[case], "--quiet", "--data", data, "--steps", steps, "--checkpoint",
                    checkpoints)
        run(tessera, "checkpoint", "export", checkpoints, "--folder", whole)
        saved[case] = (checkpoints, tensors(whole))
        if not saved[case][1]:
            sys.exit(f"{case}: nothing was exported")

    pairs = 0
    for saver, (checkpoints, expected) in saved.items():
        for loader in cases:
            out = folder / "out"
            run_program(*programs[loader], "--quiet", "--data", data, "--steps", 0, "--load",
                        checkpoints, "--save-final", out)
            got = tensors(out)
            wrong = [name for name in expected if got.get(name) != expected[name]]
            if wrong or got.keys() != expected.keys():
                sys.exit(f"{saver} saved, {loader} loaded: {len(wrong)} of {len(expected)} tensors "
                         f"differ: {', '.join(wrong[:5])}")
            pairs += 1
    return pairs


if __name__ == "__main__":
    tessera, config, data, folder, steps, *cases = sys.argv[1:]
    pairs = compare(tessera, config, data, pathlib.Path(folder), steps, cases)
    print(f"{pairs} pairs have the same tensors")
