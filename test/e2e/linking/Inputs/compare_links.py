"""Links programs by the linker in the tool, without anything on PATH, and by a C++ compiler driver:
states after some steps are the same bits, and the first programs need libc and libm alone, with no
symbol above glibc 2.34.

usage: compare_links.py BIN FOLDER MODELS
"""

import os
import pathlib
import re
import subprocess
import sys

folder = pathlib.Path(sys.argv[2])
tessera = pathlib.Path(sys.argv[1], "tessera")
driven = tessera.parent.parent / "lib/libtessera_rt_host.a"
models = pathlib.Path(sys.argv[3])

PROGRAMS = {
    "whole": ("tiny-gpt2", "--optimizer", "sgd"),
    "dp-tp": ("tiny-llama", "--mesh", "dp=2,tp=2", "--strategy", "dp,tp,sp,zero=1"),
    "zero": ("tiny-llama", "--mesh", "dp=4", "--strategy", "dp,zero=3", "--precision", "bf16",
             "--micro-batches", "2"),
    "ring": ("tiny-llama", "--mesh", "cp=2", "--strategy", "cp=ring", "--recompute", "full"),
    "pipeline": ("tiny-gpt2", "--mesh", "pp=2", "--strategy", "pp", "--micro-batches", "4",
                 "--precision", "f16"),
    "experts": ("tiny-mixtral", "--mesh", "dp=2", "--strategy", "dp,ep=2"),
    "fp8": ("tiny-llama", "--precision", "fp8"),
}


def read(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def state(program):
    saved = program.with_suffix(".state")
    read(program, "--quiet", "--random-data", "--steps", "3", "--save-final", saved)
    return {file.name: file.read_bytes() for file in saved.glob("*.npy")}


def check_needs(program):
    needed = set(re.findall(r"NEEDED\s+(\S+)", read("llvm-objdump-22", "-p", program)))
    # The loader is a part of libc.
    assert needed <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}, needed
    symbols = read("llvm-nm-22", "-D", program)
    newest = max(tuple(map(int, version.split(".")))
                 for version in re.findall(r"@GLIBC_([0-9.]+)", symbols))
    assert newest <= (2, 34), newest


for name, (model, *options) in PROGRAMS.items():
    graph, made = folder / f"{model}.mlir", folder / name
    if not graph.exists():
        read(tessera, "model", models / f"{model}.json", "--batch", "8", "--seq", "32", "--train",
             "--quiet", "-o", graph)
    command = [tessera, "compile", graph, "--quiet", *options]
    subprocess.run([*command, "-o", made], check=True,
                   env=os.environ | {"PATH": "/nonexistent"})
    read(*command, "--runtime-library", driven, "-o", f"{made}-driven")
    check_needs(made)
    ours, theirs = state(made), state(folder / f"{name}-driven")
    assert ours and ours == theirs, name
print(f"{len(PROGRAMS)} programs are the same")
