"""What pipelines cost: CPU time of a step by schedule, and time to split large models.

One JSON line a row:
* `step`: GPT-2 124M, 8 x 256 tokens in 8 micro-batches, pp=2, one thread a rank. CPU
  seconds of all ranks for a step of each schedule over those of 1f1b, which does the
  same work; the program on one rank stands beside it. Rounds of all alternate, so that
  other load on the machine meets all. Wall time is given only where each rank has a
  processor of its own.
* `partition`: llama3-405b on pp=16,dp=8,tp=8, interleaved with 8 chunks per rank, from the
  graph to partitioned functions, proof included, with 16 and with 512 micro-batches; and
  the same mesh without pp.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess

import host_forward

ROOT = pathlib.Path(__file__).resolve().parent.parent


def make(build, name, config, *flags):
    graph = build / "bench" / f"{name}.mlir"
    subprocess.run([build / "bin" / "tessera", "model", ROOT / "share" / "models" / config,
                    "--train", "--quiet", *map(str, flags), "-o", graph], check=True)
    return graph


def compile_step(build, graph, name, *flags):
    program = build / "bench" / name
    subprocess.run([build / "bin" / "tessera", "compile", graph, "--quiet",
                    "--micro-batches", "8", *flags, "-o", program], check=True)
    return program


def measure_step(build, options):
    graph = make(build, "pipeline_gpt2", "gpt2.json", "--batch", 8, "--seq", 256)
    programs = {"one rank": (compile_step(build, graph, "pipeline_one"), 1)}
    for schedule in options.schedules.split(","):
        flags = ["--mesh", "pp=2", "--strategy", "pp", "--schedule", schedule]
        programs[schedule] = (compile_step(build, graph, f"pipeline_{schedule}", *flags), 2)
    cpu = {name: [] for name in programs}
    wall = {name: [] for name in programs}
    for _ in range(options.rounds):
        for name, (program, ranks) in programs.items():
            report = host_forward.run_program(program, ranks, 1, options.steps)
            cpu[name].append(sum(report["cpu_seconds"]) / len(report["step_seconds"]))
            wall[name] += report["step_seconds"][1:]
    base = statistics.median(cpu["1f1b"])
    for name in programs:
        row = {"bench": "pipeline", "row": "step", "model": "gpt2", "schedule": name,
               "cpu_seconds": round(statistics.median(cpu[name]), 3),
               "cpu_over_1f1b": round(statistics.median(cpu[name]) / base, 3),
               "rounds": options.rounds}
        if (os.cpu_count() or 1) >= 2:
            row["ms"] = round(statistics.median(wall[name]) * 1e3, 1)
        print(json.dumps(row), flush=True)


def measure_partition(build, options):
    for micro in (16, 512):
        # A sequence for each of dp's devices in each micro-batch.
        graph = make(build, "pipeline_405b", "llama3-405b.json", "--batch", 8 * micro,
                     "--seq", 8192)
        cases = {"pp=16,dp=8,tp=8": ["--strategy", "pp,dp,tp,sp,zero=1", "--schedule",
                                     "interleaved", "--vpp", "8", "--stage-layers", "even"],
                 "dp=8,tp=8": ["--strategy", "dp,tp,sp,zero=1"]}
        for mesh, flags in cases.items():
            seconds = []
            for _ in range(options.rounds):
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                subprocess.run([build / "bin" / "tessera", "compile", graph, "--quiet",
                                "--micro-batches", str(micro), "--mesh", mesh, *flags,
                                "--compile-to=partition", "-o", os.devnull], check=True)
                seconds.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
            print(json.dumps({"bench": "pipeline", "row": "partition", "model": "llama3-405b",
                              "mesh": mesh, "micro_batches": micro,
                              "cpu_seconds": round(statistics.median(seconds), 2)}),
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3, help="steps per round")
    parser.add_argument("--schedules", default="1f1b,zb-h1", help="1f1b is among them")
    parser.add_argument("--rows", default="step,partition")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    (build / "bench").mkdir(exist_ok=True)
    if "step" in options.rows.split(","):
        measure_step(build, options)
    if "partition" in options.rows.split(","):
        measure_partition(build, options)


if __name__ == "__main__":
    main()
