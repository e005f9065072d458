"""Compares the loads of experts and the losses of twenty steps on meshes with those on one rank.

    expert_loads.py CONFIG.json TEXT FOLDER [MODEL_OPTIONS COMPILE_OPTIONS]

A case is right if the loads by layer and expert are equal, and losses (of routers, too) and norms
within 1e-5, relatively, in all steps, or in those before the first step with other loads, of which
there are 5 at least: another order of sums may send a near tie elsewhere. Without a TEXT (-) ids
are random: equal tokens of a text have scores that are nearly equal, which a capacity tells apart.
Prints a line for each wrong case, and exits with 1 if there is one."""

import json
import pathlib
import subprocess
import sys

CONFIG, TEXT, FOLDER, *MORE = sys.argv[1:]
MODEL_OPTIONS, COMPILE_OPTIONS = [words.split() for words in MORE or ("", "")]
STEPS, LEAST = 20, 5
SGD = "--optimizer sgd --lr 0.1 --weight-decay 0".split()
CASES = [
    "--mesh dp=4 --strategy dp,ep=4",
    "--mesh dp=4 --strategy dp,ep=2,zero=1",
    "--mesh dp=4 --strategy dp,ep=2,zero=3 --micro-batches 4",
    "--mesh dp=2,tp=2 --strategy dp,tp",
    "--mesh dp=2,tp=2 --strategy dp,tp,sp,ep=4 --micro-batches 4",
    "--mesh dp=2,tp=2 --strategy dp,tp,ep=2,etp,zero=2 --micro-batches 4",
    "--mesh dp=2,cp=2 --strategy dp,cp=ring,ep=4",
    "--mesh dp=4 --strategy dp,ep=4 --recompute full",
] + [f"--mesh pp=2,dp=2 --strategy pp,dp,ep=2 --micro-batches 4 --schedule {schedule}"
     for schedule in ("1f1b", "zb-h1", "dualpipe", "dualpipe-v")]


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stderr or done.stdout}")
    return done.stdout


def train(graph, ranks, options):
    program = pathlib.Path(FOLDER) / "prog"
    run("tessera", "compile", graph, *options, *SGD, *COMPILE_OPTIONS, "--quiet", "-o", program)
    data = ["--data", TEXT] if TEXT != "-" else ["--random-data"]
    lines = run("tessera", "run", program, "--ranks", ranks, *data, "--steps", STEPS,
                "--log=jsonl").splitlines()
    return [step for step in map(json.loads, lines) if step.get("event") == "step"]


def compare(steps, reference):
    for number, (mine, other) in enumerate(zip(steps, reference, strict=True), 1):
        if any(mine[name] != other[name] for name in ("expert_loads", "dropped")):
            return None if number > LEAST else f"other loads in step {number}"
        for name in {"loss", "aux_loss", "grad_norm"} & set(other):
            if abs(mine[name] - other[name]) > 1e-5 * abs(other[name]):
                return f"{name} {mine[name]} instead of {other[name]} in step {number}"
    return None


def main():
    graph = pathlib.Path(FOLDER) / "loads.mlir"
    run("tessera", "model", CONFIG, "--batch", 16, "--seq", 32, "--train",
        *MODEL_OPTIONS, "--quiet", "-o", graph)
    reference = train(graph, 1, ["--mesh", "dp=1", "--strategy", "dp"])
    drops = "--capacity" in MODEL_OPTIONS
    for step in reference:
        choices = step["dropped"] + sum(map(sum, step["expert_loads"]))
        if (step["dropped"] > 0) != drops or choices % (16 * 32 * len(step["expert_loads"])):
            raise RuntimeError(f"{step['dropped']} of {choices} choices dropped")
    wrong = 0
    for case in CASES:
        if fault := compare(train(graph, 4, case.split()), reference):
            wrong += 1
            print(f"{case}: {fault}")
    print(f"{len(CASES) - wrong} of {len(CASES)} cases have the loads of one rank")
    return 1 if wrong else 0


sys.exit(main())
