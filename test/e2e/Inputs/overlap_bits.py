"""Compiles a training step with and without overlap and compares three steps.

    overlap_bits.py PROGRAM.mlir FOLDER MESH:STRATEGY:MICRO_BATCHES ...

Parameters and state must have the same bits with `--overlap=off`, with overlap in watched memory,
and without spare memory."""

import filecmp
import pathlib
import subprocess
import sys

VARIANTS = {
    "off": ["--overlap=off"],
    "watched": ["--memory", "watched"],
    "tight": ["--overlap-memory=0"],
}


def run(*command):
    subprocess.run([str(c) for c in command], check=True)


def main(program, folder, cases):
    folder = pathlib.Path(folder)
    for number, case in enumerate(cases):
        mesh, strategy, micro = case.rsplit(":", 2)
        here = folder / str(number)
        here.mkdir(parents=True)
        for name, flags in VARIANTS.items():
            run("tessera", "compile", program, "--mesh", mesh, "--strategy", strategy,
                "--micro-batches", micro, "--quiet", *flags, "-o", here / name)
            run(here / name, "--random-data", "--steps", "3", "--quiet",
                "--save-final", here / f"{name}.out")
        files = sorted(p.name for p in (here / "off.out").glob("*.npy"))
        assert len(files) > 10
        different = [f"{name}/{f}" for name in VARIANTS for f in files
                     if not filecmp.cmp(here / "off.out" / f, here / f"{name}.out" / f,
                                        shallow=False)]
        print(f"{case}: " + (f"different: {different[:5]}" if different
                             else "the same bits"))


main(sys.argv[1], sys.argv[2], sys.argv[3:])
