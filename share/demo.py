"""The main job, end to end: GPT-2 124M on four ranks of this machine.

Builds the forward graph at its real dimensions on real text, partitions it over a
mesh, compiles it to a program, runs that on four ranks, compares the logits with the
one-rank program's, and prints a table. Then a small GPT-2 is trained.
Needs the built tools only.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import time

import demo_training

ROOT = pathlib.Path(__file__).resolve().parent.parent


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def run(*command, capture=False):
    """Runs a command whose progress goes to our standard error."""
    result = subprocess.run(
        [str(c) for c in command],
        stdout=subprocess.PIPE if capture else sys.stderr,
        text=True,
    )
    if result.returncode:
        sys.exit(f"demo: {command[0]} failed with exit code {result.returncode}")
    return result.stdout


def compile_and_run(tessera, graph, folder, name, flags, ranks, run_flags):
    """One strategy: its report, and the seconds that compiling it took."""
    program = folder / name
    say(f"compiling {name}: {' '.join(flags) or 'one rank'}")
    start = time.monotonic()
    run(tessera, "compile", graph, *flags, "-o", program)
    seconds = time.monotonic() - start
    say(f"running {name} on {ranks} rank{'s' if ranks > 1 else ''}")
    report = run(tessera, "run", program, "--ranks", ranks, *run_flags,
                 "--report", "json", capture=True)
    return json.loads(report.splitlines()[-1]), seconds


def collectives(report):
    """`2 all_gather, 1 all_reduce` in one step, and the bytes that a rank receives."""
    calls, received = {}, 0
    for entry in report["collectives"]:
        calls[entry["op"]] = calls.get(entry["op"], 0) + entry["calls"]
        received += entry["bytes_received_per_rank"]
    steps = report["steps"]
    text = ", ".join(f"{n // steps} {op}" for op, n in sorted(calls.items()))
    return text or "none", received // steps


def print_table(header, rows):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * w for w in widths], *rows]:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--model", default="gpt2", help="a model of share/models")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--text", default=ROOT / "LICENSE", help="text to read")
    options = parser.parse_args()

    build = (ROOT / options.build).resolve()
    tessera = build / "bin" / "tessera"
    folder = build / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    graph = folder / "graph.mlir"

    say(f"building the graph of {options.model}")
    run(tessera, "model", ROOT / "share" / "models" / f"{options.model}.json",
        "--batch", options.batch, "--seq", options.seq, "-o", graph)

    data = ["--data", options.text, "--steps", 3]
    logits = folder / "logits"
    one, one_compile = compile_and_run(
        tessera, graph, folder, "one", [], 1, [*data, "--save-outputs", logits])
    strategy = ["--mesh", "dp=2,tp=2", "--strategy", "dp,tp,sp"]
    four, four_compile = compile_and_run(
        tessera, graph, folder, "four", strategy, 4, [*data, "--compare", logits])

    rows = []
    for label, report, seconds in [("one rank", one, one_compile),
                                   ("dp=2,tp=2 with sp", four, four_compile)]:
        kinds, received = collectives(report)
        step = sorted(report["step_seconds"])[len(report["step_seconds"]) // 2]
        differences = report.get("compared") or []
        worst = max((c["max_difference"] / c["max_magnitude"] for c in differences),
                    default=None)
        rows.append([
            label, str(report["ranks"]), kinds, f"{received / 1e6:.1f} MB",
            f"{report['arena_bytes'] / 1e6:.0f} MB",
            "-" if worst is None else f"{worst:.1e}",
            f"{seconds:.1f} s", f"{step * 1e3:.0f} ms",
        ])
    print(f"\n{options.model}, forward, batch {options.batch}, "
          f"{options.seq} tokens each, f32, text of {pathlib.Path(options.text).name}\n")
    print_table(["strategy", "ranks", "collectives per step", "received per rank",
                 "memory per rank", "largest difference", "compile", "step"], rows)
    print("\nlargest difference: max|a-b| / max|b| of the logits against one rank")
    if worst is None or not worst <= 1e-5:
        sys.exit("demo: the logits differ by more than 1e-5 of the largest")
    demo_training.train(tessera, folder)


if __name__ == "__main__":
    main()
