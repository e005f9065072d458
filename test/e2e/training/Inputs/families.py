"""Compares the tiny model of each family, compiled, with Hugging Face transformers.

    families.py MODELS FOLDER

A family is a name and its number of parameters. Its logits, and its gradients by one step of SGD
at a large rate, must agree with test/e2e/Inputs/reference-tiny-FAMILY.json (see
compare_reference.py). Prints a line for each family; exit status 1 if one differs."""

import pathlib
import subprocess
import sys

MODELS, FOLDER = map(pathlib.Path, sys.argv[1:])
INPUTS = pathlib.Path(__file__).parents[2] / "Inputs"
FAMILIES = {
    "gpt2": 36,
    "llama": 21,
    "qwen2": 27,
    "qwen3": 25,
    "mistral": 21,
    "phi3": 21,
    "gemma2": 24,
    "gemma3": 80,
    "olmo2": 25,
    "granite": 20,
    "cohere": 22,
    "stablelm": 36,
    "starcoder2": 35,
    "glm4": 31,
    "mixtral": 23,
    "qwen3-moe": 38,
}
SGD = "--optimizer sgd --lr 1024 --weight-decay 0 --clip 0".split()


def run(*words):
    words = list(map(str, words))
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stdout}")
    return done.stdout


def build(family, name, model_options, options):
    """Compiles the model, and writes the numbers that it begins with to NAME.data."""
    program, graph = FOLDER / name, FOLDER / f"{name}.mlir"
    run("tessera", "model", MODELS / f"tiny-{family}.json", "--batch", 2, "--seq", 24,
        *model_options, "--quiet", "-o", graph)
    run("tessera", "verify", graph, "--mesh", "dp=1", "--no-proof", *options,
        "--dump", f"{program}.data")
    run("tessera", "compile", graph, *options, "--quiet", "-o", program)
    return program


def compare(family):
    forward = build(family, family, [], [])
    run(forward, "--inputs", f"{forward}.data", "--quiet", "--save-outputs", f"{forward}.logits")
    train = build(family, f"{family}-train", ["--train"], SGD)
    run(train, "--inputs", f"{train}.data", "--quiet", "--save-final", f"{train}.after")
    return run(sys.executable, INPUTS / "compare_reference.py",
               INPUTS / f"reference-tiny-{family}.json", f"{forward}.logits", f"{train}.data",
               f"{train}.after")


def main():
    failed = []
    for family, gradients in FAMILIES.items():
        expected = f"tiny-{family}: logits and {gradients} gradients agree\n"
        try:
            found = compare(family)
        except RuntimeError as error:
            found = str(error)
        if found == expected:
            print(expected, end="", flush=True)
        else:
            failed.append(family)
            print(f"tiny-{family}: FAILED: expects '{expected.strip()}' but got")
            print(found, flush=True)
    print(f"{len(failed)} of {len(FAMILIES)} families failed:", ", ".join(failed) or "none")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
