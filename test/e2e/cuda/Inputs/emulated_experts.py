"""Compares training steps of a model with experts on the emulated device with the host's.

    emulated_experts.py CONFIG.json TEXT FOLDER SEEDS MODEL_OPTIONS [RANKS:COMPILE_OPTIONS]...

The device runs the hand-written kernels, once for each seed of the order of threads, streams and
copies (1 to SEEDS), with ranks that one process plays. A case is right if the loads of experts and
the dropped choices are the host's in all steps, and losses (of routers, too) and norms are within
1e-5 of them relatively. In bf16 and f16 a near tie may go elsewhere, so there losses and norms
within 1e-2 are enough. Without a TEXT (-) ids are random: equal tokens of a text have scores that
are nearly equal, which a capacity tells apart. Prints a line for each wrong case, and exits with 1
if there is one."""

import json
import os
import pathlib
import subprocess
import sys

CONFIG, TEXT, FOLDER, SEEDS, MODEL_OPTIONS, *CASES = sys.argv[1:]
STEPS = 3
SGD = "--optimizer sgd --lr 0.1 --weight-decay 0".split()


def run(*words, **variables):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          env={**os.environ, **variables})
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stderr or done.stdout}")
    return done.stdout


def compile_for(target, graph, options):
    program = pathlib.Path(FOLDER) / target
    run("tessera", "compile", graph, *SGD, *options, "--target", target, "--quiet", "-o", program)
    return program


def train(program, *flags, **variables):
    data = ["--data", TEXT] if TEXT != "-" else ["--random-data"]
    lines = run(program, *flags, *data, "--steps", STEPS, "--log=jsonl", "--quiet",
                **variables).splitlines()
    return [step for step in map(json.loads, lines) if step.get("event") == "step"]


def compare(steps, reference, tolerance):
    for number, (mine, other) in enumerate(zip(steps, reference, strict=True), 1):
        for name in ("expert_loads", "dropped"):
            if tolerance < 1e-3 and mine[name] != other[name]:
                return f"{name} {mine[name]} instead of {other[name]} in step {number}"
        for name in {"loss", "aux_loss", "grad_norm"} & set(other):
            if abs(mine[name] - other[name]) > tolerance * abs(other[name]):
                return f"{name} {mine[name]} instead of {other[name]} in step {number}"
    return None


def main():
    graph = pathlib.Path(FOLDER) / "emulated.mlir"
    run("tessera", "model", CONFIG, "--batch", 4, "--seq", 16, "--train", *MODEL_OPTIONS.split(),
        "--quiet", "-o", graph)
    wrong = 0
    for case in CASES:
        ranks, options = case.split(":")
        tolerance = 1e-2 if "16" in options else 1e-5
        host = train(compile_for("host", graph, options.split()), "--ranks", ranks)
        device = compile_for("cuda-emulated", graph, options.split())
        for seed in range(1, int(SEEDS) + 1):
            steps = train(device, f"--simulate-ranks={ranks}", TESSERA_EMULATE_KERNELS="1",
                          TESSERA_EMULATOR_SEED=str(seed))
            if fault := compare(steps, host, tolerance):
                wrong += 1
                print(f"{case}, seed {seed}: {fault}")
    runs = len(CASES) * int(SEEDS)
    print(f"{runs - wrong} of {runs} runs have the host's loads and losses")
    return 1 if wrong else 0


sys.exit(main())
