"""Seconds of the passes that choose, merge and order collectives and that plan memory.

The case is the training step of llama3-405b on dp=128,tp=8, on one thread."""

import argparse
import json
import pathlib
import re
import resource
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLANNER = ["MergeReshardsPass", "ReshardToCollectivesPass",
           "FuseCollectivesPass", "BucketCollectivesPass"]
OTHERS = ["OverlapCollectivesPass", "CheckDeadlockPass", "PlanArenaPass"]


def times(build, graph, strategy):
    """Seconds of each pass up to the phase schedule."""
    command = [build / "bin" / "tessera-opt", graph, "--emit-bytecode",
               "--mlir-disable-threading", "--mlir-timing",
               "--mlir-timing-display=list", "-o", "/dev/null",
               f"--compile-to=schedule mesh=dp=128,tp=8 strategy={strategy}"]
    text = subprocess.run(command, check=True, stderr=subprocess.PIPE,
                          text=True).stderr
    seconds = {}
    for line in text.splitlines():
        found = re.match(r"\s*([\d.]+) \(\s*[\d.]+%\)\s+(\w+)$", line)
        if found:
            seconds[found[2]] = seconds.get(found[2], 0) + float(found[1])
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--layers", default="126")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    (build / "bench").mkdir(exist_ok=True)
    graph = build / "bench" / f"llama3-405b-train-{options.layers}.mlirbc"
    subprocess.run(
        [build / "bin" / "tessera", "model", ROOT / "share/models/llama3-405b.json",
         "--batch", "128", "--seq", "8192", "--dtype", "bf16", "--train",
         "--layers", options.layers, "-o", graph],
        check=True, stderr=subprocess.DEVNULL)
    for zero in (1, 3):
        strategy = f"dp,tp,zero={zero}"
        runs = [times(build, graph, strategy) for _ in range(options.runs)]
        median = {name: round(statistics.median(run[name] for run in runs), 4)
                  for name in PLANNER + OTHERS}
        print(json.dumps({
            "bench": "communication_passes", "model": "llama3-405b",
            "layers": int(options.layers), "mesh": "dp=128,tp=8",
            "strategy": strategy, "runs": options.runs, "seconds": median,
            "planner_and_fusion": round(sum(median[name] for name in PLANNER), 4),
        }), flush=True)


if __name__ == "__main__":
    main()
