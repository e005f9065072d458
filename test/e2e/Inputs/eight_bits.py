"""Runs a program of casts to 8 bits and back, and counts results that are not the nearest number of
the type, with ties to the even code.

Usage: eight_bits.py PROGRAM DIRECTORY"""

import bisect
import math
import pathlib
import random
import struct
import subprocess
import sys

import npy


def f32(x):
    if abs(x) > 3.4028235677973366e38:
        return math.copysign(math.inf, x)
    return struct.unpack("<f", struct.pack("<f", x))[0]


class Format:
    """A type as the sorted list of its nonnegative numbers."""

    def __init__(self, fraction, bias, codes, beyond):
        self.numbers = []
        for code in range(codes):
            exponent, digits = code >> fraction, code & ((1 << fraction) - 1)
            one = 1 if exponent else 0
            scale = 2.0 ** (max(exponent, 1) - bias)
            self.numbers.append((one + digits / (1 << fraction)) * scale)
        # The number after the largest: values from the middle on are out of range.
        self.next = 2 * self.numbers[-1] - self.numbers[-2]
        self.beyond = beyond

    def nearest(self, x):
        if math.isnan(x):
            return x
        magnitude = abs(x)
        code = bisect.bisect_right(self.numbers, magnitude) - 1
        low = self.numbers[code]
        high = (self.numbers + [self.next])[code + 1]
        if magnitude - low > high - magnitude or (magnitude - low == high - magnitude and code % 2):
            code, low = code + 1, high
        if code == len(self.numbers):
            low = self.beyond
        return math.copysign(low, x)


E4M3 = Format(3, 7, 0x7F, math.nan)
E5M2 = Format(2, 15, 0x7C, math.inf)


def sweep():
    """Every bf16 number, and one f32 number after each."""
    source = random.Random(8)
    x = [struct.unpack("<f", struct.pack("<I", i << 16))[0] for i in range(1 << 16)]
    return x + [struct.unpack("<f", struct.pack("<I", (i << 16) | source.choice((1, 0x7FFF, 0x8000, 0xFFFF))))[0]
                for i in range(1 << 16)]


def differs(a, b):
    return a != b and not (math.isnan(a) and math.isnan(b))


def run(program, folder, inputs):
    for name, values in inputs.items():
        npy.write(folder / f"{name}.npy", values)
    subprocess.run([program, "--inputs", folder, "--save-outputs", folder / "out", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    return {name: npy.read(folder / "out" / f"{name}.npy")
            for name in ("e4m3", "e5m2", "quantized", "scale")}


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    x = sweep()
    source = random.Random(9)
    y = [f32(source.gauss(0, 1) * 2.0 ** source.randint(-12, 10)) for _ in range(1536)]
    results = run(program, folder, {"x": x, "y": y, "amax": [1.0]})
    for name, form in (("e4m3", E4M3), ("e5m2", E5M2)):
        wrong = sum(differs(got, form.nearest(v)) for v, got in zip(x, results[name]))
        print(f"{name}: {len(x)} casts, {wrong} wrong")
    for amax in (0.0, 1.5e-39, 3.0, 448.0, 449.0, 1e-37, 3e38, math.inf, math.nan):
        amax = f32(amax)
        if not math.isfinite(amax):
            factor = math.nan
        elif amax < 2.0 ** -126:
            factor = 1.0
        else:
            factor = 2.0 ** (math.frexp(min(f32(448 / amax), 2.0 ** 126))[1] - 1)
        results = run(program, folder, {"x": x, "y": y, "amax": [amax]})

        def quantized(v):
            v = f32(v * factor)
            return v if math.isnan(v) else E4M3.nearest(max(-448.0, min(448.0, v)))

        wrong = sum(differs(got, quantized(v)) for v, got in zip(y, results["quantized"]))
        wrong += differs(results["scale"][0], f32(1 / factor))
        print(f"scaled by {amax:g}: {wrong} wrong, scale {results['scale'][0]:g}")


if __name__ == "__main__":
    main()
