"""Costs of pipelines: lists, CPU time by schedule, a step against PyTorch, partitioning.

Prints one JSON line per figure:
* `rehearsal`: programs of all schedules run by `--rehearse`, with tasks of 20 ms for a p-th of
  the model and transfers of 0 and 5 ms, against the simulation of their lists.
* `step`: GPT-2 124M, 8 x 256 tokens in 8 micro-batches, pp=2, one thread per rank. CPU seconds of
  all ranks for a step of each schedule over those for 1f1b, which does the same work; and the
  program on one rank. Rounds of all alternate, so that other load on the machine affects all.
  Wall time is given only if each rank has its own processor.
* `torch`: a step with 1f1b in f32, against torch.distributed.pipelining (Schedule1F1B, gloo),
  whose split is the best of several; two processes each, with one thread each. PyTorch as in
  host_forward.py.
* `partition`: llama3-405b on pp=16,dp=8,tp=8, interleaved with 8 chunks per rank, from the graph
  to partitioned functions, including the proof, with 16 and with 512 micro-batches; and the same
  mesh without pp."""

import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess

import host_forward
import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make(build, name, config, *flags):
    graph = build / "bench" / f"{name}.mlir"
    subprocess.run([build / "bin" / "tessera", "model", ROOT / "share" / "models" / config,
                    "--train", "--quiet", *map(str, flags), "-o", graph], check=True)
    return graph


def compile_step(build, graph, name, *flags):
    program = build / "bench" / name
    subprocess.run([build / "bin" / "tessera", "compile", graph, "--quiet", *flags, "-o", program],
                   check=True)
    return program


# Schedules with their flags for any number of pp ranks.
SCHEDULES = {name: [] for name in ("gpipe", "1f1b", "zb-h1", "zb-h2", "zb-1p", "zb-2p", "zb-v",
                                   "dualpipe", "dualpipe-v")}
SCHEDULES["interleaved"] = ["--vpp", "2"]
TASK, LINKS, SIZES = 0.02, (0, 0.005), ((4, 8), (8, 16))


def read_lists(text, micro_batches):
    """Converts a program in phase partition to the input of pipeline_makespan."""
    paths, = set(re.findall(r"dist\.pipeline paths (\[\[.*?\]\])", text))
    lists = re.findall(r'list "([^"]*)"', text)
    lines = [" ".join(map(str, path)) for path in json.loads(paths)]
    return "\n".join([str(micro_batches), *lines, "", *lists]) + "\n"


def rehearse(program, link):
    """Seconds of a rehearsed step."""
    times = f"F={TASK * 1e3},B={TASK * 1e3},W={TASK * 1e3},link={link * 1e3}"
    output = subprocess.run([program, "--rehearse", times, "--log=jsonl"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    line, = [e for e in map(json.loads, output.splitlines()) if e.get("event") == "pipeline"]
    return line["seconds_measured"]


def measure_rehearsal(build, options):
    subprocess.run(["ninja", "-C", build, "pipeline_makespan"], check=True,
                   stdout=subprocess.DEVNULL)
    for ranks, micro_batches in SIZES:
        graph = make(build, "pipeline_rehearsal", "tiny-llama.json", "--batch", micro_batches,
                     "--seq", 8, "--layers", 2 * ranks)
        for schedule, more in SCHEDULES.items():
            flags = ["--mesh", f"pp={ranks}", "--strategy", "pp", "--schedule", schedule, *more,
                     "--micro-batches", str(micro_batches)]
            program = compile_step(build, graph, "pipeline_rehearsed", *flags)
            split = build / "bench" / "pipeline_split.mlir"
            subprocess.run([build / "bin" / "tessera", "compile", graph, "--quiet", *flags,
                            "--compile-to=partition", "-o", split], check=True)
            lists = read_lists(split.read_text(), micro_batches)
            for link in LINKS:
                tool = [build / "bin" / "pipeline_makespan", *map(str, [TASK] * 3 + [link])]
                simulated = json.loads(subprocess.run(tool, input=lists, check=True, text=True,
                                                      stdout=subprocess.PIPE).stdout)["seconds"]
                seconds = statistics.median(rehearse(program, link) for _ in range(options.rounds))
                print(json.dumps({"bench": "pipeline", "row": "rehearsal", "schedule": schedule,
                                  "pp": ranks, "micro_batches": micro_batches,
                                  "link_ms": link * 1e3, "seconds": round(seconds, 4),
                                  "simulated_seconds": round(simulated, 4),
                                  "ratio": round(seconds / simulated, 4),
                                  "runs": options.rounds}), flush=True)


def measure_step(build, options):
    graph = make(build, "pipeline_gpt2", "gpt2.json", "--batch", 8, "--seq", 256)
    common = ["--micro-batches", "8"]
    programs = {"one rank": (compile_step(build, graph, "pipeline_one", *common), 1)}
    for schedule in options.schedules.split(","):
        flags = [*common, "--mesh", "pp=2", "--strategy", "pp", "--schedule", schedule]
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


def run_torch(python, split, steps):
    """The report of a run whose first stage has `split` blocks."""
    output = subprocess.run(
        [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
         ROOT / "bench" / "compare" / "pipeline_peer.py", ROOT / "share" / "models" / "gpt2.json",
         *map(str, (8, 256, 8, split, steps))],
        check=True, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
    return json.loads(output)


def measure_torch(build, options):
    python = peer.torch_python(options.torch_python)
    graph = make(build, "pipeline_gpt2", "gpt2.json", "--batch", 8, "--seq", 256)
    program = compile_step(build, graph, "pipeline_1f1b", "--micro-batches", "8", "--mesh", "pp=2",
                           "--strategy", "pp", "--schedule", "1f1b")
    splits = {split: run_torch(python, split, 1)["seconds"] for split in (6, 7, 8, 9)}
    best = min(splits, key=lambda split: min(splits[split]))
    ours, theirs = [], []
    for _ in range(options.rounds):
        report = host_forward.run_program(program, 2, 1, options.steps)
        ours += report["step_seconds"][1:]
        report = run_torch(python, best, options.steps)
        theirs += report["seconds"]
    print(json.dumps({"bench": "pipeline", "row": "torch", "model": "gpt2", "schedule": "1f1b",
                      "pp": 2, "batch": 8, "seq": 256, "micro_batches": 8, "threads": 1,
                      "tessera_seconds": round(statistics.median(ours), 3),
                      "torch": report["version"], "torch_blocks": [best, 12 - best],
                      "torch_seconds": round(statistics.median(theirs), 3),
                      "ratio": round(statistics.median(ours) / statistics.median(theirs), 3),
                      "runs": len(ours)}), flush=True)


def measure_partition(build, options):
    for micro in (16, 512):
        # One sequence for each of dp's devices in each micro-batch.
        graph = make(build, "pipeline_405b", "llama3-405b.json", "--batch", 8 * micro,
                     "--seq", 8192)
        cases = {"pp=16,dp=8,tp=8": ["--strategy", "pp,dp,tp,sp,zero=1", "--schedule",
                                     "interleaved", "--vpp", "8"],
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
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--torch-python", help="a Python with PyTorch")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    (build / "bench").mkdir(exist_ok=True)
    for row in options.rows.split(","):
        ROWS[row](build, options)


ROWS = {"rehearsal": measure_rehearsal, "step": measure_step, "torch": measure_torch,
        "partition": measure_partition}

if __name__ == "__main__":
    main()
