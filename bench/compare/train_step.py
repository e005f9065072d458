"""Time of a GPT-2 training step on this machine: compiled program against PyTorch.

Measures forward, backward, clipping by the norm of all gradients and AdamW, on one rank. Prints one
JSON line: the median step of the program and of PyTorch eager, and the CPU time of both. Rounds of
both alternate, so that other load on the machine affects both.

PyTorch is in its own environment: --torch-python or TESSERA_TORCH_PYTHON names its Python; without
either one is installed in .env/torch."""

import json
import statistics

import host_forward
import peer

# Appended to peer.GPT2.
TORCH = r"""
optimizer = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.95), eps=1e-8,
                              weight_decay=0.1)
labels = torch.randint(0, vocab, (batch, seq))
def step():
    optimizer.zero_grad()
    F.cross_entropy(logits().view(-1, vocab), labels.view(-1)).backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
measure(step)
"""


def count_operations(config, batch, seq):
    """Multiplications and additions of a step's matmuls: forward, and twice as many backward.
    Causal attention counts half."""
    c = json.loads(config.read_text())
    d, layers, vocab = c["n_embd"], c["n_layer"], c["vocab_size"]
    tokens = batch * seq
    matmuls = 2 * tokens * (12 * layers * d * d + vocab * d)
    attention = 2 * tokens * seq * d * layers
    # Backward computes the scores again.
    return 3 * matmuls + attention + 2.5 * attention


def main():
    options = host_forward.read_options(__doc__, batch=2, steps=3)
    build, config = options.build, options.config
    graph = host_forward.make_graph(options, "train_step", "--train")
    program = host_forward.compile_program(build, graph, "train_step")

    python = None if options.no_torch else peer.torch_python(options.torch_python)
    ours, our_cpu, theirs, their_cpu, version = [], [], [], [], None
    for _ in range(options.rounds):
        report = host_forward.run_program(program, 1, options.threads, options.steps)
        ours += report["step_seconds"][1:]
        our_cpu.append(sum(report["cpu_seconds"]) / len(report["step_seconds"]))
        if python:
            report = peer.run_gpt2(python, TORCH, config, options)
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
