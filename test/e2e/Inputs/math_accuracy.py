"""Runs every function of one number that a program may compute over its whole domain. Prints for
each the largest error in units in the last place and the number of results of a wrong kind: NaN,
infinite, zero, or another sign than the reference.

f32: 48 numbers of each exponent and sign, zeros, infinities, NaN, the smallest and the largest
denormal and normal numbers, numbers around the thresholds of the functions, and those nearest to
multiples of pi/2. 16 bits: all numbers. The reference is the C library's functions of f64.

Usage: math_accuracy.py DIRECTORY TYPE CPU [OPTION OF TESSERA COMPILE]...
CPU: native, or a name of processors.py; native is used if this machine does not support it."""

import math
import pathlib
import struct
import subprocess
import sys

import npy
import processors

#: Bits of exponent and of fraction.
FORMATS = {"f32": (8, 23), "f16": (5, 10), "bf16": (8, 7)}

FUNCTIONS = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt",
             "tanh", "sinh", "cosh", "asinh", "acosh", "atanh", "atan", "asin", "acos",
             "erf", "erfc", "sin", "cos", "tan", "floor", "ceil", "trunc", "round", "roundeven",
             "absf"]


def guarded(function, at_pole=math.nan):
    """The function by IEEE's rules: poles and overflow are infinite."""
    def evaluate(x):
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x) if function in (math.sinh, math.expm1) else math.inf
        except ValueError:
            return at_pole(x) if callable(at_pole) else at_pole
    return evaluate


def keeps(function):
    """A rounding to an integer, which keeps infinities, NaN and signs of zeros."""
    return lambda x: math.copysign(function(x), x) if math.isfinite(x) else x


def log_pole(zero):
    return lambda x: -math.inf if x == zero else math.nan


REFERENCE = {name: guarded(getattr(math, name)) for name in FUNCTIONS if hasattr(math, name)}
REFERENCE |= {
    "log": guarded(math.log, log_pole(0)), "log2": guarded(math.log2, log_pole(0)),
    "log10": guarded(math.log10, log_pole(0)), "log1p": guarded(math.log1p, log_pole(-1)),
    "rsqrt": lambda x: (math.copysign(math.inf, x) if x == 0 else
                        1 / math.sqrt(x) if x >= 0 else math.nan),
    "atanh": guarded(math.atanh, lambda x: math.copysign(math.inf, x) if abs(x) == 1 else math.nan),
    "floor": keeps(math.floor), "ceil": keeps(math.ceil), "trunc": keeps(math.trunc),
    "round": keeps(lambda x: math.floor(abs(x) + 0.5)), "roundeven": keeps(round),
    "absf": abs,
}


