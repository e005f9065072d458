"""Seconds of the partitioner that another compiler embeds, against the phases of tessera compile.

Both take the training step of llama3-405b as phase train prints it, on one core, in one run: the
pipeline tessera-partitioner, and phases propagate and partition, which have its passes and some of
their own between (recomputation, stages, buckets). The time to parse and print the module is
subtracted from both."""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def seconds(command):
    """Processor seconds of a process; its output is discarded."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        sys.exit(f"partitioner: {' '.join(map(str, command))} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--layers", type=int, default=126)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    (build / "bench").mkdir(exist_ok=True)
    graph = build / "bench" / "partitioner.mlir"
    step = build / "bench" / "partitioner-train.mlirbc"
    subprocess.run([build / "bin" / "tessera", "model", "llama3-405b", "--batch", "128", "--seq",
                    "8192", "--dtype", "bf16", "--layers", str(options.layers), "--train",
                    "--quiet", "-o", graph], check=True)
    opt = build / "bin" / "tessera-opt"
    subprocess.run([opt, graph, "--compile-to=train mesh=dp=128,tp=8 strategy=dp,tp,zero=1",
                    "--emit-bytecode", "-o", step], check=True)
    read = ["taskset", "-c", "0", opt, step, "--emit-bytecode", "--mlir-disable-threading"]
    times = {"floor": [], "partitioner": [], "phases": []}
    for _ in range(options.runs):
        times["floor"].append(seconds(read))
        times["partitioner"].append(seconds([*read, "--tessera-partitioner"]))
        times["phases"].append(seconds([*read, "--tessera-propagate", "--tessera-partition"]))
    floor, partitioner, phases = (statistics.median(times[name]) for name in times)
    print(json.dumps({
        "bench": "partitioner", "model": "llama3-405b", "layers": options.layers,
        "mesh": "dp=128,tp=8", "partitioner_seconds": round(partitioner - floor, 4),
        "phases_seconds": round(phases - floor, 4), "floor_seconds": round(floor, 4),
        "ratio": round((partitioner - floor) / (phases - floor), 3), "runs": options.runs}))


if __name__ == "__main__":
    main()
