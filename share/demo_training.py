"""The end of the demo: a byte-level GPT-2 learns from this repository's own text,
on one rank and on four, and both losses fall alike."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH, SEQ, STEPS = 16, 64, 120
SHARED = ["--lr", "2e-3", "--lr-schedule", "cosine", "--warmup", "10", "--total-steps", STEPS,
          "--min-lr", "2e-4"]
RUNS = [
    ("one rank, f32", 1, []),
    ("dp=2,tp=2, sp, zero=2, bf16, 2 micro-batches", 4,
     ["--mesh", "dp=2,tp=2", "--strategy", "dp,tp,sp,zero=2", "--precision", "bf16",
      "--micro-batches", 2]),
]


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def run(*command, stdout=sys.stderr):
    result = subprocess.run([str(c) for c in command], stdout=stdout, text=True)
    if result.returncode:
        sys.exit(f"demo: {command[0]} failed with exit code {result.returncode}")
    return result.stdout


def write_text(path):
    """The compiler's own sources, in one file."""
    files = sorted((ROOT / "lib").glob("*/*.cpp"))
    path.write_bytes(b"\n".join(file.read_bytes() for file in files))
    return path


def losses(log):
    events = [json.loads(line) for line in log.splitlines()]
    return {e["step"]: e["loss"] for e in events if e.get("event") == "step"}


def train(tessera, folder):
    """Runs both programs and prints their losses side by side. Returns the
    largest relative difference of the last loss."""
    graph, text = folder / "train.mlir", write_text(folder / "text.txt")
    run(tessera, "model", ROOT / "share" / "models" / "tiny-gpt2.json", "--batch", BATCH,
        "--seq", SEQ, "--train", "--quiet", "-o", graph)
    curves = []
    for number, (label, ranks, flags) in enumerate(RUNS):
        say(f"compiling the training step: {label}")
        program = folder / f"train{number}"
        run(tessera, "compile", graph, *flags, *SHARED, "--quiet", "-o", program)
        say(f"training for {STEPS} steps: {label}")
        steps = ["--data", text, "--steps", STEPS]
        if number + 1 == len(RUNS):
            # Shows the plan and the first steps.
            run(tessera, "run", program, "--ranks", ranks, "--data", text, "--steps", 3)
        curves.append(losses(run(tessera, "run", program, "--ranks", ranks, *steps,
                                 "--log=jsonl", stdout=subprocess.PIPE)))
    print(f"\ntiny-gpt2 trained on {text.stat().st_size:,} bytes of this repository, "
          f"{BATCH} x {SEQ} tokens per step\n")
    row = lambda first, cells: print("  ".join(
        [str(first).ljust(6)] + [cell.ljust(len(label)) for cell, (label, _, _) in
                                 zip(cells, RUNS)]).rstrip())
    row("step", [label for label, _, _ in RUNS])
    for step in [1, *range(STEPS // 6, STEPS + 1, STEPS // 6)]:
        row(step, [f"{curve[step]:.4f}" for curve in curves])
    first, last = curves[0][1], [curve[STEPS] for curve in curves]
    if not all(loss < 0.7 * first for loss in last):
        sys.exit("demo: the loss does not fall")
    if abs(last[1] - last[0]) > 0.05 * last[0]:
        sys.exit("demo: four ranks do not learn as one does")
