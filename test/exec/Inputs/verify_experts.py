"""Verifies training steps of models with experts over meshes and strategies.

    verify_experts.py MODELS FOLDER

The partitioned program must equal the original and be proven. Prints a line for each case that
fails, and the number of these; exit status 1 if there are any."""

import json
import pathlib
import subprocess
import sys

MODELS, FOLDER = map(pathlib.Path, sys.argv[1:])
# The models, and the batch of each.
NAMES = ["tiny-mixtral", "tiny-qwen3-moe", "tiny-deepseek-v3", "six"]
# Mesh, strategy and further options.
CASES = [
    ("dp=4", "dp,ep=4", []),
    ("dp=4", "dp,ep=2", []),
    ("dp=2,tp=2", "dp,tp", []),
    ("dp=2,tp=2", "dp,tp,ep=4", []),
    ("dp=2,tp=2", "dp,tp,ep=2,etp", []),
    ("dp=2,tp=2", "dp,tp,sp", []),
    ("dp=2,tp=2", "dp,tp,sp,ep=4", []),
    ("dp=2,tp=2", "dp,tp,sp,ep=2,etp", []),
    ("dp=2,cp=2", "dp,cp,ep=4", []),
    ("dp=4", "dp,ep=4,zero=1", []),
    ("dp=4", "dp,ep=2,zero=2", ["--micro-batches", "2"]),
    ("dp=4", "dp,ep=2,zero=3", []),
    ("dp=4", "dp,ep=4", ["--recompute", "full"]),
    ("dp=4", "dp,ep=2", ["--precision", "bf16"]),
]
# The losses of routers and the choices that a capacity drops depend on no mesh.
LOSSES = ["--aux-loss", "0.5", "--z-loss", "0.1", "--capacity", "1.25"]
PREDICTION = ["--mtp-weight", "0.3"]
LOSS_CASES = [
    ("dp=4", "dp,ep=4", []),
    ("dp=2,tp=2", "dp,tp", []),
    ("dp=2,tp=2", "dp,tp,sp,ep=4", []),
    ("dp=2,cp=2", "dp,cp,ep=4", []),
    ("dp=4", "dp,ep=2,zero=2", ["--micro-batches", "2"]),
    ("dp=4", "dp,ep=2,zero=3", []),
    ("dp=4", "dp,ep=2", ["--precision", "bf16"]),
]
# One model alone, since each takes seconds.
PIPELINES = [
    ("pp=2,dp=2", "pp,dp,ep=2", ["--micro-batches", "4", "--schedule", schedule])
    for schedule in ("1f1b", "zb-h1", "dualpipe", "dualpipe-v")
]


def write_six():
    """A model with six experts, which four devices do not divide."""
    config = json.loads((MODELS / "tiny-mixtral.json").read_text())
    config.update(num_local_experts=6, num_experts_per_tok=3, num_hidden_layers=1)
    (FOLDER / "six.json").write_text(json.dumps(config))


def build(name, batch, options=()):
    graph = FOLDER / f"{name}-{batch}-{len(options)}.mlir"
    config = (FOLDER if name == "six" else MODELS) / f"{name}.json"
    subprocess.run(["tessera", "model", config, "--batch", str(batch), "--seq", "8", "--train",
                    "--quiet", *options, "-o", graph], check=True)
    return graph


def verify(graph, mesh, strategy, options):
    words = ["tessera", "verify", graph, "--mesh", mesh, "--strategy", strategy, *options]
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0 and " proven" in done.stdout:
        return True
    print(f"{graph.stem} {mesh} {strategy} {' '.join(options)}: FAILED")
    print(*done.stdout.splitlines()[-8:], sep="\n", flush=True)
    return False


def main():
    write_six()
    runs = [(build(name, 4), *case) for name in NAMES for case in CASES]
    runs += [(build(name, 8), *case) for name in ("tiny-mixtral", "tiny-deepseek-v3")
             for case in PIPELINES]
    # The routers of deepseek_v3 alone have a bias.
    losses = {"tiny-mixtral": (LOSSES, []),
              "tiny-deepseek-v3": (LOSSES + PREDICTION, ["--balance-rate", "0.25"])}
    runs += [(build(name, 8, options), mesh, strategy, [*more, *balance])
             for name, (options, balance) in losses.items()
             for mesh, strategy, more in LOSS_CASES + PIPELINES]
    failed = sum(not verify(*run) for run in runs)
    print(f"{failed} of {len(runs)} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
