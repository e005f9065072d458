"""Trains under meshes and strategies and compares each with one rank.

    train_matrix.py [--adamw] [--layers N] CONFIG.json TEXT FOLDER
        [MESH:STRATEGY:MICRO_BATCHES[:SCHEDULE[:VPP]] ...]

Without cases, all of ALL. With --adamw each case is compiled once, and AdamW replaces SGD below:
its first moment after one step is a tenth of the gradient. Each case must have, in f32:
* thirty steps of AdamW (eps 1e-5) on the text: losses within 1e-5 of one rank's, relatively,
  parameters at the end within 1e-4 of each tensor's largest;
* one step of SGD on a batch with some labels masked: every gradient within 1e-5 of its norm (except
  those that are truly zero, such as a key bias's), and thirty steps: losses within 1e-5,
  parameters within 1e-4;
* thirty steps again: the same bits.
Prints a line for each case, and exits with 1 if one fails. One step of SGD with momentum leaves the
gradient in its state, as clipping is off."""

import argparse
import array
import itertools
import json
import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys

import npy

BATCH, SEQ, STEPS = 24, 16, 30
ADAMW = ["--eps", "1e-5", "--lr", "1e-3", "--warmup", "3"]
SGD = ["--optimizer", "sgd", "--momentum", "0.9", "--clip", "0", "--weight-decay", "0",
       "--lr", "0.02"]

MESHES = [(dp, n // dp) for n in (2, 4, 6, 8) for dp in range(1, n + 1) if n % dp == 0]
ALL = [f"dp={dp},tp={tp}:{','.join(s)}:{micro}"
       for (dp, tp), sp, zero, micro in itertools.product(
           MESHES, ([], ["sp"]), ([], ["zero=1"], ["zero=2"], ["zero=3"]), (1, 4))
       for s in [(["dp"] if dp > 1 else []) + (["tp"] if tp > 1 else [])
                 + (sp if tp > 1 else []) + (zero if dp > 1 else [])]
       if (tp > 1 or not sp) and (dp > 1 or not zero)]


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def write_ids(path, shape, ids):
    """int32 as a .npy file."""
    head = str({"descr": "<i4", "fortran_order": False, "shape": tuple(shape)})
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                     + array.array("i", ids).tobytes())


def write_masked(folder, micro):
    """One batch of random tokens with partly masked labels, the same for any number of
    micro-batches."""
    numbers = random.Random(1)
    tokens = [numbers.randrange(256) for _ in range(BATCH * SEQ)]
    labels = [-100 if numbers.random() < 0.3 else numbers.randrange(256)
              for _ in range(BATCH * SEQ)]
    # Rows without any label, so that parts of the batch have different numbers of labels.
    labels[:3 * SEQ] = [-100] * (3 * SEQ)
    folder.mkdir(parents=True, exist_ok=True)
    shape = (micro, BATCH // micro, SEQ)
    write_ids(folder / "tokens.npy", shape, tokens)
    write_ids(folder / "labels.npy", shape, labels)


class Trained:
    """The results of a case, or of one rank."""

    def __init__(self, graph, text, folder, flags, micro, masked):
        self.folder = folder
        self.moment = {"sgd": ".velocity", "adamw": ".m"}[masked]
        folder.mkdir(parents=True)
        write_masked(folder / "masked", micro)
        for name, settings in (("adamw", ADAMW), ("sgd", SGD)):
            if name in ("adamw", masked):
                run("tessera", "compile", graph, *flags, *settings, "--micro-batches", micro,
                    "--quiet", "-o", folder / name)
        self.losses = {
            "text": self.train("adamw", ["--data", text], STEPS, "text.out"),
            "masked": self.train(masked, ["--inputs", folder / "masked", "--init-missing"], STEPS, "masked.out")}
        self.train(masked, ["--inputs", folder / "masked", "--init-missing"], 1, "first.out")

    def gradients(self):
        """Maps names to the elements of gradients, or of tenths of gradients."""
        return {name[:-len(self.moment)]: values
                for name, values in self.parameters("first.out", self.moment)}

    def train(self, program, data, steps, out):
        log = run(self.folder / program, *data, "--steps", steps, "--log=jsonl",
                  "--save-outputs", self.folder / out)
        events = [json.loads(line) for line in log.splitlines()]
        return [e["loss"] for e in events if e.get("event") == "step"]

    def parameters(self, out, suffix=""):
        """Maps names to elements; with a suffix the state with that suffix."""
        states = (".m", ".v", ".master", ".velocity")
        for path in sorted((self.folder / out).glob("*.npy")):
            name = path.name[:-len(".npy")]
            is_state = name.endswith(states) or name in ("step", "loss", "grad_norm", "lr", "num_labels", "skipped")
            if name.endswith(suffix) if suffix else not is_state:
                yield name, npy.read(path)


def norm(values):
    return math.sqrt(sum(x * x for x in values))


def largest(values):
    return max(map(abs, values), default=0.0)


def true_gradients(one):
    """One rank's gradients, without those that are truly zero: a key bias adds the same to all
    scores of a query, which does not change the softmax. Such a gradient consists of rounding
    errors and differs from mesh to mesh."""
    gradients = one.gradients()
    scale = math.sqrt(sum(norm(v) ** 2 for v in gradients.values()))
    return {name: values for name, values in gradients.items() if norm(values) > 1e-6 * scale}


def compare_parameters(ours, theirs, out, names):
    """The worst max|a-b| / max|b| over tensors."""
    a, b = dict(ours.parameters(out)), dict(theirs.parameters(out))
    return max(largest(x - y for x, y in zip(a[name], b[name], strict=True)) / largest(b[name])
               for name in names)


def compare_gradients(ours, gradients):
    """The worst |a-b| / |b|."""
    a = ours.gradients()
    return max(norm([x - y for x, y in zip(a[name], values, strict=True)])
               / norm(values) for name, values in gradients.items())


def compare_losses(ours, theirs):
    if len(ours) != len(theirs) or len(ours) != STEPS or None in ours:
        return math.inf
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))