def to_f32(x):
    """The nearest f32."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def from_bits(bits, exponents, fractions):
    sign = -1.0 if bits >> (exponents + fractions) & 1 else 1.0
    exponent = bits >> fractions & ((1 << exponents) - 1)
    fraction = bits & ((1 << fractions) - 1)
    bias = (1 << (exponents - 1)) - 1
    if exponent == (1 << exponents) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fractions)
    return sign * math.ldexp(fraction + (1 << fractions), exponent - bias - fractions)


def near_right_angles():
    """For each exponent of f32 the number nearest to a multiple of pi/2, from the continued
    fraction of the exponent's power of two over pi/2."""
    # pi to 400 bits, by Machin's formula.
    bits = 400
    def arctan_inverse(n):
        total = term = (1 << bits) // n
        k, sign = 3, -1
        while term:
            term //= n * n
            total += sign * (term // k)
            k, sign = k + 2, -sign
        return total
    right_angle = 2 * (4 * arctan_inverse(5) - arctan_inverse(239))
    for exponent in range(-23, 105):
        # Multiples m * 2^exponent near n * pi/2: convergents of a/b.
        a, b = (1 << (bits + exponent)) if exponent >= 0 else (1 << bits) >> -exponent, right_angle
        h, k = (0, 1), (1, 0)
        while b:
            q = a // b
            h, k = (h[1], q * h[1] + h[0]), (k[1], q * k[1] + k[0])
            a, b = b, a - q * b
            if k[1] >= 1 << 24:
                break
            for multiple in range(1, 5):
                m = k[1] * multiple
                if 1 << 23 <= m < 1 << 24:
                    yield math.ldexp(m, exponent)


def inputs_of(kind):
    exponents, fractions = FORMATS[kind]
    if kind != "f32":
        return [from_bits(bits, exponents, fractions) for bits in range(1 << 16)]
    values = [0.0, math.inf, math.nan]
    state = 1
    for exponent in range(255):
        for i in range(48):
            state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            fraction = (0, 1, 0x7FFFFF, 0x400000)[i] if i < 4 else state >> 41
            values.append(from_bits(exponent << 23 | fraction, 8, 23))
    for threshold in (1, 0.5, 2, 0.25, 87.33655, 88.02969, 88.72284, 103.27893, 103.97208, 104,
                      128, 126, 127, 149, 150, 17.32868, 16.63553, 25, 9.01091, 7.99881, 10.05,
                      3.9, 4, 0.41421356, 0.70710678, 2.41421356, 8388608, 4194304, 0.0004):
        bits = struct.unpack("<I", struct.pack("<f", threshold))[0]
        values += [from_bits(bits + step, 8, 23) for step in range(-12, 13)]
    values += near_right_angles()
    return [sign * x for x in values for sign in (1.0, -1.0)]


def write_program(path, kind, count):
    narrow, wide = f"tensor<{count}x{kind}>", f"tensor<{count}xf32>"
    results = ", ".join(f'{wide} {{nn.output = "{name}"}}' for name in FUNCTIONS)
    lines = [f'func.func @f(%x: {wide} {{nn.input = "x"}}) -> ({results}) {{']
    is_wide = kind == "f32"
    lines.append("" if is_wide else f"  %n = arith.truncf %x : {wide} to {narrow}")
    for i, name in enumerate(FUNCTIONS):
        lines.append(f"  %{i} = math.{name} {'%x' if is_wide else '%n'} : {narrow}")
        if not is_wide:
            lines.append(f"  %w{i} = arith.extf %{i} : {narrow} to {wide}")
    names = ", ".join(f"%{'' if is_wide else 'w'}{i}" for i in range(len(FUNCTIONS)))
    lines.append(f"  return {names} : {', '.join([wide] * len(FUNCTIONS))}")
    path.write_text("\n".join(lines) + "\n}\n")


def same_kind(y, exact):
    if math.isnan(exact) or math.isnan(y):
        return math.isnan(exact) and math.isnan(y)
    if exact == 0:
        return y == 0 and math.copysign(1, y) == math.copysign(1, exact)
    if math.isinf(exact):
        return y == exact
    # Underflow and overflow count in ulps.
    return math.copysign(1, y) == math.copysign(1, exact)


def main():
    folder, kind, cpu, options = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    if cpu != "native" and cpu not in processors.runnable():
        cpu = "native"
    folder.mkdir(parents=True, exist_ok=True)
    exponents, fractions = FORMATS[kind]
    bias = (1 << (exponents - 1)) - 1
    beyond = math.ldexp(1, bias + 1)
    values = inputs_of(kind)
    npy.write(folder / "x.npy", values)
    write_program(folder / "program.mlir", kind, len(values))
    subprocess.run(["tessera", "compile", folder / "program.mlir", "--quiet", "-o", folder / "program",
                    "--cpu", cpu, *options], check=True)
    subprocess.run([folder / "program", "--inputs", folder, "--save-outputs", folder / "out", "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    for name in FUNCTIONS:
        function = REFERENCE[name]
        worst, at, wrong = 0.0, 0.0, []
        for x, y in zip(values, npy.read(folder / "out" / f"{name}.npy")):
            exact = function(x)
            if not same_kind(y, exact):
                wrong.append((x, y))
                continue
            if not math.isfinite(exact) or exact == 0:
                continue
            if abs(exact) > beyond:
                exact = math.copysign(beyond, exact)
            if math.isinf(y):
                y = math.copysign(beyond, y)
            ulp = math.ldexp(1, max(math.frexp(exact)[1] - 1, 1 - bias) - fractions)
            error = abs(y - exact) / ulp
            if error > worst:
                worst, at = error, x
        where = "".join(f", {x!r} gives {y!r}" for x, y in wrong[:2])
        print(f"{name}: {worst:.2f} ulp at {at:.9g}, {len(wrong)} wrong{where}")


if __name__ == "__main__":
    main()
