"""Time of a GPT-2 forward pass on this machine: compiled program against PyTorch.

Prints one JSON line per figure: the median step of the program on one rank and of PyTorch eager,
and the CPU time of four ranks and of one. Rounds of both alternate, so that other load on the
machine affects both.

PyTorch is in its own environment: --torch-python or TESSERA_TORCH_PYTHON names its Python; without
either one is installed in .env/torch."""

import argparse
import json
import pathlib
import statistics
import subprocess

import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Appended to peer.GPT2.
TORCH = "measure(torch.inference_mode()(logits))"


def compile_program(build, graph, name, *options):
    program = build / "bench" / name
    subprocess.run([build / "bin" / "tessera", "compile", graph, "--quiet", "-o", program,
                    *options], check=True)
    return program


def run_program(program, ranks, threads, steps):
    """The report of a run. It has one more step, the first one, which touches all memory."""
    report = subprocess.run(
        [program, "--ranks", str(ranks), "--threads", str(threads), "--steps", str(steps + 1),
         "--random-data", "--quiet", "--report", "json"],
        check=True, stdout=subprocess.PIPE).stdout
    return json.loads(report)


def read_options(doc, batch, steps):
    """The options of a script that times GPT-2 against PyTorch, with these defaults."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--config", default="share/models/gpt2.json")
    parser.add_argument("--batch", type=int, default=batch)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=steps, help="steps per round")
    parser.add_argument("--torch-python", help="a Python with PyTorch")
    parser.add_argument("--no-torch", action="store_true", help="only the compiled programs")
    options = parser.parse_args()
    options.build = (ROOT / options.build).resolve()
    options.config = ROOT / options.config
    (options.build / "bench").mkdir(exist_ok=True)
    return options


def make_graph(options, name, *more):
    """Writes the graph of the options' model to a file in the build folder."""
    graph = options.build / "bench" / f"{name}.mlir"
    subprocess.run([options.build / "bin" / "tessera", "model", options.config,
                    "--batch", str(options.batch), "--seq", str(options.seq), *more, "--quiet",
                    "-o", graph], check=True)
    return graph


def main():
    options = read_options(__doc__, batch=4, steps=5)
    build, config = options.build, options.config
    graph = make_graph(options, "host_forward")
    one = compile_program(build, graph, "host_forward_1")
    four = compile_program(build, graph, "host_forward_4", "--mesh", "dp=2,tp=2",
                           "--strategy", "dp,tp,sp")
    case = {"model": config.stem, "batch": options.batch, "seq": options.seq, "dtype": "f32"}

    python = None if options.no_torch else peer.torch_python(options.torch_python)
    ours, theirs, version = [], [], None
    our_cpu, their_cpu = [], []
    for _ in range(options.rounds):
        report = run_program(one, 1, options.threads, options.steps)
        ours += report["step_seconds"][1:]
        our_cpu.append(sum(report["cpu_seconds"]) / len(report["step_seconds"]))
        if python:
            report = peer.run_gpt2(python, TORCH, config, options)
            version = report["version"]
            theirs += report["seconds"]
            their_cpu.append(report["cpu"])
    line = {"bench": "host_forward", **case, "threads": options.threads,
            "tessera_ms": round(statistics.median(ours) * 1e3, 1),
            "tessera_cpu_seconds": round(statistics.median(our_cpu), 3)}
    if theirs:
        line.update({"torch": version,
                     "torch_ms": round(statistics.median(theirs) * 1e3, 1),
                     "torch_cpu_seconds": round(statistics.median(their_cpu), 3),
                     "ratio": round(statistics.median(ours) / statistics.median(theirs), 3)})
    print(json.dumps({**line, "runs": len(ours)}), flush=True)

    cpu = {1: [], 4: []}
    for _ in range(options.rounds):
        for ranks, program, threads in ((1, one, options.threads), (4, four, 1)):
            report = run_program(program, ranks, threads, options.steps)
            cpu[ranks].append(sum(report["cpu_seconds"]) / len(report["step_seconds"]))
    medians = {ranks: statistics.median(seconds) for ranks, seconds in cpu.items()}
    print(json.dumps({"bench": "host_forward_ranks", **case, "mesh": "dp=2,tp=2",
                      "strategy": "dp,tp,sp", "cpu_seconds_1_rank": round(medians[1], 3),
                      "cpu_seconds_4_ranks": round(medians[4], 3),
                      "ratio": round(medians[4] / medians[1], 3), "runs": options.rounds}))


if __name__ == "__main__":
    main()
