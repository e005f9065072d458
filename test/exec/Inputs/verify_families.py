"""Verifies the training steps of tiny models on meshes that divide few of their dimensions.

    verify_families.py MODELS FOLDER

Prints a line for each family and mesh; exit status 1 if one fails."""

import pathlib
import re
import subprocess
import sys

MODELS, FOLDER = map(pathlib.Path, sys.argv[1:])
FAMILIES = ["qwen2", "qwen3", "mistral", "phi3", "gemma3"]
MESHES = [
    "--mesh dp=2,tp=2 --strategy dp,tp,zero=1",
    "--mesh dp=3,tp=2 --strategy dp,tp,sp,zero=3 --micro-batches 2",
    "--mesh dp=2,tp=3 --strategy dp,tp,sp,zero=2",
    "--mesh tp=8 --strategy tp,sp",
]


def run(*words):
    return subprocess.run(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def verify(graph, options):
    """An empty string, or the output of a run without a proof or with a difference."""
    done = run("tessera", "verify", graph, *options.split(), "--quiet")
    compared, proven, _ = done.stdout.partition("partition proven")
    same = not re.search("NO$", compared, re.MULTILINE)
    return "" if done.returncode == 0 and proven and same else done.stdout


def main():
    failed = []
    for family in FAMILIES:
        graph = FOLDER / f"{family}.mlir"
        model = MODELS / f"tiny-{family}.json"
        made = run("tessera", "model", model, "--batch", 6, "--seq", 20, "--train", "--quiet",
                   "-o", graph)
        for options in MESHES:
            fault = made.stdout if made.returncode else verify(graph, options)
            name = f"{family} {options}"
            print(f"{name}: {'FAILED' if fault else 'proven'}\n{fault}", end="", flush=True)
            failed += [name] if fault else []
    print(f"{len(failed)} of {len(FAMILIES) * len(MESHES)} failed:", "; ".join(failed) or "none")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
