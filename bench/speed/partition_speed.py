"""Seconds and memory from a graph to its partitioned program, by layers.

Partitions llama3-405b, its forward pass and its training step with zero=1, on a mesh of
dp=128,tp=8, on one core. The floor of the ratio is the time to parse and print the same module
without any pass, in the same run."""

import argparse
import itertools
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def measure(command):
    """Wall seconds and peak bytes of a process; its output is discarded."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"partition_speed: {' '.join(map(str, command))} failed")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    (build / "bench").mkdir(exist_ok=True)
    one_core = ["taskset", "-c", "0"]
    steps = {"forward": ([], "dp,tp"), "train": (["--train"], "dp,tp,zero=1")}
    for (step, (extra, strategy)), layers in itertools.product(
            steps.items(), (16, 32, 63, 126)):
        graph = build / "bench" / f"llama3-405b-{step}-{layers}.mlirbc"
        subprocess.run(
            [build / "bin" / "tessera", "model", ROOT / "share/models/llama3-405b.json",
             "--batch", "128", "--seq", "8192", "--dtype", "bf16",
             "--layers", str(layers), *extra, "-o", graph],
            check=True, stderr=subprocess.DEVNULL)
        opt = [*one_core, build / "bin" / "tessera-opt", graph, "--emit-bytecode",
               "--mlir-disable-threading"]
        flag = f"--compile-to=partition mesh=dp=128,tp=8 strategy={strategy}"
        floor, full = [], []
        for _ in range(options.runs):
            floor.append(measure(opt))
            full.append(measure([*opt, flag]))
        seconds = statistics.median(t for t, _ in full)
        base = statistics.median(t for t, _ in floor)
        print(json.dumps({
            "bench": "partition_speed", "model": "llama3-405b", "step": step,
            "layers": layers, "mesh": "dp=128,tp=8", "strategy": strategy, "seconds": round(seconds, 4),
            "floor_seconds": round(base, 4), "passes_seconds": round(seconds - base, 4),
            "peak_mb": round(max(m for _, m in full) / 1e6, 1), "runs": options.runs,
        }), flush=True)


if __name__ == "__main__":
    main()
