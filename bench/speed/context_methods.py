"""Processor time of the methods of context parallelism, in both orders of the sequence.

    python3 bench/speed/context_methods.py --build build-release

Trains tiny-llama on one row of 2,048 tokens with cp=2 and one thread per rank. Prints a JSON line
for each method and order: the CPU seconds of each rank without the first step, the median of
--rounds rounds that alternate. "ratio" is the time of zig-zag's busiest rank over plain's. "floor"
is the ratio if all time were spent on pairs of queries and keys: each device has half of them,
while in plain order the second device has three quarters. all_to_all shards heads, so its order is
plain."""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
METHODS = ("all_gather", "ring", "all_to_all")
ORDERS = ("plain", "auto")


def cpu_seconds(program, steps):
    """CPU seconds of each rank for `steps` steps."""
    done = subprocess.run([program, "--data", ROOT / "README.md", "--threads", "1", "--quiet",
                           "--report", "json", "--steps", str(steps)],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])["cpu_seconds"]


def measure(program, steps):
    return [all_ - first for all_, first in zip(cpu_seconds(program, steps + 1),
                                                cpu_seconds(program, 1))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seq", type=int, default=2048)
    options = parser.parse_args()
    tessera = (ROOT / options.build).resolve() / "bin" / "tessera"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([tessera, "model", ROOT / "share/models/tiny-llama.json", "--train",
                        "--batch", "1", "--seq", str(options.seq), "--quiet", "-o",
                        folder / "g.mlir"], check=True)
        programs = {}
        for method in METHODS:
            for order in ORDERS:
                programs[method, order] = folder / f"{method}-{order}"
                subprocess.run([tessera, "compile", folder / "g.mlir", "--mesh", "cp=2",
                                "--strategy", f"cp={method}", "--sequence-order", order,
                                "--quiet", "-o", programs[method, order]], check=True)
        seconds = {key: [] for key in programs}
        for _ in range(options.rounds):
            for key, program in programs.items():
                seconds[key].append(measure(program, options.steps))
    for method in METHODS:
        # The round whose busiest rank has the median time.
        median = {order: sorted(seconds[method, order], key=max)[options.rounds // 2]
                  for order in ORDERS}
        ratios = [max(a) / max(b) for a, b in zip(seconds[method, "auto"],
                                                  seconds[method, "plain"])]
        print(json.dumps({"bench": "context_methods", "method": method, "cp": 2,
                          "seq": options.seq, "steps": options.steps,
                          "plain": [round(x, 3) for x in median["plain"]],
                          "zigzag": [round(x, 3) for x in median["auto"]],
                          "ratio": round(statistics.median(ratios), 4),
                          "floor": 1.0 if method == "all_to_all" else 0.667,
                          "rounds": options.rounds}), flush=True)


if __name__ == "__main__":
    main()
