"""Compiles a program of casts to bf16 and f16 for each level of x86-64 that this machine runs, and
counts results that differ in bits from the nearest number.

Usage: sixteen_bits.py PROGRAM.mlir DIRECTORY"""

import array
import bisect
import math
import pathlib
import random
import struct
import subprocess
import sys

import npy
import processors

COUNT = 500000
INFINITY = 0x7F800000


def bits_of(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def float_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


class Format:
    """A 16-bit type as the sorted list of its nonnegative numbers."""

    def __init__(self, fraction, bias):
        self.fraction = fraction
        self.numbers = []
        codes = 0x7F80 if fraction == 7 else 0x7C00
        for code in range(codes):
            exponent, digits = code >> fraction, code & ((1 << fraction) - 1)
            scale = 2.0 ** (max(exponent, 1) - bias - fraction)
            self.numbers.append((digits + ((1 << fraction) if exponent else 0)) * scale)
        # The next number would be infinity.
        self.numbers.append(2 * self.numbers[-1] - self.numbers[-2])
        self.bits = [bits_of(x) for x in self.numbers[:-1]] + [INFINITY]

    def nearest(self, x):
        """The bits, as f32, of the type's number that is nearest to x, which is not NaN; ties to
        the even code."""
        magnitude = abs(x)
        sign = 0x80000000 if math.copysign(1, x) < 0 else 0
        code = bisect.bisect_right(self.numbers, magnitude) - 1
        if code + 1 == len(self.numbers):
            return sign | INFINITY
        low, high = self.numbers[code], self.numbers[code + 1]
        if magnitude - low > high - magnitude or (magnitude - low == high - magnitude and code % 2):
            code += 1
        return sign | self.bits[code]

    def of_f32(self, bits):
        if bits & 0x7FFFFFFF > INFINITY:
            return (bits | 0x400000) >> (23 - self.fraction) << (23 - self.fraction)
        return self.nearest(float_of(bits))


FORMATS = {"bf16": Format(7, 127), "f16": Format(10, 15)}


def patterns():
    """Bits of f32: every upper half with the lower halves for which bf16 rounds differently, and
    for exponents of f16 those for which f16 does."""
    result = [upper << 16 | lower for upper in range(1 << 16)
              for lower in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]
    for exponent in list(range(101, 114)) + [141, 142, 143]:
        for digits in range(0, 128, 1 if exponent < 113 else 5):
            for lower in (0x0FFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x3001, 0xEFFF, 0xF000, 0xF001):
                upper = exponent << 7 | digits
                result += [upper << 16 | lower, (upper | 0x8000) << 16 | lower]
    source = random.Random(16)
    return result + [source.getrandbits(32) for _ in range(COUNT - len(result))]


def write(path, bits):
    """Writes bits with npy.write: a NaN stays unchanged."""
    npy.write(path, [0.0] * len(bits))
    head = path.read_bytes()[:-4 * len(bits)]
    path.write_bytes(head + array.array("I", bits).tobytes())


def read(path):
    return array.array("I", path.read_bytes()[-4 * COUNT:])


def references(x, y):
    """Results by name: the expected values and their positions. Only some positions are checked for
    operations that share code."""
    result = {}
    for name, form in FORMATS.items():
        result[name] = [(i, form.of_f32(bits)) for i, bits in enumerate(x)]
        near, whole, sums = [], [], []
        for i in range(0, COUNT, 5):
            value, factor = float_of(x[i]), float_of(y[i])
            whole.append((i, form.nearest(float(x[i] - (x[i] >> 31 << 32)))))
            if not math.isfinite(value):
                continue
            near.append((i, form.nearest(value + value * (factor * 2.0 ** -40))))
            a, b = float_of(form.of_f32(x[i])), float_of(form.of_f32(y[i]))
            if math.isfinite(a):
                # Exact in f64, or far from a tie.
                sums.append((i, form.nearest(a - b)))
        result |= {f"{name}_of_f64": near, f"{name}_of_i32": whole, f"{name}_sum": sums}
    return result


def main():
    source, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    x = patterns()
    y = [bits_of(math.ldexp(random.Random(i).choice((-1, 1)), i % 40 - 20)) for i in range(977)]
    y = [y[i % 977] for i in range(COUNT)]
    data = folder / "data"
    data.mkdir()
    write(data / "x.npy", x)
    write(data / "y.npy", y)
    expected = references(x, y)
    order = [name + kind for kind in ("", "_of_f64", "_of_i32", "_sum") for name in FORMATS]
    levels = [cpu for cpu in processors.runnable() if cpu.startswith("x86-64")]
    for cpu in levels + ["native"]:
        program, out = folder / cpu, folder / f"{cpu}.out"
        subprocess.run(["tessera", "compile", source, "--quiet", "--cpu", cpu, "-o", program], check=True)
        subprocess.run([program, "--inputs", data, "--save-outputs", out, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        print(f"{cpu}: {COUNT} numbers")
        for name in order:
            got = read(out / f"{name}.npy")
            wrong = [(i, bits) for i, bits in expected[name] if got[i] != bits]
            print(f"{name}: {len(wrong)} wrong")
            for i, bits in wrong[:3]:
                print(f"  of {x[i]:08x}: {got[i]:08x} for {bits:08x}")


if __name__ == "__main__":
    main()
