"""Runs a compiled program on a sweep of x and prints, for each result named
after a function, the largest error in units in the last place (of f32).

Usage: math_accuracy.py PROGRAM DIRECTORY
"""

import math
import pathlib
import struct
import subprocess
import sys

import npy

COUNT = 4096


def rounded(x):
    """The nearest f32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def ulp(x):
    """Distance of neighbouring normal f32 numbers at x."""
    return 2.0 ** (max(math.frexp(x)[1], -125) - 24)


FUNCTIONS = {
    "exp": (math.exp, -80, 80),
    "log": (math.log, 1e-6, 1e6),
    "tanh": (math.tanh, -10, 10),
    "erf": (math.erf, -5, 5),
    "sin": (math.sin, -math.pi, math.pi),
    "cos": (math.cos, -math.pi, math.pi),
    "rsqrt": (lambda x: 1 / math.sqrt(x), 1e-6, 1e6),
}


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    inputs = {}
    for name, (_, low, high) in FUNCTIONS.items():
        if low > 0:
            values = [low * (high / low) ** (i / (COUNT - 1)) for i in range(COUNT)]
        else:
            values = [low + (high - low) * i / (COUNT - 1) for i in range(COUNT)]
        inputs[name] = [rounded(v) for v in values]
        npy.write(folder / f"x_{name}.npy", inputs[name])
    subprocess.run([program, "--inputs", folder, "--save-outputs", folder / "out", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    for name, (function, _, _) in FUNCTIONS.items():
        worst, place = 0.0, 0.0
        for x, y in zip(inputs[name], npy.read(folder / "out" / f"{name}.npy")):
            exact = function(x)
            # sin and cos near their zeros: against a result of 1.
            scale = 1.0 if name in ("sin", "cos") else exact
            error = abs(y - exact) / ulp(scale)
            if error > worst:
                worst, place = error, x
        print(f"{name}: {worst:.2f} ulp at {place:.6g}")


if __name__ == "__main__":
    main()
