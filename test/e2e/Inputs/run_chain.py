"""Runs a compiled chain of tanh on numbers and prints the largest relative error
against the same chain in f64.

Usage: run_chain.py PROGRAM DIRECTORY LENGTH
"""

import math
import pathlib
import subprocess
import sys

import npy


def main():
    program, folder, length = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    values = [(-1) ** i * (i + 1) / 4 for i in range(8)]
    npy.write(folder / "a.npy", values)
    subprocess.run([program, "--inputs", folder, "--save-outputs", folder / "out", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    worst = 0.0
    for value, found in zip(values, npy.read(folder / "out" / "chain.npy")):
        for _ in range(length):
            value = math.tanh(value)
        worst = max(worst, abs(found / value - 1))
    print(f"relative error {worst:.5f}")


if __name__ == "__main__":
    main()
