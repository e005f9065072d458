"""Microseconds of a call of tessera.compile above its step, and of torch.compile's.

Calls a small module on one rank and on four, with inputs and results of 4 kB and 1 MiB. A figure is
the median of a call's time less the time that the ranks report for its step. torch.compile's is the
median of a call of a module whose step is one addition of the same size, less that of the addition
itself. Rounds of both alternate.

PyTorch is in its own environment: --torch-python or TESSERA_TORCH_PYTHON names its Python; without
either one is installed in .env/torch."""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "compare"))

import peer  # noqa: E402

SIZES = {"4 kB": 1 << 10, "1 MiB": 1 << 18}
MESHES = {1: {}, 4: {"mesh": {"dp": 4}, "strategy": "dp"}}


def time_calls(act, calls):
    """Seconds of each call, less what `act` returns."""
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        less = act()
        times.append(time.perf_counter() - begin - less)
    return times


def measure(size, options):
    """Prints the figures of one size of inputs and results."""
    import tessera
    import torch
    torch.set_num_threads(1)

    class Add(torch.nn.Module):
        def forward(self, x):
            return x + 1.0

    x = torch.ones(4, SIZES[size] // 4)
    add = torch.compile(Add())
    programs = {ranks: tessera.compile(Add(), (x,), threads=1, **given)
                for ranks, given in MESHES.items()}

    def call(ranks):
        programs[ranks](x)
        return programs[ranks].seconds

    acts = {**{f"tessera, {ranks} ranks": lambda ranks=ranks: call(ranks) for ranks in MESHES},
            "torch.compile": lambda: add(x) is None, "torch": lambda: x + 1.0 is None}
    times = {name: [] for name in acts}
    for act in acts.values():
        time_calls(act, 20)
    for _ in range(options.rounds):
        for name, act in acts.items():
            times[name] += time_calls(act, options.calls)
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name in [*acts][:-1]:
        less = medians["torch"] if name == "torch.compile" else 0
        print(json.dumps({"bench": "python_calls", "call": name, "size": size,
                          "microseconds_above_step": round((medians[name] - less) * 1e6, 1),
                          "calls": len(times[name]), "torch": torch.__version__}), flush=True)
    for program in programs.values():
        program.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--calls", type=int, default=200, help="calls of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--torch-python", help="a Python with PyTorch")
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python)
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["TESSERA"] = str((ROOT / options.build / "bin" / "tessera").resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for size in SIZES:
            measure(size, options)


if __name__ == "__main__":
    main()
