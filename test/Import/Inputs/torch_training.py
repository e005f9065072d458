"""Trains imported losses of transformers and compares them with torch: python torch_training.py BIN
FOLDER TEXT. Prints a line for each model; exit status 1 if one has an unexpected result.

Runs twenty steps of AdamW in f32, on one rank, with zero=3 on four, and in two micro-batches:
losses are within 1e-5 of torch's. transformers loads the weights that a program saves, and its
logits are equal to the imported graph's."""

import json
import pathlib
import subprocess
import sys

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_models  # noqa: E402

STEPS, BATCH, SEQ = 20, 8, 24
LR, BETAS, EPS, DECAY, CLIP = 1e-3, (0.9, 0.95), 1e-8, 0.1, 1.0
OPTIONS = ["--lr", LR, "--weight-decay", DECAY, "--clip", CLIP]
RUNS = {"one rank": ([], 1), "zero=3 on four": (["--mesh", "dp=4", "--strategy", "dp,zero=3"], 4),
        "two micro-batches": (["--micro-batches", 2], 1),
        "dp, tp and two micro-batches": (
            ["--mesh", "dp=2,tp=2", "--strategy", "dp,tp,zero=3", "--micro-batches", 2], 4)}
IDS = torch.zeros(BATCH, SEQ, dtype=torch.long)


def with_result(model, name):
    """A model that keeps the names of its parameters and returns one result."""
    kind = type(model)

    class Model(kind):
        def forward(self, tokens, labels=None):
            return getattr(kind.forward(self, input_ids=tokens, labels=labels, use_cache=False),
                           name)
    model.__class__ = Model
    return model


def make_gpt2():
    return with_result(torch_models.gpt2(), "loss"), IDS, IDS


def make_gpt2_logits():
    return with_result(torch_models.gpt2(), "logits"), IDS


def make_llama():
    return with_result(torch_models.llama(), "loss"), IDS, IDS


def make_llama_logits():
    return with_result(torch_models.llama(), "logits"), IDS


def read_batches(text):
    """The tokens of each step, as inputs and as labels."""
    size = BATCH * SEQ
    for step in range(STEPS):
        tokens = torch.tensor(list(text[step * size:][:size])).view(BATCH, SEQ)
        yield tokens, tokens


def train(model, batches):
    """torch's losses: matrices have weight decay, norms and biases do not."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": DECAY},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LR, betas=BETAS, eps=EPS)
    losses = []
    for x, labels in batches:
        optimizer.zero_grad()
        loss = model(x, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False, **options)
    if done.returncode:
        sys.exit(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def import_graph(name, folder, *options):
    run(sys.executable, "-m", "tessera", "import", f"{__file__}:make_{name}", "-o",
        folder / f"{name}.mlir", *options)
    return folder / f"{name}.mlir"


def losses_of(log):
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [line["loss"] for line in lines if "loss" in line]


def compare_training(tessera, name, folder, text):
    graph = import_graph(name, folder, "--label-shift", 0, "--weights-out",
                         folder / f"{name}.safetensors")
    expected = train(globals()[f"make_{name}"]()[0], read_batches(text.read_bytes()))
    good = True
    for title, (options, ranks) in RUNS.items():
        program = folder / f"{name}.program"
        run(tessera, "compile", graph, *options, *OPTIONS, "--quiet", "-o", program)
        found = losses_of(run(program, "--ranks", ranks, "--data", text, "--steps", STEPS,
                              "--weights", folder / f"{name}.safetensors", "--log=jsonl",
                              "--save-weights", folder / f"{name}.{ranks}.saved"))
        worst = max(abs(a - b) / abs(b) for a, b in zip(found, expected))
        is_near = len(found) == STEPS and worst <= 1e-5 and expected[-1] < 0.9 * expected[0]
        good &= is_near
        print(f"{name}, {title}: {len(found)} losses, {expected[0]:.3f} to {expected[-1]:.3f}, "
              f"{'agree' if is_near else 'DIFFER'} ({worst:.1e})", flush=True)
    return good


def compare_saved(tessera, name, folder):
    """Loads the saved weights in transformers and in a program of logits, and compares both."""
    model = globals()[f"make_{name}"]()[0]
    saved = folder / f"{name}.4.saved"
    (saved / "config.json").write_text(model.config.to_json_string())
    # The model's class in transformers.
    loaded, report = type(model).__mro__[1].from_pretrained(saved, output_loading_info=True)
    missing, others = report["missing_keys"], report["unexpected_keys"]
    tokens = torch.randint(torch_models.VOCAB, (BATCH, SEQ),
                           generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = loaded.eval()(tokens).logits.numpy()
    graph = import_graph(f"{name}_logits", folder)
    (folder / "inputs").mkdir(exist_ok=True)
    numpy.save(folder / "inputs" / "tokens.npy", tokens.numpy())
    run(tessera, "compile", graph, "--quiet", "-o", folder / "logits.program")
    run(folder / "logits.program", "--weights", saved, "--inputs", folder / "inputs", "--quiet",
        "--save-outputs", folder / f"{name}.logits")
    found = numpy.load(folder / f"{name}.logits" / "logits.npy")
    error = float(abs(found - expected).max() / abs(expected).max())
    is_same = not missing and not others and error <= 1e-5
    print(f"{name}, saved: {len(missing)} keys missing, {len(others)} unexpected, logits "
          f"{'agree' if is_same else 'DIFFER'} ({error:.1e})", flush=True)
    return is_same


def main(folder, text):
    folder = pathlib.Path(folder)
    tessera, good = f"{sys.argv[1]}/tessera", True
    for name in ("gpt2", "llama"):
        good &= compare_training(tessera, name, folder, pathlib.Path(text))
        good &= compare_saved(tessera, name, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[2:]))
