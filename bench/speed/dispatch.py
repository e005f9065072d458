"""Time of a training step with experts on this machine, by how tokens are sent.

Each of the ranks holds a part of the experts. The same program is compiled with `--dispatch peers`
and `--dispatch dense`; rounds of both alternate, so that other load on the machine affects both.
Prints one JSON line: median processor time of a step of all ranks, the median of the rounds' ratios,
and the bytes of tokens that the busiest rank receives in a step."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "compare"))
import host_forward  # noqa: E402

TOKENS = {"dispatch", "combine", "all_gather", "reduce_scatter"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--config", default="share/models/tiny-mixtral.json")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=4, help="steps per round")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    folder = build / "bench"
    folder.mkdir(exist_ok=True)
    config = ROOT / options.config
    graph = folder / "dispatch.mlir"
    subprocess.run([build / "bin" / "tessera", "model", config, "--batch", str(options.batch),
                    "--seq", str(options.seq), "--train", "--quiet", "-o", graph], check=True)
    programs, cpu, received = {}, {}, {}
    for mode in ("dense", "peers"):
        programs[mode] = host_forward.compile_program(
            build, graph, f"dispatch_{mode}", "--mesh", f"dp={options.ranks}", "--strategy",
            f"dp,ep={options.ranks}", f"--dispatch={mode}")
        cpu[mode] = []
    for number in range(options.rounds):
        # Each program goes first in every other round.
        for mode in (("dense", "peers") if number % 2 else ("peers", "dense")):
            result = host_forward.run_program(programs[mode], options.ranks, 1, options.steps)
            cpu[mode].append(statistics.median(result["step_cpu_seconds"][1:]))
            received[mode] = sum(entry["bytes_received_per_rank"]
                                 for entry in result["collectives"] if entry["op"] in TOKENS)
    steps = options.steps + 1
    print(json.dumps({
        "bench": "dispatch", "model": config.stem, "batch": options.batch, "seq": options.seq,
        "ranks": options.ranks,
        "dense_cpu_ms": round(statistics.median(cpu["dense"]) * 1e3, 2),
        "peers_cpu_ms": round(statistics.median(cpu["peers"]) * 1e3, 2),
        "ratio": round(statistics.median(p / d for p, d in zip(cpu["peers"], cpu["dense"])), 3),
        "dense_kb": round(received["dense"] / steps / 1e3, 1),
        "peers_kb": round(received["peers"] / steps / 1e3, 1),
        "rounds": options.rounds, "steps": options.steps}), flush=True)


if __name__ == "__main__":
    main()
