"""Compares the memory of tessera plan with the arena of the compiled program (without overlap,
which may add a tenth), for a small Llama on two ranks and in four pipeline stages:
compare_memory.py CONFIG FOLDER CLUSTER ZERO..."""

import json
import pathlib
import re
import subprocess
import sys

name, folder, cluster, *zeros = sys.argv[1:]
folder = pathlib.Path(folder)
folder.mkdir(exist_ok=True)
RANKS, SEQ, BATCH, MICRO_BATCHES = 2, 512, 8, 4

config = json.load(open(name))
config.update(num_hidden_layers=8, hidden_size=512, intermediate_size=1376, vocab_size=512,
              num_attention_heads=8, num_key_value_heads=8)
(folder / "model.json").write_text(json.dumps(config))


def run(*arguments):
    return subprocess.run(["tessera", *map(str, arguments)], check=True,
                          capture_output=True).stdout


def arenas(*flags):
    """Bytes by category for each function of the compiled step."""
    run("compile", folder / "model.mlir", "--overlap=off", "--compile-to=schedule", "--quiet",
        *flags, "-o", folder / "step.mlir")
    functions = re.findall(r"rt.memory = {([^}]*)}", (folder / "step.mlir").read_text())
    return [{name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", memory)}
            for memory in functions]


def arena(zero):
    strategy = "dp" + (f",zero={zero}" if zero else "")
    return arenas("--mesh", f"dp={RANKS}", "--strategy", strategy, "--precision", "bf16",
                  "--micro-batches", MICRO_BATCHES)[0]


def plan(*flags):
    return run("plan", folder / "model.json", "--cluster", cluster, "--seq", SEQ, "--fused-loss",
               "--json", *flags)


def stages(text):
    return [stage["categories"] for stage in json.loads(text)["memory"]["stages"]]


def moving(planned):
    """Bytes of a plan that are not state."""
    return sum(planned[name]
               for name in ("activations", "logits", "workspace", "communication"))


def moving_in(real):
    return real["activations"] + real["gathered"] + real["workspace"]


run("model", folder / "model.json", "--batch", BATCH, "--seq", SEQ, "--train", "--dtype", "bf16",
    "--quiet", "-o", folder / "model.mlir")
parameters = int(run("model", folder / "model.json", "--params-only"))
STATE = {"parameters": "parameters", "gradients": "gradients",
         "optimizer state": "optimizer_state"}
for zero in map(int, zeros):
    real = arena(zero)
    planned, = stages(plan("--dp", RANKS, "--global-batch", BATCH, "--zero", zero))
    for ours, theirs in STATE.items():
        # State includes the step number and similar scalars.
        if abs(planned[ours] - real[theirs]) > 256:
            sys.exit(f"zero={zero}: {ours}: plan {planned[ours]}, arena {real[theirs]}")
    each = " ".join(f"{planned[ours] / parameters:.0f}" for ours in STATE)
    print(f"zero={zero}: {', '.join(STATE)}: {each} bytes each of {parameters:,}")
    if zero == 0 and not 0.9 <= moving(planned) / moving_in(real) <= 1.1:
        sys.exit(f"zero=0: {moving(planned)} bytes come and go in the plan, "
                 f"{moving_in(real)} in the arena")

for schedule in ("gpipe", "1f1b", "zb-h1", "zb-v", "dualpipe-v"):
    (folder / "plan.json").write_bytes(
        plan("--pp", 4, "--micro-batch", 1, "--micro-batches", BATCH, "--schedule", schedule,
             "--stage-layers", "even"))
    all_planned = stages((folder / "plan.json").read_text())
    ratios = [moving(planned) / moving_in(real)
              for planned, real in zip(all_planned, arenas("--plan", folder / "plan.json"))]
    if len(ratios) != 4 or not all(0.9 <= ratio <= 1.1 for ratio in ratios):
        sys.exit(f"{schedule}: of what comes and goes the plan has, by stage, {ratios}")
    print(f"{schedule}: what comes and goes in 4 stages is what the plan says")
