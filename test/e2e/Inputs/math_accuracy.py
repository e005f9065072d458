"""Runs a compiled program on a sweep of x and prints, for each result named
after a function, the largest error in units in the last place (of f32).

Usage: math_accuracy.py PROGRAM DIRECTORY
"""

import ast
import math
import pathlib
import struct
import subprocess
import sys

COUNT = 4096


def write_npy(path, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read_npy(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + length].decode())
    assert header["descr"] == "<f4", header
    body = data[10 + length:]
    return struct.unpack(f"<{len(body) // 4}f", body)


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
        write_npy(folder / f"x_{name}.npy", inputs[name])
    subprocess.run([program, "--inputs", folder, "--save-outputs", folder / "out", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    for name, (function, _, _) in FUNCTIONS.items():
        worst, place = 0.0, 0.0
        for x, y in zip(inputs[name], read_npy(folder / "out" / f"{name}.npy")):
            exact = function(x)
            # sin and cos near their zeros: against a result of 1.
            scale = 1.0 if name in ("sin", "cos") else exact
            error = abs(y - exact) / ulp(scale)
            if error > worst:
                worst, place = error, x
        print(f"{name}: {worst:.2f} ulp at {place:.6g}")


if __name__ == "__main__":
    main()
