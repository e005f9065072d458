"""Time of a layer of experts on this machine: compiled program against transformers.

Prints one JSON line: the CPU seconds of forward and backward of a layer (tokens, width, experts,
their width and how many a token uses) of the compiled program, of both implementations of Mixtral's
layer in transformers, `eager` and `grouped_mm`, and of as many rows in batched matmuls, as PyTorch
and the program run them (the floor). Rounds alternate. `ratio` is to the faster implementation of
transformers, `batched_ratio` to the program's own batched matmuls."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess

import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]

PEER = r"""
import json, sys, time, torch
from transformers import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
kind, tokens, width, experts, ffn, used, steps, threads = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
torch.manual_seed(0)
if kind == "bmm":
    rows = tokens * used // experts
    random = lambda *shape: torch.randn(*shape, requires_grad=True)
    x, up, down = random(experts, rows, width), random(experts, width, 2 * ffn), random(experts, ffn, width)
    def step():
        gate, value = torch.bmm(x, up).chunk(2, 2)
        torch.bmm(torch.nn.functional.silu(gate) * value, down).sum().backward()
else:
    config = MixtralConfig(hidden_size=width, intermediate_size=ffn, num_local_experts=experts,
                           num_experts_per_tok=used)
    config._experts_implementation = kind
    block = MixtralSparseMoeBlock(config)
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    x = torch.randn(1, tokens, width, requires_grad=True)
    def step():
        out = block(x)
        (out[0] if isinstance(out, tuple) else out).sum().backward()
step()
begin = time.process_time()
for _ in range(steps):
    step()
