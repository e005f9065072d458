"""Steps that change nothing: those of an evaluation, and those whose loss is NaN.

usage: changes_nothing.py GRAPH DATA FOLDER OPTIONS...    options of tessera compile
"""

import json
import math
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Inputs"))
import npy

STEPS = 4
# Pages that a run touches by chance. A copy of the state has ten times as many bytes.
CHANCE = 64 << 10


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def of_kind(lines, kind):
    return [line for line in lines if line.get("event") == kind]


def find_changed(a, b):
    """The names of the tensors that differ between two folders."""
    names = {path.name for folder in (a, b) for path in folder.glob("*.npy")}
    return {name for name in names if (a / name).read_bytes() != (b / name).read_bytes()}


def poison(folder):
    """Makes an element of the last norm's scale NaN, in the master copy too."""
    (folder / "manifest.json").unlink()
    for name in ("ln_f.gamma.npy", "ln_f.gamma.master.npy"):
        path = folder / name
        if path.exists():
            header, values = npy.split(path)
            npy.write(path, (math.nan,) + values[1:], header["descr"], header["shape"])


def check_evaluation(train, folder, data):
    plain = train("plain", "--steps", str(STEPS))
    evaluated = train("evaluated", "--steps", str(STEPS), "--eval-every", "1", "--eval-batches", "1",
                      "--eval-data", data)
    losses = [line["loss"] for line in of_kind(plain, "step")]
    assert [line["loss"] for line in of_kind(evaluated, "step")] == losses
    held = [line["loss"] for line in of_kind(evaluated, "eval")]
    # The first evaluation has the first step's parameters and batch.
    assert held[0] == losses[0] and len(set(held)) > 1, (held, losses)
    assert not (changed := find_changed(folder / "plain", folder / "evaluated")), changed
    (without,), (beside,) = of_kind(plain, "memory"), of_kind(evaluated, "memory")
    assert beside["planned_bytes"] == without["planned_bytes"], beside
    assert beside["measured_bytes"] <= without["measured_bytes"] + CHANCE, (beside, without)


def check_nan(train, folder, scales_loss):
    state = folder / "plain"
    poison(state)
    lines = train("after", "--inputs", state, "--steps", "2", "--on-nan=skip", status=3)
    assert [line["undone"] for line in of_kind(lines, "step")] == [True, True], lines
    moved = {"loss_scale.npy", "good_steps.npy"} if scales_loss else set()
    assert (changed := find_changed(state, folder / "after")) <= moved, changed
    return len(list(state.glob("*.npy")))


def main():
    graph, data = sys.argv[1:3]
    folder = pathlib.Path(sys.argv[3]).resolve()
    program = folder / "prog"
    for options in sys.argv[4:]:
        run("tessera", "compile", graph, *options.split(), "--lr", "3e-3", "--quiet", "-o", program)

        def train(name, *more, status=0):
            shutil.rmtree(folder / name, ignore_errors=True)
            return run(program, "--data", data, "--log=jsonl", "--save-final", folder / name, *more,
                       status=status)

        check_evaluation(train, folder, data)
        number = check_nan(train, folder, "f16" in options.split())
        print(f"{options}: {number} tensors stay")


main()
