"""Shared by the measurements against PyTorch: its environment, its GPT-2, and the line of a
comparison."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The names of the modules that a peer needs, as pip packages.
PACKAGES = {"torch": "torch==2.13.*", "transformers": "transformers", "numpy": "numpy",
            "safetensors": "safetensors"}

# A GPT-2 in PyTorch as text, for the other Python: CONFIG.json BATCH SEQ STEPS THREADS. A user
# appends code that ends with `measure(step)`, which prints the seconds of each step as JSON.
GPT2 = r"""
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
tokens = torch.randint(0, vocab, (batch, seq))
def logits():
    x = wte[tokens] + wpe[:seq]
    for g1, s1, wqkv, bqkv, wo, bo, g2, s2, w1, b1, w2, b2 in blocks:
        h = F.layer_norm(x, (d,), g1, s1, eps)
        qkv = F.linear(h, wqkv, bqkv).view(batch, seq, 3, heads, d // heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(o.transpose(1, 2).reshape(batch, seq, d), wo, bo)
        h = F.layer_norm(x, (d,), g2, s2, eps)
        x = x + F.linear(F.gelu(F.linear(h, w1, b1), approximate="tanh"), w2, b2)
    return F.linear(F.layer_norm(x, (d,), gain, shift, eps), wte)
def measure(step):
    step()
    times, cpu = [], time.process_time()
    for i in range(steps):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    cpu = (time.process_time() - cpu) / steps
    print(json.dumps({"version": torch.__version__, "seconds": times, "cpu": cpu}))
"""


def run_gpt2(python, text, config, options):
    """Runs GPT2 followed by `text`, with the batch, sequence, steps and threads of `options`.
    Returns the version of PyTorch, the seconds of each step and the CPU seconds of one."""
    output = subprocess.run(
        [python, "-c", GPT2 + text, config, str(options.batch), str(options.seq),
         str(options.steps), str(options.threads)], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output)


def torch_python(given, modules=("torch",)):
    """The Python of an environment with PyTorch, installed in .env/torch if neither `given` nor
    TESSERA_TORCH_PYTHON names one."""
    given = given or os.environ.get("TESSERA_TORCH_PYTHON")
    if given:
        return given
    python = ROOT / ".env" / "torch" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    packages = [PACKAGES[module] for module in modules]
    print(f"installing {', '.join(packages)} in .env/torch", file=sys.stderr)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return str(python)


def run_under_torch(given, modules=("torch",)):
    """Restarts this script under that Python, unless this one has the modules."""
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if not missing:
        return
    if os.environ.get("TESSERA_PEER"):
        sys.exit(f"expects a Python with {', '.join(modules)} but {sys.executable} lacks "
                 f"{', '.join(missing)}")
    os.environ["TESSERA_PEER"] = "1"
    python = torch_python(given, modules)
    os.execv(python, [python, *sys.argv])


def add_options(parser):
    """Adds the options of a comparison of one library call with PyTorch's."""
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with PyTorch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--rounds", type=int, default=3)


def compare(options, program, case, peer_times):
    """Runs `program` of the build with the numbers of `case` and `peer_times()`, both in
    milliseconds, and prints the line of the case. Rounds of both alternate, so that other load
    affects both."""
    ours, peers = [], []
    for _ in range(options.rounds):
        line = subprocess.run(
            [ROOT / options.build / "bin" / program, str(options.threads), options.dtype,
             *map(str, case)], check=True, capture_output=True, text=True).stdout
        ours.append(json.loads(line))
        peers += peer_times()
    best = min(o["best_ms"] for o in ours)
    print(json.dumps({
        "name": ours[0]["name"],
        "threads": options.threads,
        "ms": best,
        "median_ms": sorted(o["median_ms"] for o in ours)[len(ours) // 2],
        "peer": "torch",
        "peer_ms": round(min(peers), 3),
        "peer_median_ms": round(sorted(peers)[len(peers) // 2], 3),
        "ratio": round(best / min(peers), 3),
    }), flush=True)
