"""Compares the losses of training runs.

    compare_losses.py [--tolerance X] [--norms] [--steps N] FIRST OTHER...

Each file is the output of a program with --log=jsonl, or a JSON file of golden values with "loss"
and "grad_norm" lists. Every loss (with --norms also every gradient norm) of the others must be
within X, relatively, of FIRST's; with a tolerance of 0 they must be equal. Prints the first and
last loss and the largest difference of each; exit status 1 on a mismatch."""

import argparse
import json
import pathlib
import sys


def read(path):
    """The lists "loss" and "grad_norm" of a run."""
    text = pathlib.Path(path).read_text()
    values = {"loss": [], "grad_norm": []}
    lines = text.splitlines()
    if len(lines) == 1 or lines[0] == "{":
        document = json.loads(text)
        return {key: document[key] for key in values}
    for line in lines:
        event = json.loads(line)
        if event.get("event") == "step":
            for key in values:
                values[key].append(event[key])
    return values


def difference(ours, theirs):
    """The largest relative difference; infinite if a value is missing."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        if a is None or b is None:
            return float("inf")
        worst = max(worst, abs(a - b) / max(abs(b), 1e-30))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--norms", action="store_true")
    parser.add_argument("--steps", type=int, help="so many steps are expected")
    options = parser.parse_args()
    runs = [read(path) for path in options.files]
    first, status = runs[0], 0
    steps = options.steps or len(first["loss"])
    for path, run in zip(options.files, runs):
        name = pathlib.Path(path).name
        if len(run["loss"]) < steps or steps == 0:
            sys.exit(f"{name}: expects {steps} steps but got {len(run['loss'])}")
        keys = ["loss", "grad_norm"] if options.norms else ["loss"]
        worst = {k: difference(run[k][:steps], first[k][:steps]) for k in keys}
        good = all(d <= options.tolerance for d in worst.values())
        status |= not good
        print(f"{name}: {steps} steps, loss {run['loss'][0]:.6f} to "
              f"{run['loss'][steps - 1]:.6f}, largest difference "
              + ", ".join(f"{k} {d:.2e}" for k, d in worst.items())
              + ("" if good else "  MISMATCH"))
    sys.exit(status)


if __name__ == "__main__":
    main()
