"""Verifies training steps of models whose sizes few meshes divide.

usage: verify_sizes.py FOLDER_OF_MODELS

Widths, heads, vocabulary, sequence and batch leave a remainder on most of the meshes; every
strategy that a mesh allows is tried. A run counts as correct if every output agrees, on as many
ranks as the mesh has, and the partition is proven. Prints a line for each wrong run and a count;
exit status 1 if there is one."""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

GPT2 = {"n_layer": 1, "vocab_size": 17, "n_positions": 8, "n_ctx": 8}
LLAMA = {"num_hidden_layers": 1, "vocab_size": 17, "intermediate_size": 20, "max_position_embeddings": 8,
         "rope_scaling": None}
END = {"bos_token_id": 0, "eos_token_id": 0}
# The published config that a model is derived from, and its changes.
MODELS = [
    ("tiny-gpt2", {**GPT2, "n_embd": 14, "n_head": 2}),
    ("tiny-gpt2", {**GPT2, "n_embd": 18, "n_head": 6}),
    ("tiny-llama", {**LLAMA, "hidden_size": 18, "num_attention_heads": 3, "num_key_value_heads": 1}),
]
MESHES = ["dp=3", "tp=3", "dp=2,tp=2", "dp=4,tp=2", "dp=2,tp=3", "tp=5"]
OPTIONS = [[], ["--micro-batches", "2"], ["--recompute", "full"]]


def strategies(mesh):
    axes = re.sub(r"=\d+", "", mesh)
    plain = [axes, axes + ",sp"] if "tp" in mesh else [axes]
    zeros = [f"{p},zero={z}" for p in plain for z in (1, 2, 3)] if "dp" in mesh else []
    return plain + zeros


def main():
    models = pathlib.Path(sys.argv[1])
    runs = right = 0
    with tempfile.TemporaryDirectory() as folder:
        config, program = pathlib.Path(folder) / "config.json", pathlib.Path(folder) / "g.mlir"
        for base, changes in MODELS:
            config.write_text(json.dumps({**json.loads((models / f"{base}.json").read_text()), **END, **changes}))
            subprocess.run(["tessera", "model", config, "--batch", "6", "--seq", "5", "--train", "--quiet", "-o", program],
                           check=True)
            for mesh in MESHES:
                ranks = math.prod(map(int, re.findall(r"\d+", mesh)))
                for strategy in strategies(mesh):
                    command = ["tessera", "verify", program, "--mesh", mesh, "--strategy", strategy,
                               *OPTIONS[runs % len(OPTIONS)]]
                    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                    runs += 1
                    if (run.returncode == 0 and f"@train_step: {ranks} ranks" in run.stdout
                            and "partition proven" in run.stdout):
                        right += 1
                    else:
                        print(base, *changes.values(), *command[3:], "is not right:\n" + run.stdout, flush=True)
    print(f"{right} of {runs} right and proven")
    return int(right != runs)


if __name__ == "__main__":
    sys.exit(main())
