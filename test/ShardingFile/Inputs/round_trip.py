"""Compiles models from the sharding files of their programs.

usage: round_trip.py MODELS FOLDER

Each small model of MODELS has two layers. A program that is compiled with `--shardings` of what it wrote
with `--shardings-out` must be the same, byte for byte, and write the same file. The file has
the mesh and the strategy. Prints a line for each program that differs and a count."""

import pathlib
import subprocess
import sys

# Mesh, strategy and further options; every model takes two of them, one after the other.
LAYOUTS = [
    ("dp=2,tp=2", "dp,tp", []),
    ("dp=4", "dp,zero=3", []),
    ("dp=2,tp=2", "auto", []),
    ("dp=2,tp=4", "dp,tp,sp", []),
    ("dp=4", "dp,zero=2", ["--micro-batches", "2"]),
    ("x=2,y=2", "dp@x,tp@y,zero=1", []),
    ("dp=3,tp=2", "dp,tp,zero=3", []),
    ("pp=2,dp=2", "pp,dp", ["--micro-batches", "2"]),
    ("dp=2,cp=2", "dp,cp", []),
    ("dp=2,tp=2", "dp,tp,sp,zero=3", ["--forward"]),
]


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def differs(program, folder, mesh, strategy, options):
    """The fault of a program that is compiled from a file; empty if there is none."""
    texts = []
    for number, source in enumerate((["--mesh", mesh, "--strategy", strategy],
                                     ["--shardings", folder / "0.json"])):
        made = run("tessera", "compile", program, *source, *options, "--quiet", "--compile-to=partition",
                   "--shardings-out", folder / f"{number}.json", "-o", folder / "p.mlir")
        if made.returncode:
            return made.stdout
        texts.append(((folder / "p.mlir").read_bytes(), (folder / f"{number}.json").read_bytes()))
    return "" if texts[0] == texts[1] else "the program or its file differs\n"


def main():
    models, folder = sorted(pathlib.Path(sys.argv[1]).glob("tiny-*.json")), pathlib.Path(sys.argv[2])
    same = count = 0
    for model in models:
        program = folder / "g.mlir"
        made = run("tessera", "model", model, "--layers", "2", "--batch", "24", "--seq", "32", "--train", "--quiet",
                   "-o", program)
        if made.returncode:
            print(model.stem, made.stdout)
        for _ in range(2):
            mesh, strategy, options = LAYOUTS[count % len(LAYOUTS)]
            count += 1
            wrong = differs(program, folder, mesh, strategy, options)
            same += not wrong
            if wrong:
                print(model.stem, mesh, strategy, *options, "is not the same:", wrong, flush=True)
    print(f"{len(models)} models: {same} of {count} the same")


if __name__ == "__main__":
    main()
