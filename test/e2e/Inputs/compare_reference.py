"""Compares logits and gradients with Hugging Face transformers'. reference-MODEL.json has the norm
and evenly spaced elements of each tensor. The tolerance is 1e-5 of the largest for logits, 1e-4 for
gradients. A gradient is the change of a parameter in one step of SGD, over its learning rate.

Usage: compare_reference.py REFERENCE.json LOGITS-DIR BEFORE-DIR AFTER-DIR"""

import json
import math
import pathlib
import sys

import npy


def difference(values, reference):
    """The largest difference of the numbers in the file, and of the norm."""
    sample = values[::reference["stride"]]
    assert len(sample) == len(reference["values"]), "expects the sizes of the reference"
    differences = [abs(a - b) / reference["scale"] for a, b in zip(sample, reference["values"])]
    norm = math.sqrt(sum(v * v for v in values))
    # A zero tensor (the bias of keys) has the rounding error of each of its elements.
    least = reference["scale"] * (1 if reference["norm"] else math.sqrt(len(values)))
    differences.append(abs(norm - reference["norm"]) / max(reference["norm"], least))
    # NaN never compares as larger.
    return math.nan if any(map(math.isnan, differences)) else max(differences)


def main():
    reference = json.loads(pathlib.Path(sys.argv[1]).read_text())
    logits, before, after = map(pathlib.Path, sys.argv[2:5])
    worst = difference(npy.read(logits / "logits.npy"), reference["logits"])
    wrong = [] if worst <= 1e-5 else [f"logits: {worst:.2g}"]
    names = {file.stem for file in after.glob("*.npy")} & {file.stem for file in before.glob("*.npy")}
    names -= {"tokens", "labels", "step"}
    if names != reference["gradients"].keys():
        wrong.append(f"parameters: {sorted(names ^ reference['gradients'].keys())}")
    for name in sorted(names & reference["gradients"].keys()):
        pairs = zip(npy.read(before / f"{name}.npy"), npy.read(after / f"{name}.npy"))
        gradient = [(a - b) / reference["lr"] for a, b in pairs]
        worst = difference(gradient, reference["gradients"][name])
        if not worst <= 1e-4:
            wrong.append(f"{name}: {worst:.2g}")
    for line in wrong:
        print(f"DIFFERS {line}")
    if not wrong:
        print(f"{reference['model']}: logits and {len(names)} gradients agree")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
