"""Trains on packed documents and on each of them alone.

    documents.py CONFIG.json FOLDER [MESH:STRATEGY ...]

A text of documents that end in newlines fills rows of 24 tokens. Runs one step of SGD on it with
--eod, on one rank and under each mesh and strategy, and one step on a batch with each document in
its own row, where other labels do not count. The losses must agree within 1e-5, and so must every
gradient, relative to its norm: it is in the momentum, as clipping is off. Exits with 1 otherwise.
"""

import json
import math
import pathlib
import random
import sys

import npy
from train_matrix import SGD, norm, run, write_ids

BATCH, SEQ, EOD = 4, 24, 10


def make_text():
    """Documents of 1 to 20 tokens; some continue in the next row."""
    numbers = random.Random(3)
    text = []
    while len(text) <= BATCH * SEQ:
        text += [numbers.randrange(32, 127) for _ in range(numbers.randrange(20))] + [EOD]
    return text[: BATCH * SEQ + 1]


def split(text):
    """Each document of each row: its tokens, and its labels, -100 if there is none."""
    documents = []
    for row in range(0, BATCH * SEQ, SEQ):
        begin = row
        for at in range(row, row + SEQ):
            if text[at] == EOD or at + 1 == row + SEQ:
                labels = text[begin + 1 : at + 2]
                if text[at] == EOD:
                    labels[-1] = -100
                documents.append((text[begin : at + 1], labels))
                begin = at + 1
    return documents


def train(graph, folder, data, options):
    """The loss of a step, and the gradients by name."""
    run("tessera", "compile", graph, *SGD, *options, "--quiet", "-o", folder / "program")
    log = run(folder / "program", *data, "--steps", 1, "--log=jsonl", "--save-outputs",
              folder / "out")
    events = [json.loads(line) for line in log.splitlines()]
    (loss,) = [event["loss"] for event in events if event.get("event") == "step"]
    return loss, {path.name: npy.read(path) for path in (folder / "out").glob("*.velocity.npy")}


def main():
    config, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    text = make_text()
    documents = split(text)
    for name in ["alone", "alone/inputs"]:
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "text").write_bytes(bytes(text))
    model = ["tessera", "model", config, "--train", "--layers", 2, "--seq", SEQ, "--quiet"]
    run(*model, "--batch", BATCH, "--eod", EOD, "-o", folder / "packed.mlir")
    run(*model, "--batch", len(documents), "-o", folder / "alone.mlir")
    for i, (name, fill) in enumerate([("tokens", 0), ("labels", -100)]):
        rows = [document[i] + [fill] * (SEQ - len(document[i])) for document in documents]
        write_ids(folder / f"alone/inputs/{name}.npy", (1, len(rows), SEQ), sum(rows, []))
    wanted, gradients = train(folder / "alone.mlir", folder / "alone",
                              ["--inputs", folder / "alone/inputs", "--init-missing"], [])
    scale = math.sqrt(sum(norm(values) ** 2 for values in gradients.values()))
    good = True
    for number, case in enumerate(["", *sys.argv[3:]]):
        mesh, _, strategy = case.partition(":")
        here = folder / str(number)
        here.mkdir(exist_ok=True)
        options = ["--mesh", mesh, "--strategy", strategy] if case else []
        loss, got = train(folder / "packed.mlir", here, ["--data", folder / "text"], options)
        faults = [] if abs(loss - wanted) <= 1e-5 * abs(wanted) else [f"loss {loss}, not {wanted}"]
        for name, values in gradients.items():
            # A gradient that is truly zero, such as a key bias's, consists of rounding errors
            # alone.
            size = norm(values)
            error = norm([x - y for x, y in zip(values, got[name], strict=True)])
            if size > 1e-6 * scale and error > 1e-5 * size:
                faults.append(f"{name}: differs by {error / size:.1e}")
        good &= not faults
        print(case or "one rank", *(faults or ["is right"]), sep="\n  ")
    if good:
        print("every loss is that of the documents alone")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
