"""Searches the step of a model with equal layers merged, and with each layer separate.

fold_layers.py MODEL MESH LAYERS

Fails if merging does not reduce the number of variables, if its optimum is more than a thousandth
above the other one, or if its bound is above it."""
import os
import re
import subprocess
import sys
import tempfile

MODELS = os.path.join(os.path.dirname(__file__), "../../../share/models")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def search(step, fold):
    text = run("tessera-opt", step, f"--dist-search-shardings=fold-layers={fold}",
               "--remarks-filter=propagation", "--remark-policy=all", "-o", os.devnull)
    line = next(l for l in text.splitlines() if "ShardingSearch |" in l)
    return {k: float(v) for k, v in re.findall(r"(\w+)=([0-9.e+-]+)", line)}


def main():
    model, mesh, layers = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        graph, step = f"{folder}/graph.mlir", f"{folder}/step.mlir"
        run("tessera", "model", f"{MODELS}/{model}.json", "--train", "--batch", "16",
            "--seq", "512", "--dtype", "bf16", "--layers", layers, "--quiet", "-o", graph)
        run("tessera-opt", graph, f"--compile-to=train mesh={mesh}", "-o", step)
        folded, apart = search(step, "true"), search(step, "false")
    print(f"folded {folded['solved']:.0f} of {folded['variables']:.0f} variables, "
          f"{folded['us']} us, at least {folded['usAtLeast']}; "
          f"apart {apart['us']} us, at least {apart['usAtLeast']}")
    if folded["solved"] >= apart["solved"] or apart["solved"] != apart["variables"]:
        sys.exit("expects fewer variables with equal layers")
    if folded["usAtLeast"] > apart["us"]:
        sys.exit("the bound is above an assignment")
    if folded["us"] > 1.001 * apart["us"]:
        sys.exit("equal layers cost more")


main()