print((time.process_time() - begin) / steps)
"""

LAYER = """
func.func @layer(%x: tensor<{t}x{d}xf32>, %router: tensor<{d}x{e}xf32>, %wg: tensor<{e}x{d}x{f}xf32>,
                 %wu: tensor<{e}x{d}x{f}xf32>, %wd: tensor<{e}x{f}x{d}xf32>, %grad: tensor<{t}x{d}xf32>)
    -> (tensor<{t}x{d}xf32>, tensor<{t}x{d}xf32>, tensor<{t}x{k}xf32>, tensor<{e}x{d}x{f}xf32>,
        tensor<{e}x{d}x{f}xf32>, tensor<{e}x{f}x{d}xf32>) {{
  %logits = nn.einsum "td,de->te" %x, %router : tensor<{t}x{d}xf32>, tensor<{d}x{e}xf32> -> tensor<{t}x{e}xf32>
  %scores = nn.softmax %logits dim 1 : tensor<{t}x{e}xf32>
  %ids = nn.top_k {k} %scores : tensor<{t}x{e}xf32> -> tensor<{t}x{k}xi32>
  %gates = nn.take_along_axis %scores, %ids : tensor<{t}x{e}xf32>, tensor<{t}x{k}xi32> -> tensor<{t}x{k}xf32>
  %y, %g, %u = nn.experts <silu> of {e} %x, %ids, %gates, %wg, %wu, %wd
      : tensor<{t}x{d}xf32>, tensor<{t}x{k}xi32>, tensor<{t}x{k}xf32>, tensor<{e}x{d}x{f}xf32>, tensor<{e}x{f}x{d}xf32>
      -> tensor<{t}x{d}xf32> stats tensor<{t}x{e}x{f}xf32>, tensor<{t}x{e}x{f}xf32>
  %dx, %dgates, %dg, %du = nn.experts_backward <silu> of {e} %grad, %ids, %gates, %wg, %wu, %wd, %g, %u
      : tensor<{t}x{d}xf32>, tensor<{t}x{k}xi32>, tensor<{t}x{k}xf32>, tensor<{e}x{d}x{f}xf32>, tensor<{e}x{f}x{d}xf32>,
        tensor<{t}x{e}x{f}xf32> -> tensor<{t}x{d}xf32>
  %rows = nn.expert_rows %x, %ids : tensor<{t}x{d}xf32>, tensor<{t}x{k}xi32> -> tensor<{t}x{e}x{d}xf32>
  %grads = nn.expert_rows %grad, %ids : tensor<{t}x{d}xf32>, tensor<{t}x{k}xi32> -> tensor<{t}x{e}x{d}xf32>
  %dwg, %dwu, %dwd = nn.experts_weight_gradient <silu> of {e} %rows, %grads, %ids, %gates, %g, %u, %dg, %du
      : tensor<{t}x{e}x{d}xf32>, tensor<{t}x{e}x{d}xf32>, tensor<{t}x{k}xi32>, tensor<{t}x{k}xf32>, tensor<{t}x{e}x{f}xf32>
      -> tensor<{e}x{d}x{f}xf32>, tensor<{e}x{f}x{d}xf32>
  return %y, %dx, %dgates, %dwg, %dwu, %dwd : tensor<{t}x{d}xf32>, tensor<{t}x{d}xf32>, tensor<{t}x{k}xf32>,
      tensor<{e}x{d}x{f}xf32>, tensor<{e}x{d}x{f}xf32>, tensor<{e}x{f}x{d}xf32>
}}
"""

# The nine matmuls of as many rows, evenly spread.
BATCHED = """
func.func @batched(%x: tensor<{e}x{r}x{d}xf32>, %g: tensor<{e}x{r}x{f}xf32>, %w: tensor<{e}x{d}x{f}xf32>, %v: tensor<{e}x{f}x{d}xf32>)
    -> (tensor<{e}x{r}x{f}xf32>, tensor<{e}x{r}x{f}xf32>, tensor<{e}x{r}x{d}xf32>, tensor<{e}x{r}x{f}xf32>, tensor<{e}x{r}x{d}xf32>,
        tensor<{e}x{r}x{d}xf32>, tensor<{e}x{d}x{f}xf32>, tensor<{e}x{d}x{f}xf32>, tensor<{e}x{f}x{d}xf32>) {{
  %x2 = arith.addf %x, %x : tensor<{e}x{r}x{d}xf32>
  %g2 = arith.addf %g, %g : tensor<{e}x{r}x{f}xf32>
  %0 = nn.einsum "erd,edf->erf" %x, %w : tensor<{e}x{r}x{d}xf32>, tensor<{e}x{d}x{f}xf32> -> tensor<{e}x{r}x{f}xf32>
  %1 = nn.einsum "erd,edf->erf" %x2, %w : tensor<{e}x{r}x{d}xf32>, tensor<{e}x{d}x{f}xf32> -> tensor<{e}x{r}x{f}xf32>
  %2 = nn.einsum "erf,efd->erd" %g, %v : tensor<{e}x{r}x{f}xf32>, tensor<{e}x{f}x{d}xf32> -> tensor<{e}x{r}x{d}xf32>
  %3 = nn.einsum "erd,efd->erf" %x, %v : tensor<{e}x{r}x{d}xf32>, tensor<{e}x{f}x{d}xf32> -> tensor<{e}x{r}x{f}xf32>
  %4 = nn.einsum "erf,edf->erd" %g, %w : tensor<{e}x{r}x{f}xf32>, tensor<{e}x{d}x{f}xf32> -> tensor<{e}x{r}x{d}xf32>
  %5 = nn.einsum "erf,edf->erd" %g2, %w : tensor<{e}x{r}x{f}xf32>, tensor<{e}x{d}x{f}xf32> -> tensor<{e}x{r}x{d}xf32>
  %6 = nn.einsum "erd,erf->edf" %x, %g : tensor<{e}x{r}x{d}xf32>, tensor<{e}x{r}x{f}xf32> -> tensor<{e}x{d}x{f}xf32>
  %7 = nn.einsum "erd,erf->edf" %x2, %g : tensor<{e}x{r}x{d}xf32>, tensor<{e}x{r}x{f}xf32> -> tensor<{e}x{d}x{f}xf32>
  %8 = nn.einsum "erf,erd->efd" %g, %x : tensor<{e}x{r}x{f}xf32>, tensor<{e}x{r}x{d}xf32> -> tensor<{e}x{f}x{d}xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<{e}x{r}x{f}xf32>, tensor<{e}x{r}x{f}xf32>, tensor<{e}x{r}x{d}xf32>,
      tensor<{e}x{r}x{f}xf32>, tensor<{e}x{r}x{d}xf32>, tensor<{e}x{r}x{d}xf32>, tensor<{e}x{d}x{f}xf32>,
      tensor<{e}x{d}x{f}xf32>, tensor<{e}x{f}x{d}xf32>
}}
"""


def build_program(options, name, text):
    folder = options.build / "bench"
    folder.mkdir(exist_ok=True)
    graph, program = folder / f"{name}.mlir", folder / name
    text = text.format(t=options.tokens, d=options.width, e=options.experts, f=options.ffn,
                       k=options.used, r=options.tokens * options.used // options.experts)
    graph.write_text("dist.mesh @mesh [\"x\"=1]\n" + re.sub(
        r"%(\w+): (tensor<\w+>)",
        r'%\1: \2 {nn.param = "\1", nn.init = #nn.init<normal, 2.0e-02>}', text))
    subprocess.run([options.build / "bin" / "tessera", "compile", graph, "--quiet", "-o", program],
                   check=True)
    return program


def run_program(options, program):
    """CPU seconds of a step. The first one, which touches all memory, is in another run."""
    seconds = []
    for steps in (1, options.steps + 1):
        report = subprocess.run(
            [program, "--threads", str(options.threads), "--steps", str(steps), "--random-data",
             "--quiet", "--report", "json"], check=True, stdout=subprocess.PIPE).stdout
        seconds.append(sum(json.loads(report)["cpu_seconds"]))
    return (seconds[1] - seconds[0]) / options.steps


def run_peer(options, python, kind):
    sizes = (options.tokens, options.width, options.experts, options.ffn, options.used,
             options.steps, options.threads)
    return float(subprocess.run([python, "-c", PEER, kind, *map(str, sizes)], check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    for name, default in (("tokens", 1024), ("width", 1024), ("experts", 8), ("ffn", 2816),
                          ("used", 2), ("threads", 2), ("rounds", 3), ("steps", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--torch-python", help="a Python with PyTorch and transformers")
    options = parser.parse_args()
    options.build = (ROOT / options.build).resolve()
    python = peer.torch_python(options.torch_python)
    layer = build_program(options, "experts_layer", LAYER)
    batched = build_program(options, "experts_batched", BATCHED)
    seconds = {name: [] for name in ("tessera", "batched", "eager", "grouped_mm", "bmm")}
    for _ in range(options.rounds):
        seconds["tessera"].append(run_program(options, layer))
        seconds["batched"].append(run_program(options, batched))
        for kind in ("eager", "grouped_mm", "bmm"):
            seconds[kind].append(run_peer(options, python, kind))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(json.dumps({
        "bench": "experts", "tokens": options.tokens, "width": options.width,
        "experts": options.experts, "ffn": options.ffn, "used": options.used, "dtype": "f32",
        **{f"{name}_cpu_seconds": round(value, 3) for name, value in medians.items()},
        "ratio": round(medians["tessera"] / min(medians["eager"], medians["grouped_mm"]), 3),
        "batched_ratio": round(medians["tessera"] / medians["batched"], 3)}))


if __name__ == "__main__":
    main()
