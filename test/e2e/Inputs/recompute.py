"""Trains executables with rematerialization and compares them with one that keeps all.

    recompute.py FOLDER CONFIG.json...

Three steps of SGD with momentum in f32 on random tokens, from three seeds. Kernels of the three
policies are fused differently and so round differently. For each policy must hold:
* the loss and the norm of the gradients of each step are within 1e-6, relatively;
* every parameter and its velocity (a sum of gradients) are within 1e-6 of its norm, except for
  those whose gradient is truly zero, such as a key bias's.
`auto=<bytes>` keeps the planned arena within its bytes and recomputes no more than necessary; fewer
bytes than possible are an error.
Prints the worst of each model and policy; exits with 1 if a bound is exceeded."""

import json
import math
import pathlib
import re
import subprocess
import sys

import npy

BOUND, STEPS, SEEDS = 1e-6, 3, (1, 2, 3)
POLICIES = ("none", "selective", "full")
SGD = ["--optimizer", "sgd", "--momentum", "0.9"]


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def norm(values):
    return math.sqrt(sum(x * x for x in values))


def train(program, out, seed):
    """Losses and norms of the steps, and tensors by name at the end."""
    log = run(program, "--random-data", "--seed", seed, "--steps", STEPS, "--threads", 2,
              "--log=jsonl", "--save-outputs", out)
    events = [json.loads(line) for line in log.splitlines()]
    numbers = [e[key] for e in events if e.get("event") == "step" for key in ("loss", "grad_norm")]
    return numbers, {path.stem: npy.read(path) for path in sorted(out.glob("*.npy"))
                     if path.stem not in ("step", "num_labels", "lr", "skipped")}


def is_true_zero(name, tensors):
    """True if a parameter's gradient consists of rounding errors alone."""
    velocities = [v for n, v in tensors.items() if n.endswith(".velocity")]
    scale = math.sqrt(sum(norm(v) ** 2 for v in velocities))
    own = tensors.get(name.removesuffix(".velocity") + ".velocity")
    return own is not None and norm(own) <= 1e-6 * scale


def plan(model_folder, policy):
    """The arena's bytes and the number of kernels and matmuls of a step."""
    text = run("tessera", "compile", model_folder / "g.mlir", "--mesh", "dp=1", "--recompute", policy,
               "--quiet", "--compile-to=schedule")
    return (int(re.search(r"rt\.arena_bytes = (\d+)", text).group(1)),
            len(re.findall(r"= rt\.(?:kernel|matmul|attention)\b", text)))


def check_auto(model_folder):
    most, ops = plan(model_folder, "none")
    least, _ = plan(model_folder, "selective")
    for share in (0.2, 0.6):
        limit = int(least + share * (most - least))
        arena, repeated = plan(model_folder, f"auto={limit}")
        print(f"{model_folder.name} auto={limit}: plans {arena} of {most}, {repeated - ops} ops more")
        if not least - 0.1 * most < arena <= limit or repeated <= ops:
            sys.exit(f"{model_folder.name}: expects a plan within {limit} bytes, and near, but got {arena}")
    if plan(model_folder, f"auto={most}") != (most, ops):
        sys.exit(f"{model_folder.name}: expects nothing repeated where all fits")
    refused = subprocess.run(["tessera", "compile", str(model_folder / "g.mlir"), "--mesh", "dp=1",
                              "--recompute", "auto=1000", "--compile-to=schedule"],
                             capture_output=True, text=True)
    if refused.returncode == 0 or "at least, the bytes of the arena of a device" not in refused.stderr:
        sys.exit(f"{model_folder.name}: expects 1000 bytes to be too few but got {refused.stderr}")


def main():
    folder = pathlib.Path(sys.argv[1])
    for config in map(pathlib.Path, sys.argv[2:]):
        model_folder = folder / config.stem
        model_folder.mkdir(parents=True, exist_ok=True)
        run("tessera", "model", config, "--batch", 8, "--seq", 64, "--train", "--quiet",
            "-o", model_folder / "g.mlir")
        for policy in POLICIES:
            run("tessera", "compile", model_folder / "g.mlir", "--mesh", "dp=1", "--recompute", policy,
                *SGD, "--quiet", "-o", model_folder / policy)
        check_auto(model_folder)
        worst = {policy: (0.0, 0.0, "") for policy in POLICIES[1:]}
        compared = 0
        for seed in SEEDS:
            numbers, tensors = train(model_folder / "none", model_folder / f"none.{seed}", seed)
            for policy in POLICIES[1:]:
                others, theirs = train(model_folder / policy, model_folder / f"{policy}.{seed}", seed)
                if len(others) != 2 * STEPS or set(theirs) != set(tensors):
                    sys.exit(f"{config.stem} {policy}: expects the same outputs")
                step = max(abs(a - b) / abs(a) for a, b in zip(numbers, others, strict=True))
                far = [(norm([x - y for x, y in zip(a, theirs[name], strict=True)]) / norm(a), name)
                       for name, a in tensors.items() if norm(a) and not is_true_zero(name, tensors)]
                compared = len(far)
                tensor, name = max(far)
                old = worst[policy]
                worst[policy] = (max(old[0], step), *max(old[1:], (tensor, name)))
        for policy, (step, tensor, name) in worst.items():
            good = step <= BOUND and tensor <= BOUND
            print(f"{'ok  ' if good else 'FAIL'} {config.stem} {policy}: steps {step:.1e}, "
                  f"{compared} tensors {tensor:.1e} ({name})")
            if not good:
                sys.exit(1)


if __name__ == "__main__":
    main()
