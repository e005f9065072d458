"""Time of a GPT-2 training step on this machine: compiled program against PyTorch.

Forward, backward, clipping by the norm of all gradients and AdamW, on one rank.
Prints one JSON line: the median step of the program beside that of PyTorch eager,
and the CPU time of both. Rounds of both alternate, so that other load on the
machine meets both.

PyTorch lives in an environment of its own: --torch-python names its Python, or
TESSERA_TORCH_PYTHON; without either one is made in .env/torch.
"""

import argparse
import json
import pathlib
import statistics
import subprocess

import host_forward
import peer

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Run by the other Python: prints the seconds of each step as a JSON list.
TORCH = r"""
import json, sys, time, torch
import torch.nn.functional as F
c = json.load(open(sys.argv[1]))
batch, seq, steps, threads = map(int, sys.argv[2:6])
torch.set_num_threads(threads)
torch.manual_seed(0)
d, heads, layers, vocab = c["n_embd"], c["n_head"], c["n_layer"], c["vocab_size"]
eps = c.get("layer_norm_epsilon", 1e-5)
parameter = torch.nn.Parameter
p = lambda *s: parameter(torch.randn(*s) * 0.02)
zeros, ones = (lambda n: parameter(torch.zeros(n))), (lambda n: parameter(torch.ones(n)))
wte, wpe, gain, shift = p(vocab, d), p(c["n_positions"], d), ones(d), zeros(d)
blocks = [(ones(d), zeros(d), p(3 * d, d), zeros(3 * d), p(d, d), zeros(d), ones(d), zeros(d),
           p(4 * d, d), zeros(4 * d), p(d, 4 * d), zeros(d)) for _ in range(layers)]
parameters = [wte, wpe, gain, shift] + [x for block in blocks for x in block]
optimizer = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.95), eps=1e-8,
                              weight_decay=0.1)
tokens = torch.randint(0, vocab, (batch, seq))
labels = torch.randint(0, vocab, (batch, seq))
def step():
    optimizer.zero_grad()
    x = wte[tokens] + wpe[:seq]
    for g1, s1, wqkv, bqkv, wo, bo, g2, s2, w1, b1, w2, b2 in blocks:
        h = F.layer_norm(x, (d,), g1, s1, eps)
        qkv = F.linear(h, wqkv, bqkv).view(batch, seq, 3, heads, d // heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(o.transpose(1, 2).reshape(batch, seq, d), wo, bo)
        h = F.layer_norm(x, (d,), g2, s2, eps)
        x = x + F.linear(F.gelu(F.linear(h, w1, b1), approximate="tanh"), w2, b2)
    logits = F.linear(F.layer_norm(x, (d,), gain, shift, eps), wte)
    F.cross_entropy(logits.view(-1, vocab), labels.view(-1)).backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
step()
times, cpu = [], time.process_time()
for i in range(steps):
    begin = time.perf_counter()
    step()
    times.append(time.perf_counter() - begin)
cpu = (time.process_time() - cpu) / steps
print(json.dumps({"version": torch.__version__, "seconds": times, "cpu": cpu}))
"""


def count_operations(config, batch, seq):
    """Multiplications and additions of a step's matrix products, attention by a
    causal mask counted half: forward, and twice that backward."""
    c = json.loads(config.read_text())
    d, layers, vocab = c["n_embd"], c["n_layer"], c["vocab_size"]
    tokens = batch * seq
    products = 2 * tokens * (12 * layers * d * d + vocab * d)
    attention = 2 * tokens * seq * d * layers
    # Backward makes the scores again.
    return 3 * products + attention + 2.5 * attention


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--config", default="share/models/gpt2.json")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3, help="steps a round")
    parser.add_argument("--torch-python", help="a Python with PyTorch")
    parser.add_argument("--no-torch", action="store_true", help="only the compiled program")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    (build / "bench").mkdir(exist_ok=True)
    config = ROOT / options.config
    graph = build / "bench" / "train_step.mlir"
    subprocess.run([build / "bin" / "tessera", "model", config, "--batch", str(options.batch),
                    "--seq", str(options.seq), "--train", "--quiet", "-o", graph], check=True)
    program = host_forward.compile_program(build, graph, "train_step")

    python = None if options.no_torch else peer.torch_python(options.torch_python)
    ours, our_cpu, theirs, their_cpu, version = [], [], [], [], None
    for _ in range(options.rounds):
        report = host_forward.run_program(program, 1, options.threads, options.steps)
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
    seconds = statistics.median(ours)
    line = {"bench": "train_step", "model": config.stem, "batch": options.batch,
            "seq": options.seq, "dtype": "f32", "threads": options.threads,
            "tessera_ms": round(seconds * 1e3, 1),
            "tessera_best_ms": round(min(ours) * 1e3, 1),
            "tessera_gflops": round(count_operations(config, options.batch, options.seq)
                                    / seconds / 1e9, 1),
            "tessera_cpu_seconds": round(statistics.median(our_cpu), 3)}
    if theirs:
        line.update({"torch": version,
                     "torch_ms": round(statistics.median(theirs) * 1e3, 1),
                     "torch_best_ms": round(min(theirs) * 1e3, 1),
                     "torch_cpu_seconds": round(statistics.median(their_cpu), 3),
                     "ratio": round(seconds / statistics.median(theirs), 3),
                     "best_ratio": round(min(ours) / min(theirs), 3)})
    print(json.dumps({**line, "runs": len(ours)}), flush=True)


if __name__ == "__main__":
    main()
