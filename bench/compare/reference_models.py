"""Compares logits and gradients of the imported models with Hugging Face transformers.

Parameters, tokens and labels come from `tessera verify --dump`. The class of transformers that
reads the same config.json computes logits and gradients in f64. They are written to
test/e2e/Inputs/reference-MODEL.json (--write), or compared with the existing file. Then all logits
and gradients of the interpreted graph are compared. The end-to-end tests compare with the files,
which have the norm and evenly spaced elements of each tensor, and need no PyTorch. --torch-python
names a Python with torch, transformers, numpy and safetensors; without it one is installed in
.env/torch."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test" / "e2e" / "Inputs"
sys.path.insert(0, str(ROOT / "test" / "Import" / "Inputs"))
MODELS = ["tiny-gpt2", "tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-mistral", "tiny-phi3",
          "tiny-gemma2", "tiny-gemma3", "tiny-olmo2", "tiny-granite", "tiny-cohere",
          "tiny-stablelm", "tiny-starcoder2", "tiny-glm4", "tiny-mixtral", "tiny-qwen3-moe",
          "tiny-deepseek-v2", "tiny-deepseek-v3"]

BATCH, SEQ = 2, 24
# A learning rate for which the change of the parameters shows the gradients exactly: the parameters
# are small relative to LR times their gradient.
LR = 1024
SGD = ["--optimizer", "sgd", "--lr", str(LR), "--weight-decay", "0", "--clip", "0"]
# The largest number of elements of a tensor in a file.
LOGITS, GRADIENTS = 800, 16


def load(folder, name):
    """A tensor of a folder; None if it does not exist."""
    import numpy
    import torch
    file = folder / f"{name}.npy"
    return torch.from_numpy(numpy.load(file).copy()) if file.exists() else None


def reference(folder, config):
    """The logits and the gradients of the mean loss, by our parameters' names."""
    import published
    sources = published.read_sources(folder / "loss.mlir")
    parameters = published.read_parameters(folder, sources)
    state = published.make_state(sources, parameters)
    network = published.read_network(folder, config, state)
    # Inputs of a training step have a dimension of micro-batches.
    tokens, labels = (load(folder, n).long().flatten(0, 1) for n in ("tokens", "labels"))
    return published.compute(network, state, parameters, tokens, labels)


def scales(gradients):
    """The scale of each tensor's differences: its largest number, or a thousandth of the largest of
    all gradients, since the gradient of the bias of GPT-2's keys is 0."""
    largest = max(g.abs().max().item() for g in gradients.values())
    return {n: max(g.abs().max().item(), 1e-3 * largest) for n, g in gradients.items()}


def describe(tensor, scale, count):
    """The entry of a tensor in a file. An odd stride visits all columns."""
    values = tensor.flatten()
    stride = max(1, len(values) // count) | 1
    # Numbers that are negligible relative to the scale become 0, so that files are equal
    # everywhere.
    digits = lambda value: float(f"{value:.8g}") if abs(value) > 1e-9 * scale else 0.0
    return {"scale": digits(scale), "norm": digits(values.norm().item()),
            "stride": stride, "values": [digits(v) for v in values[::stride].tolist()]}


def interpret(tessera, model, folder):
    """Logits and gradients of the graph, computed by the interpreter; the parameters, tokens and
    labels stay in `folder`."""
    run = lambda *command: subprocess.run([str(c) for c in command], check=True,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = ROOT / "share" / "models" / f"{model}.json"
    sizes = ["--batch", BATCH, "--seq", SEQ, "--quiet"]
    run(tessera, "model", path, *sizes, "-o", folder / "logits.mlir")
    run(tessera, "verify", folder / "logits.mlir", "--mesh", "dp=1", "--dump", folder / "forward")
    run(tessera, "model", path, *sizes, "--train", "-o", folder / "loss.mlir")
    run(tessera, "verify", folder / "loss.mlir", "--mesh", "dp=1", *SGD, "--dump", folder)
    gradients = {}
    for file in sorted((folder / "expected").glob("*.npy")):
        before = load(folder, file.stem)
        if before is not None and file.stem != "step":
            gradients[file.stem] = (before.double() - load(folder / "expected", file.stem).double()) / LR
    return load(folder / "forward" / "expected", "logits").double(), gradients


def difference(ours, theirs, scale):
    return (ours - theirs).abs().max().item() / scale


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with torch and transformers")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--write", action="store_true", help="write the reference files")
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python, ("torch", "transformers", "numpy", "safetensors"))
    import torch
    import transformers
    build = (ROOT / options.build).resolve()
    failures = 0
    for model in options.models:
        folder = build / "bench" / f"reference-{model}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        config = json.loads((ROOT / "share" / "models" / f"{model}.json").read_text())
        logits, gradients = interpret(build / "bin" / "tessera", model, folder)
        their_logits, theirs = reference(folder, config)
        if theirs.keys() != gradients.keys():
            sys.exit(f"{model}: parameters differ: {theirs.keys() ^ gradients.keys()}")
        scale, of = their_logits.abs().max().item(), scales(theirs)
        described = {"model": model, "batch": BATCH, "seq": SEQ, "lr": LR,
                     "logits": describe(their_logits, scale, LOGITS),
                     "gradients": {n: describe(g, of[n], GRADIENTS) for n, g in theirs.items()}}
        file = INPUTS / f"reference-{model}.json"
        if options.write:
            file.write_text(json.dumps(described).replace('"blocks', '\n"blocks') + "\n")
        worst = max(difference(gradients[n], theirs[n], of[n]) for n in theirs)
        line = {"bench": "reference_models", "model": model, "torch": torch.__version__,
                "transformers": transformers.__version__,
                "logits_difference": difference(logits, their_logits, scale),
                "gradients_difference": worst,
                "file_is_current": json.loads(file.read_text()) == described}
        failures += (line["logits_difference"] > 1e-5 or worst > 1e-4
                     or not line["file_is_current"])
        print(json.dumps(line), flush=True)
    if failures:
        sys.exit(f"reference_models: {failures} models differ: logits by more than 1e-5, "
                 "gradients by more than 1e-4, or the file is old")


if __name__ == "__main__":
    main()
