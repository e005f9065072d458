"""Compiles a training program at each precision for several processors. Looks up the undefined
symbols of the objects, assembles their instructions again for the processor alone, and runs the
programs that this machine can run.

Usage: compile_for.py PROGRAM.mlir DIRECTORY RUNTIME.a"""

import ctypes
import json
import pathlib
import re
import subprocess
import sys

import processors

TOLERANCES = {"f32": 1e-5, "bf16": 1e-2, "f16": 1e-2, "fp8": 5e-2}


def symbols(path, *flags):
    text = subprocess.run(["llvm-nm", "--format=just-symbols", *flags, path],
                          check=True, capture_output=True, text=True).stdout
    return set(text.split())


def lacking(path, cpu):
    """The errors of GNU as for an object's instructions that the processor does not have."""
    text = subprocess.run(["llvm-objdump", "-d", "--no-show-raw-insn", "--no-leading-addr", path],
                          check=True, capture_output=True, text=True).stdout
    code = [re.sub(r"<[^>]*>", "", line.split("#")[0]) for line in text.splitlines() if line[:1].isspace()]
    assert len(code) > 1000, text
    done = subprocess.run(["as", "--64", f"-march={processors.assembler(cpu)}", "-o", "/dev/null", "-"],
                          input="\n".join([*code, ""]), capture_output=True, text=True)
    errors = [f"{line} for {cpu}" for line in done.stderr.splitlines() if "rror: " in line]
    assert bool(errors) == bool(done.returncode), done.stderr
    return errors


def main():
    source, folder, runtime = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    ours = symbols(runtime, "--defined-only", "--extern-only")
    libm = ctypes.CDLL("libm.so.6")  # Also finds the symbols of libc.
    for precision, tolerance in TOLERANCES.items():
        unknown, lacked, losses = set(), [], {}
        for cpu in processors.FLAGS:
            made = folder / f"{precision}.{cpu}"
            subprocess.run(["tessera", "compile", source, "--quiet", "--cpu", cpu, "--precision", precision,
                            "--optimizer", "sgd", "--lr", "0.1", "--clip", "0",
                            "--compile-to=object", "-o", f"{made}.o"], check=True)
            undefined = symbols(f"{made}.o", "--undefined-only")
            assert "tessera_rt_launch" in undefined, undefined
            unknown |= {f"{name} for {cpu}" for name in undefined - ours if not hasattr(libm, name)}
            lacked += lacking(f"{made}.o", cpu)
            if cpu not in processors.runnable():
                continue
            subprocess.run(["clang++-22", f"{made}.o", runtime, "-o", made, "-pthread", "-lm"], check=True)
            lines = subprocess.run([made, "--random-data", "--steps", "3", "--quiet", "--log=jsonl"],
                                   check=True, capture_output=True, text=True).stdout.splitlines()
            records = map(json.loads, lines)
            losses[cpu] = [record["loss"] for record in records if "loss" in record]
        print(f"{precision}: {len(processors.FLAGS)} processors, {len(unknown)} unknown symbols,",
              f"{len(lacked)} instructions they lack", *sorted(unknown), *lacked[:3])
        first = next(iter(losses.values()))
        assert len(first) == 3 and first[2] != first[0], first
        worst = max(abs(a - b) / abs(b) for run in losses.values() for a, b in zip(run, first))
        verdict = "agree" if worst <= tolerance else f"differ by {worst}, do not agree"
        print(f"{precision}: {', '.join(losses)} {verdict} within {tolerance:g}")


if __name__ == "__main__":
    main()
