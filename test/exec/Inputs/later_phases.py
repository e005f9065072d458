"""Checks that programs compute the same at phases kernels and schedule as at phase train, for each
case. A collective over another axis must be found.

    later_phases.py MODELS FOLDER

Prints a line for each case and phase, with the rt ops of the program."""

import collections
import re
import subprocess
import sys

MODELS, FOLDER = sys.argv[1:]
CASES = [
    ("tiny-llama", "--mesh dp=2,tp=2 --strategy dp,tp"),
    ("tiny-llama", "--mesh dp=2,tp=2 --strategy dp,tp,sp,zero=3 --micro-batches 2"),
    ("tiny-gpt2", "--mesh dp=2,tp=2 --strategy dp,tp,zero=1 --target cuda-emulated"),
    ("tiny-gpt2", "--mesh cp=4 --strategy cp=ring"),
    ("tiny-llama", "--mesh tp=4 --strategy tp,sp --collective-matmul on"),
    ("tiny-mixtral", "--mesh dp=4 --strategy dp,ep=4"),
    ("tiny-mistral", "--mesh dp=2 --strategy dp,zero=3 --precision fp8 --recompute full"),
]


def tessera(*words, **options):
    return subprocess.run(["tessera", *words], capture_output=True, text=True, **options)


def compare(reference, program):
    done = tessera("verify", reference, "--partitioned", program, "--no-proof", "--quiet")
    if done.returncode == 0:
        return "same"
    isFound = " NO" in done.stdout or "hold the same block but they differ" in done.stderr
    return "differs" if isFound else done.stderr


def main():
    for model, options in CASES:
        graph, reference, program = (f"{FOLDER}/{name}.mlir" for name in ("g", "train", "later"))
        tessera("model", f"{MODELS}/{model}.json", "--layers", "1", "--batch", "4", "--seq",
                "16", "--train", "--quiet", "-o", graph, check=True)
        words = [graph, *options.split(), "--quiet"]
        tessera("compile", *words, "--compile-to=train", "-o", reference, check=True)
        for phase in ("kernels", "schedule"):
            tessera("compile", *words, f"--compile-to={phase}", "-o", program, check=True)
            with open(program) as file:
                text = file.read()
            ops = collections.Counter(re.findall(r"= rt\.(\w+(?: <\w+>)?)", text))
            print(f"{phase} {options}: {compare(reference, program)}:",
                  ", ".join(sorted(ops)))
        moved = re.sub(r'(dist.all_reduce <sum> %\w+ over <\{)"tp"', r'\1"dp"', text, count=1)
        if moved != text and "dp=2" in options:
            with open(program, "w") as file:
                file.write(moved)
            print(f"over another axis, {options}: {compare(reference, program)}")


main()
