"""Compares the memory of tessera plan with the arena of the compiled program (whose
collectives are waited for at once: overlap may add a tenth), of a
small Llama on two ranks: compare_memory.py CONFIG FOLDER CLUSTER ZERO..."""

import json
import pathlib
import re
import subprocess
import sys

name, folder, cluster, *stages = sys.argv[1:]
folder = pathlib.Path(folder)
folder.mkdir(exist_ok=True)
RANKS, SEQ, BATCH, MICRO_BATCHES = 2, 512, 4, 2

config = json.load(open(name))
config.update(num_hidden_layers=2, hidden_size=512, intermediate_size=1376, vocab_size=512,
              num_attention_heads=8, num_key_value_heads=8)
(folder / "model.json").write_text(json.dumps(config))


def run(*arguments):
    return subprocess.run(["tessera", *map(str, arguments)], check=True,
                          capture_output=True).stdout


def arena(zero):
    """Bytes by category of the compiled step."""
    run("compile", folder / "model.mlir", "--mesh", f"dp={RANKS}", "--strategy",
        "dp" + (f",zero={zero}" if zero else ""), "--precision", "bf16",
        "--micro-batches", MICRO_BATCHES, "--overlap=off", "--compile-to=schedule", "--quiet",
        "-o", folder / "step.mlir")
    memory = re.search(r"rt.memory = {([^}]*)}", (folder / "step.mlir").read_text()).group(1)
    return {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", memory)}


def plan(zero):
    text = run("plan", folder / "model.json", "--cluster", cluster, "--dp", RANKS, "--seq", SEQ,
               "--global-batch", BATCH, "--zero", zero, "--fused-loss", "--json")
    return json.loads(text)["memory"]["stages"][0]["categories"]


run("model", folder / "model.json", "--batch", BATCH, "--seq", SEQ, "--train", "--dtype", "bf16",
    "--quiet", "-o", folder / "model.mlir")
parameters = int(run("model", folder / "model.json", "--params-only"))
STATE = {"parameters": "parameters", "gradients": "gradients",
         "optimizer state": "optimizer_state"}
for zero in map(int, stages):
    real, planned = arena(zero), plan(zero)
    for ours, theirs in STATE.items():
        # The number of the step and the like are state too.
        if abs(planned[ours] - real[theirs]) > 256:
            sys.exit(f"zero={zero}: {ours}: plan {planned[ours]}, arena {real[theirs]}")
    each = " ".join(f"{planned[ours] / parameters:.0f}" for ours in STATE)
    print(f"zero={zero}: {', '.join(STATE)}: {each} bytes each of {parameters:,}")
    moving = sum(planned[name] for name in ("activations", "logits", "workspace"))
    arena_moving = real["activations"] + real["gathered"] + real["workspace"]
    if zero == 0 and not 0.8 <= moving / arena_moving <= 1.2:
        sys.exit(f"zero=0: {moving} bytes come and go in the plan, {arena_moving} in the arena")
