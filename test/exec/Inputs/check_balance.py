"""Checks that a step moves the bias of each router by the loads of experts.

    check_balance.py FORWARD STEP RATE

FORWARD and STEP are folders that `tessera verify --dump` wrote of a forward program and of a step
with equal inputs. Prints the number of biases that are right."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e" / "Inputs"))
import npy


def sign(number):
    return (number > 0) - (number < 0)


def main():
    forward, step, rate = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
    right = 0
    for file in sorted(step.glob("*.moe.bias.npy")):
        before, after = npy.read(file), npy.read(step / "expected" / file.name)
        counts = npy.read(forward / "expected" / f"{file.stem}.load.npy")
        changes = [sign(sum(counts) - len(counts) * count) for count in counts]
        assert -1 in changes and 1 in changes, "expects loads that differ"
        for b, a, change in zip(before, after, changes):
            assert abs(a - b - rate * change) < 1e-6, f"{file.stem}: {b} became {a}"
        right += 1
    print(f"{right} biases follow their loads")


if __name__ == "__main__":
    main()
