"""Calls a program 1,000 times: python many_calls.py FOLDER. Each result has the bits of a run of
the executable on the same inputs, results of earlier calls stay as they were, and the memory of
Python and of the ranks does not grow from call 100 on."""

import pathlib
import subprocess
import sys

import numpy
import tessera
import torch
from faults import list_session
from models import draw_ids, make_nano

CALLS, RUNS, FIRST = 1000, 1000, 100
# Memory that the allocator may keep in addition, in kB.
SLACK = 256


def resident_of(process):
    text = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])


def run_executable(program, weights, folder, ids):
    """The logits of a run on its own."""
    (folder / "in").mkdir(exist_ok=True)
    numpy.save(folder / "in" / "idx.npy", ids.numpy())
    subprocess.run([program.path, "--weights", weights, "--inputs", folder / "in", "--quiet",
                    "--save-outputs", folder / "out"], check=True, stdout=subprocess.DEVNULL)
    return torch.from_numpy(numpy.load(folder / "out" / "logits.npy"))


def main(folder):
    with tessera.compile(make_nano(), (draw_ids(),), mesh={"dp": 2, "tp": 2},
                         strategy="dp,tp") as program:
        weights = folder / "nano.safetensors"
        program.save_weights(weights)
        processes = ["self", *list_session(program._client.process.pid)]
        results = torch.empty(CALLS, *program(draw_ids())[0].shape)
        kept, resident = [], {}
        for call in range(CALLS):
            kept = [*kept[-9:], (call, program(draw_ids(call))[0])]
            results[call] = kept[-1][1]
            if call in (FIRST, CALLS - 1):
                resident[call] = [resident_of(process) for process in processes]
            assert all(torch.equal(result, results[number]) for number, result in kept)
        grown = [after - before for before, after in zip(resident[FIRST], resident[CALLS - 1])]
        # The results of this script itself are written once.
        grown[0] -= results.nbytes * (CALLS - 1 - FIRST) // CALLS >> 10
        print(f"memory of Python and {len(processes) - 1} others grew by {grown} kB", flush=True)
        assert max(grown) <= SLACK, grown
        for call in range(RUNS):
            found = run_executable(program, weights, folder, draw_ids(call))
            assert torch.equal(found, results[call]), call
    print(f"{CALLS} calls have the bits of {RUNS} runs")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