def repeats(case, text):
    """True if another run of the same program gives the same bits."""
    again = case.train("adamw", ["--data", text], STEPS, "again")
    same = again == case.losses["text"]
    for path in sorted((case.folder / "text.out").glob("*.npy")):
        same &= path.read_bytes() == (case.folder / "again" / path.name).read_bytes()
    return same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--adamw", action="store_true")
    parser.add_argument("--layers", type=int)
    parser.add_argument("config")
    parser.add_argument("text")
    parser.add_argument("folder")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    masked = "adamw" if arguments.adamw else "sgd"
    config, text, folder, cases = (arguments.config, arguments.text, arguments.folder,
                                   arguments.cases)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    graph = folder / "g.mlir"
    layers = ["--layers", arguments.layers] if arguments.layers else []
    run("tessera", "model", config, "--batch", BATCH, "--seq", SEQ, "--train", "--quiet",
        *layers, "-o", graph)
    one = Trained(graph, text, folder / "one", [], 1, masked)
    for name in ("text", "masked"):
        losses = one.losses[name]
        if not losses[-1] < losses[0] - 0.2:
            sys.exit(f"{name}: the loss does not fall: {losses[0]} to {losses[-1]}")
    gradients = true_gradients(one)
    print(f"one rank: {len(gradients)} of {len(list(one.parameters('text.out')))} parameters "
          "have gradients, those of the others are truly zero")
    right, cases = 0, cases or ALL
    for number, case in enumerate(cases):
        mesh, strategy, micro, *pipeline = case.split(":")
        schedule = [word for pair in zip(("--schedule", "--vpp"), pipeline) for word in pair]
        try:
            ours = Trained(graph, text, folder / f"case{number}",
                           ["--mesh", mesh, "--strategy", strategy, *schedule], int(micro),
                           masked)
        except RuntimeError as error:
            print(f"FAIL {case}: {error}", flush=True)
            continue
        bounds = {
            f"{name} loss": (compare_losses(ours.losses[name], one.losses[name]), 1e-5)
            for name in ("text", "masked")}
        bounds["gradients"] = (compare_gradients(ours, gradients), 1e-5)
        for name in ("text", "masked"):
            bounds[f"{name} parameters"] = (
                compare_parameters(ours, one, f"{name}.out", gradients), 1e-4)
        same = repeats(ours, text)
        good = same and all(value <= bound for value, bound in bounds.values())
        right += good
        if good:
            shutil.rmtree(ours.folder)
        print("ok  " if good else "FAIL", case,
              ", ".join(f"{name} {value:.1e}" for name, (value, _) in bounds.items()),
              "" if same else ", not the same bits twice", flush=True)
    print(f"{right} of {len(cases)} cases are right")
    sys.exit(right != len(cases))


if __name__ == "__main__":
    main()
