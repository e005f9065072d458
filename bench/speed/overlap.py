"""Time of a training step on this machine with overlap and without.

Runs two processes, data parallel and with zero=3: the same program compiled with `--overlap=on` and
`--overlap=off`. Rounds of both alternate, so that other load on the machine affects both. Each
round is a pair, and the figure is the median of the pairs' differences. Prints one JSON line per
strategy."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "compare"))
import host_forward  # noqa: E402


def report(path):
    """Bytes that a device receives in a step, and the exposed bytes among them."""
    total = json.loads(path.read_text())["total"]
    return total["bytes"], total["exposed_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--config", default="share/models/gpt2.json")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of a rank")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=4, help="steps per round")
    parser.add_argument("--strategies", nargs="*", default=["dp", "dp,zero=3"])
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    folder = build / "bench"
    folder.mkdir(exist_ok=True)
    config = ROOT / options.config
    graph = folder / "overlap.mlir"
    subprocess.run([build / "bin" / "tessera", "model", config, "--batch", str(options.batch),
                    "--seq", str(options.seq), "--train", "--quiet", "-o", graph], check=True)
    for strategy in options.strategies:
        programs, exposed = {}, {}
        for overlap in ("off", "on"):
            file = folder / f"overlap_{overlap}.json"
            programs[overlap] = host_forward.compile_program(
                build, graph, f"overlap_{overlap}", "--mesh", f"dp={options.ranks}",
                "--strategy", strategy, f"--overlap={overlap}", "--dist-report", file)
            received, exposed[overlap] = report(file)
        seconds, cpu = {"off": [], "on": []}, {"off": [], "on": []}
        for number in range(options.rounds):
            # Each program goes first in every other round.
            for overlap in (("off", "on") if number % 2 else ("on", "off")):
                result = host_forward.run_program(programs[overlap], options.ranks,
                                                  options.threads, options.steps)
                seconds[overlap].append(statistics.median(result["step_seconds"][1:]))
                cpu[overlap].append(sum(result["cpu_seconds"]) / (options.steps + 1))
        gains = [off - on for off, on in zip(seconds["off"], seconds["on"])]
        median = {k: statistics.median(v) for k, v in seconds.items()}
        quartiles = statistics.quantiles(gains, n=4)
        print(json.dumps({
            "bench": "overlap", "model": config.stem, "batch": options.batch,
            "seq": options.seq, "ranks": options.ranks, "threads": options.threads,
            "strategy": strategy, "received_mb": round(received / 1e6, 1),
            "exposed_mb": round(exposed["on"] / 1e6, 1),
            "off_ms": round(median["off"] * 1e3, 1), "on_ms": round(median["on"] * 1e3, 1),
            "gain_ms": round(statistics.median(gains) * 1e3, 1),
            "gain_quartiles_ms": [round(quartiles[0] * 1e3, 1), round(quartiles[2] * 1e3, 1)],
            "gain": round(statistics.median(gains) / median["off"], 4),
            "off_cpu_ms": round(statistics.median(cpu["off"]) * 1e3, 1),
            "on_cpu_ms": round(statistics.median(cpu["on"]) * 1e3, 1),
            "rounds": options.rounds, "steps": options.steps}), flush=True)


if __name__ == "__main__":
    main()
