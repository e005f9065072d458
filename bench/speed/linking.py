"""Seconds that linking takes, and of a step of what is linked, by the linker in the tool and by a
C++ compiler driver.

A figure is the ratio of two medians of alternating rounds: the tool's linker over the driver. With
--portable TOOL, also seconds until `tessera --version` is over, of the portable tool of the wheel
over the build's, which loads MLIR's libraries."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = {"tiny-gpt2": ["--batch", "4", "--seq", "32"], "gpt2": ["--batch", "2", "--seq", "64"]}
OPTIONS = ["--mesh", "dp=2", "--strategy", "dp,zero=1"]


def link_seconds(command):
    """Seconds of the phase `link`, as the compiler prints them."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(re.search(r"^ *link +([0-9.]+)", done.stderr + done.stdout, re.MULTILINE)[1])


def step_seconds(program, steps):
    done = subprocess.run([program, "--random-data", "--steps", str(steps), "--quiet",
                           "--log=jsonl"], check=True, capture_output=True, text=True)
    records = map(json.loads, done.stdout.splitlines())
    return statistics.median([record["ms"] / 1000 for record in records if "loss" in record][1:])


def alternate(acts, rounds):
    """Medians of what acts return, by name."""
    found = {name: [] for name in acts}
    for _ in range(rounds):
        for name, act in acts.items():
            found[name].append(act())
    return {name: statistics.median(values) for name, values in found.items()}


def report(what, case, medians, ours, peer):
    print(json.dumps({"bench": "linking", "what": what, "case": case,
                      **{name: round(value, 5) for name, value in medians.items()},
                      "ratio": round(medians[ours] / medians[peer], 3)}), flush=True)


def measure(build, model, folder, options):
    tool = build / "bin" / "tessera"
    graph = folder / f"{model}.mlir"
    subprocess.run([tool, "model", model, *MODELS[model], "--train", "--quiet", "-o", graph],
                   check=True)
    programs = {"tool": folder / f"{model}-tool", "driver": folder / f"{model}-driver"}
    driven = ["--runtime-library", build / "lib" / "libtessera_rt_host.a"]
    commands = {name: [tool, "compile", graph, *OPTIONS, *(driven if name == "driver" else []),
                       "-o", program] for name, program in programs.items()}
    report("link", model, alternate({name: lambda command=command: link_seconds(command)
                                     for name, command in commands.items()}, options.rounds),
           "tool", "driver")
    steps = 200 if model == "tiny-gpt2" else 8
    report("step", model, alternate({name: lambda program=program: step_seconds(program, steps)
                                     for name, program in programs.items()}, options.rounds),
           "tool", "driver")


def start_seconds(tool):
    begin = time.perf_counter()
    subprocess.run([tool, "--version"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--portable", help="the portable tool")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            measure(build, model, pathlib.Path(folder), options)
    if options.portable:
        tools = {"portable": options.portable, "shared": build / "bin" / "tessera"}
        report("start", "--version", alternate({name: lambda tool=tool: start_seconds(tool)
                                                for name, tool in tools.items()},
                                               3 * options.rounds), "portable", "shared")


if __name__ == "__main__":
    main()
