"""Time of a GPT-2 forward pass on this machine: compiled program against PyTorch.

Prints one JSON line a figure: the median step of the program of one rank beside
that of PyTorch eager, and the CPU time of four ranks beside that of one. Rounds
of both alternate, so that other load on the machine meets both.

PyTorch lives in an environment of its own: --torch-python names its Python, or
TESSERA_TORCH_PYTHON; without either one is made in .env/torch.
"""

import argparse
import json
import pathlib
import statistics
import subprocess

import peer

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Run by the other Python: prints the seconds of each step as a JSON list.
TORCH = r"""
import json, math, sys, time, torch
import torch.nn.functional as F
c = json.load(open(sys.argv[1]))
batch, seq, steps, threads = map(int, sys.argv[2:6])
torch.set_num_threads(threads)
torch.manual_seed(0)
d, heads, layers, vocab = c["n_embd"], c["n_head"], c["n_layer"], c["vocab_size"]
eps = c.get("layer_norm_epsilon", 1e-5)
p = lambda *s: torch.randn(*s) * 0.02
wte, wpe = p(vocab, d), p(c["n_positions"], d)
one, zero = torch.ones(d), torch.zeros(d)
blocks = [(p(3 * d, d), p(3 * d), p(d, d), p(d), p(4 * d, d), p(4 * d), p(d, 4 * d), p(d))
          for _ in range(layers)]
tokens = torch.randint(0, vocab, (batch, seq))
@torch.inference_mode()
def forward():
    x = wte[tokens] + wpe[:seq]
    for wqkv, bqkv, wo, bo, w1, b1, w2, b2 in blocks:
        h = F.layer_norm(x, (d,), one, zero, eps)
        qkv = F.linear(h, wqkv, bqkv).view(batch, seq, 3, heads, d // heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(o.transpose(1, 2).reshape(batch, seq, d), wo, bo)
        h = F.layer_norm(x, (d,), one, zero, eps)
        x = x + F.linear(F.gelu(F.linear(h, w1, b1), approximate="tanh"), w2, b2)
    return F.linear(F.layer_norm(x, (d,), one, zero, eps), wte)
forward()
times, cpu = [], time.process_time()
for i in range(steps):
    begin = time.perf_counter()
    forward()
    times.append(time.perf_counter() - begin)
cpu = (time.process_time() - cpu) / steps
print(json.dumps({"version": torch.__version__, "seconds": times, "cpu": cpu}))
"""


def compile_program(build, graph, name, *options):
    program = build / "bench" / name
    subprocess.run([build / "bin" / "tessera", "compile", graph, "--quiet", "-o", program,
                    *options], check=True)
    return program


def run_program(program, ranks, threads, steps):
    """The report of a run; the first step, which touches all memory, is extra."""
    report = subprocess.run(
        [program, "--ranks", str(ranks), "--threads", str(threads), "--steps", str(steps + 1),
         "--random-data", "--quiet", "--report", "json"],
        check=True, stdout=subprocess.PIPE).stdout
    return json.loads(report)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--config", default="share/models/gpt2.json")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5, help="steps a round")
    parser.add_argument("--torch-python", help="a Python with PyTorch")
    parser.add_argument("--no-torch", action="store_true", help="only the compiled programs")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    (build / "bench").mkdir(exist_ok=True)
    config = ROOT / options.config
    graph = build / "bench" / "host_forward.mlir"
    subprocess.run([build / "bin" / "tessera", "model", config, "--batch", str(options.batch),
                    "--seq", str(options.seq), "--quiet", "-o", graph], check=True)
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
            output = subprocess.run(
                [python, "-c", TORCH, config, str(options.batch), str(options.seq),
                 str(options.steps), str(options.threads)],
                check=True, stdout=subprocess.PIPE).stdout
            report = json.loads(output)
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
