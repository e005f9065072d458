"""Verifies random programs (random_program.py) of consecutive seeds.

usage: verify_random.py FIRST COUNT NUMBER_OF_OPS [even]

Each must be correct, within 1e-9 in f64, or be rejected with an error that gives the reason. Prints
the others, and the number of correct and of rejected programs; exit status 1 if one is wrong,
crashes, or is rejected without a reason."""

import os
import subprocess
import sys


def verify(seed, options):
    generator = os.path.join(os.path.dirname(__file__), "random_program.py")
    program = subprocess.run(
        [sys.executable, generator, str(seed), *options],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    run = subprocess.run(
        ["tessera", "verify", "-", "--tolerance", "1e-9"],
        input=program,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if run.returncode == 0:
        return "right"
    # Wrong results, an end by a signal, or no output: wrong.
    refused = run.returncode == 1 and not run.stdout and "expects" in run.stderr
    if refused and "expects devices" not in run.stderr:
        return "refused"
    print(f"seed {seed}:\n{program}{run.stdout}{run.stderr}", flush=True)
    return "wrong"


def main():
    first, count = map(int, sys.argv[1:3])
    results = [verify(seed, sys.argv[3:]) for seed in range(first, first + count)]
    counts = {name: results.count(name) for name in ("right", "refused", "wrong")}
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
