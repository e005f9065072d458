"""Compiles a training program at each precision for several processors, looks up
the undefined symbols of the objects, and runs those that this machine can.

Usage: compile_for.py PROGRAM.mlir DIRECTORY RUNTIME.a
"""

import ctypes
import json
import pathlib
import subprocess
import sys

import processors

TOLERANCES = {"f32": 1e-5, "bf16": 1e-2, "f16": 1e-2, "fp8": 5e-2}


def symbols(path, *flags):
    text = subprocess.run(["llvm-nm", "--format=just-symbols", *flags, path],
                          check=True, capture_output=True, text=True).stdout
    return set(text.split())


def main():
    source, folder, runtime = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    ours = symbols(runtime, "--defined-only", "--extern-only")
    libm = ctypes.CDLL("libm.so.6")  # Finds what is in libc too.
    for precision, tolerance in TOLERANCES.items():
        unknown, losses = set(), {}
        for cpu in processors.FLAGS:
            made = folder / f"{precision}.{cpu}"
            subprocess.run(["tessera", "compile", source, "--quiet", "--cpu", cpu, "--precision", precision,
                            "--optimizer", "sgd", "--lr", "0.1", "--clip", "0",
                            "--compile-to=object", "-o", f"{made}.o"], check=True)
            undefined = symbols(f"{made}.o", "--undefined-only")
            assert "tessera_rt_launch" in undefined, undefined
            unknown |= {f"{name} for {cpu}" for name in undefined - ours if not hasattr(libm, name)}
            if cpu not in processors.runnable():
                continue
            subprocess.run(["c++", f"{made}.o", runtime, "-o", made, "-pthread", "-lm"], check=True)
            lines = subprocess.run([made, "--random-data", "--steps", "3", "--quiet", "--log=jsonl"],
                                   check=True, capture_output=True, text=True).stdout.splitlines()
            records = map(json.loads, lines)
            losses[cpu] = [record["loss"] for record in records if "loss" in record]
        print(f"{precision}: {len(processors.FLAGS)} processors, {len(unknown)} unknown symbols",
              *sorted(unknown))
        first = next(iter(losses.values()))
        assert len(first) == 3 and first[2] != first[0], first
        worst = max(abs(a - b) / abs(b) for run in losses.values() for a, b in zip(run, first))
        verdict = "agree" if worst <= tolerance else f"differ by {worst}, do not agree"
        print(f"{precision}: {', '.join(losses)} {verdict} within {tolerance:g}")


if __name__ == "__main__":
    main()
