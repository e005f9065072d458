"""Golden loss curves of the tiny models: thirty steps of PyTorch, in f64.

Takes the initial weights from a program that `tessera compile` builds and trains the same model of
Hugging Face transformers on the same text, with AdamW written out here. Writes loss and gradient
norm of each step to test/e2e/Inputs/golden-MODEL.json (--write), or compares them with the existing
file. The end-to-end tests compare the compiled training step with these files and need no PyTorch.
--torch-python names a Python with torch, transformers, numpy and safetensors; without it one is
installed in .env/torch."""

import argparse
import json
import math
import pathlib
import shutil
import subprocess
import sys

import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test" / "e2e" / "Inputs"
sys.path.insert(0, str(ROOT / "test" / "Import" / "Inputs"))
TEXT = ROOT / "LICENSE"

BATCH, SEQ, STEPS = 8, 32, 30
LR, MIN_LR, WARMUP = 3e-3, 3e-4, 5
BETA1, BETA2, EPS, DECAY, CLIP = 0.9, 0.95, 1e-8, 0.1, 1.0
# The same settings for tessera compile.
OPTIONS = ["--lr", f"{LR}", "--lr-schedule", "cosine", "--min-lr", f"{MIN_LR}", "--warmup",
           f"{WARMUP}", "--total-steps", f"{STEPS}", "--weight-decay", f"{DECAY}",
           "--clip", f"{CLIP}"]


def learning_rate(step):
    """The learning rate of a step from 1: linear warm-up, then a cosine to MIN_LR."""
    if step <= WARMUP:
        return LR * step / WARMUP
    part = min(1.0, (step - WARMUP) / (STEPS - WARMUP))
    return MIN_LR + (LR - MIN_LR) * 0.5 * (1 + math.cos(math.pi * part))


def batch(text, step):
    """Tokens and labels of a step from 0, in the runtime's order."""
    import torch
    sequences = (len(text) - 1) // SEQ
    rows = [(step * BATCH + row) % sequences * SEQ for row in range(BATCH)]
    shifted = lambda shift: torch.tensor([list(text[r + shift:r + shift + SEQ]) for r in rows])
    return shifted(0), shifted(1)


def decays(name, parameter):
    """True for parameters with weight decay: not biases and parameters of norms."""
    return parameter.ndim > 1


def train(network, text):
    """AdamW (Loshchilov and Hutter) with clipping by the norm of all gradients."""
    import torch
    parameters = list(network.named_parameters())
    moments = {n: (torch.zeros_like(p), torch.zeros_like(p)) for n, p in parameters}
    losses, norms = [], []
    for step in range(1, STEPS + 1):
        tokens, labels = batch(text, step - 1)
        logits = network(tokens).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        network.zero_grad()
        loss.backward()
        norm = math.sqrt(sum((p.grad ** 2).sum().item() for _, p in parameters))
        losses.append(loss.item())
        norms.append(norm)
        scale, lr = min(1.0, CLIP / norm), learning_rate(step)
        with torch.no_grad():
            for name, p in parameters:
                m, v = moments[name]
                g = p.grad * scale
                m.mul_(BETA1).add_(g, alpha=1 - BETA1)
                v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
                update = (m / (1 - BETA1 ** step)) / ((v / (1 - BETA2 ** step)).sqrt() + EPS)
                if decays(name, p):
                    update = update + DECAY * p
                p.sub_(lr * update)
    return losses, norms


def initial_weights(tessera, model, folder):
    """The initial parameters of a program with seed 0; the step does not affect them."""
    path = ROOT / "share" / "models" / f"{model}.json"
    run = lambda *command: subprocess.run([str(c) for c in command], check=True,
                                          stdout=subprocess.DEVNULL)
    run(tessera, "model", path, "--batch", BATCH, "--seq", SEQ, "--quiet", "-o", folder / "g.mlir")
    run(tessera, "compile", folder / "g.mlir", "--quiet", "-o", folder / "program")
    run(folder / "program", "--quiet", "--random-data", "--steps", 0,
        "--save-initial", folder / "weights")
    return json.loads(path.read_text())


def make_network(folder, config):
    """The network of transformers with the initial parameters."""
    import published
    sources = published.read_sources(folder / "g.mlir")
    parameters = published.read_parameters(folder / "weights", sources)
    return published.read_network(folder, config, published.make_state(sources, parameters))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with torch and transformers")
    parser.add_argument("--models", nargs="*", default=["tiny-gpt2", "tiny-llama"])
    parser.add_argument("--write", action="store_true", help="write the golden files")
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python, ("torch", "transformers", "numpy", "safetensors"))
    import torch
    build = (ROOT / options.build).resolve()
    worst = 0.0
    for model in options.models:
        folder = build / "bench" / f"golden-{model}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        config = initial_weights(build / "bin" / "tessera", model, folder)
        losses, norms = train(make_network(folder, config), TEXT.read_bytes())
        golden = INPUTS / f"golden-{model}.json"
        if options.write:
            rows = lambda values: [float(f"{v:.9g}") for v in values]
            golden.write_text(json.dumps({
                "model": model, "batch": BATCH, "seq": SEQ, "options": " ".join(OPTIONS),
                "loss": rows(losses), "grad_norm": rows(norms)}, indent=1) + "\n")
        kept = json.loads(golden.read_text())
        difference = max(abs(a - b) / abs(b) for a, b in zip(losses + norms,
                                                             kept["loss"] + kept["grad_norm"]))
        worst = max(worst, difference)
        print(json.dumps({"bench": "golden_curves", "model": model, "torch": torch.__version__,
                          "first_loss": losses[0], "last_loss": losses[-1],
                          "relative_difference": difference}), flush=True)
    if worst > 1e-6:
        sys.exit("golden_curves: PyTorch gives other curves than the golden files")


if __name__ == "__main__":
    main()
