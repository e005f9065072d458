"""CPU seconds from a graph to an executable, by model and by layers.

Compiles training steps with AdamW: small models on one rank, then Llamas of width 1024 on
dp=2,tp=4, whose layers share their kernels, so that time should grow with calls alone. With --jax
(a Python that has jax) XLA compiles the same shape for 8 host devices in the same run, for the
numbers of layers in --jax-layers. The floor of a ratio is the time to parse the graph and print it
again."""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH, SEQ = 8, 128
LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu",
    "hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 16,
    "num_key_value_heads": 4, "max_position_embeddings": 1024, "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0, "tie_word_embeddings": False, "vocab_size": 1024,
    "attention_bias": False, "mlp_bias": False,
}

JAX = r"""
import os, sys, time
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
L, B, S = (int(a) for a in sys.argv[1:])
V, D, F, G, R, E = 1024, 1024, 2816, 4, 4, 64
mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("dp", "tp"))
spec = {"wte": ((V, D), P("tp")), "head": ((V, D), P("tp")), "n": ((D,), P())}
for i in range(L):
    spec |= {f"{i}.q": ((D, G, R, E), P(None, "tp")), f"{i}.k": ((D, G, E), P(None, "tp")),
             f"{i}.v": ((D, G, E), P(None, "tp")), f"{i}.o": ((G, R, E, D), P("tp")),
             f"{i}.gate": ((D, F), P(None, "tp")), f"{i}.up": ((D, F), P(None, "tp")),
             f"{i}.down": ((F, D), P("tp")), f"{i}.n1": ((D,), P()), f"{i}.n2": ((D,), P())}
def norm(x, g):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g
def rope(x):
    angle = jnp.arange(S)[:, None] * 500000.0 ** (-jnp.arange(E // 2) / (E // 2))
    shape = (1, S) + (1,) * (x.ndim - 3) + (E // 2,)
    c, s = jnp.cos(angle).reshape(shape), jnp.sin(angle).reshape(shape)
    a, b = x[..., :E // 2], x[..., E // 2:]
    return jnp.concatenate([a * c - b * s, a * s + b * c], -1)
def loss(p, tokens, labels):
    x = p["wte"][tokens]
    mask = jnp.tril(jnp.ones((S, S), bool))
    for i in range(L):
        h = norm(x, p[f"{i}.n1"])
        q = rope(jnp.einsum("bsd,dgre->bsgre", h, p[f"{i}.q"]))
        k = rope(jnp.einsum("bsd,dge->bsge", h, p[f"{i}.k"]))
        v = jnp.einsum("bsd,dge->bsge", h, p[f"{i}.v"])
        s = jnp.einsum("bqgre,bkge->bgrqk", q, k) / E ** 0.5
        a = jax.nn.softmax(jnp.where(mask, s, -1e30), -1)
        o = jnp.einsum("bgrqk,bkge->bqgre", a, v)
        x = x + jnp.einsum("bqgre,gred->bqd", o, p[f"{i}.o"])
        h = norm(x, p[f"{i}.n2"])
        x = x + (jax.nn.silu(h @ p[f"{i}.gate"]) * (h @ p[f"{i}.up"])) @ p[f"{i}.down"]
    logits = jnp.einsum("bsd,vd->bsv", norm(x, p["n"]), p["head"])
    logp = logits - jax.scipy.special.logsumexp(logits, -1, keepdims=True)
    return -jnp.take_along_axis(logp, labels[..., None], -1).mean()
def step(p, m, v, tokens, labels):
    value, g = jax.value_and_grad(loss)(p, tokens, labels)
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.95 * a + 0.05 * b * b, v, g)
    return jax.tree.map(lambda a, b, c: a - 0.1 * b / (jnp.sqrt(c) + 1e-8), p, m, v), m, v, value
placed = {k: NamedSharding(mesh, s) for k, (_, s) in spec.items()}
data = NamedSharding(mesh, P("dp"))
values = {k: jax.ShapeDtypeStruct(shape, jnp.float32) for k, (shape, _) in spec.items()}
ids = jax.ShapeDtypeStruct((B, S), jnp.int32)
traced = jax.jit(step, in_shardings=(placed, placed, placed, data, data),
                 out_shardings=(placed, placed, placed, None)).lower(values, values, values, ids, ids)
start = time.process_time(), time.monotonic()
traced.compile()
print(time.process_time() - start[0], time.monotonic() - start[1])
"""


def cpu_seconds(command):
    """Seconds of user and system time of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"compile_speed: {' '.join(map(str, command))} failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jax", help="a Python that has jax")
    parser.add_argument("--jax-layers", type=int, nargs="*", default=[8])
    parser.add_argument("--layers", type=int, nargs="*", default=[16, 32, 63, 126])
    parser.add_argument("--cpu", default="native", help="processor to compile for")
    options = parser.parse_args()
    tool = (ROOT / options.build).resolve() / "bin" / "tessera"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        llama = folder / "llama.json"
        models = ROOT / "share" / "models"
        tiny = ["--batch", "2", "--seq", "32"]
        cases = [(name, models / f"{name}.json", dtype, [*tiny, "--dtype", dtype], [])
                 for name in ("tiny-gpt2", "tiny-llama") for dtype in ("f32", "bf16", "f16")]
        cases += [(name, models / f"{name}.json", "fp8", [*tiny, "--dtype", "bf16"],
                   ["--precision", "fp8"]) for name in ("tiny-gpt2", "tiny-llama")]
        cases.append(("gpt2", models / "gpt2.json", "f32", ["--batch", "1", "--seq", "128"], []))
        cases += [(f"llama-1024x{layers}", llama, "f32",
                   ["--batch", str(BATCH), "--seq", str(SEQ), "--layers", str(layers)],
                   ["--mesh", "dp=2,tp=4", "--strategy", "dp,tp"])
                  for layers in options.layers]
        for name, model, dtype, shape, layout in cases:
            layers = int(shape[-1]) if "--layers" in shape else None
            llama.write_text(json.dumps(LLAMA | {"num_hidden_layers": layers or 1}))
            graph, program = folder / "graph.mlirbc", folder / "program"
            subprocess.run([tool, "model", model, *shape, "--train", "-o", graph],
                           check=True, stderr=subprocess.DEVNULL)
            floor, full = [], []
            for _ in range(options.runs):
                floor.append(cpu_seconds([tool.with_name("tessera-opt"), graph,
                                          "--emit-bytecode", "-o", folder / "copy.mlirbc"]))
                full.append(cpu_seconds([tool, "compile", graph, *layout, "--cpu", options.cpu,
                                         "-o", program]))
            row = {"bench": "compile_speed", "model": name, "dtype": dtype,
                   "cpu_seconds": round(statistics.median(full), 3),
                   "floor_seconds": round(statistics.median(floor), 3),
                   "program_bytes": program.stat().st_size, "runs": options.runs}
            if layers:
                row["milliseconds_a_layer"] = round(1000 * row["cpu_seconds"] / layers, 1)
            print(json.dumps(row), flush=True)
    for layers in options.jax_layers if options.jax else []:
        done = subprocess.run([options.jax, "-c", JAX, str(layers), str(BATCH), str(SEQ)],
                              check=True, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        seconds, wall = map(float, done.stdout.split())
        print(json.dumps({"bench": "compile_speed", "model": f"llama-1024x{layers}",
                          "compiler": "xla", "cpu_seconds": round(seconds, 3),
                          "wall_seconds": round(wall, 3),
                          "milliseconds_a_layer": round(1000 * seconds / layers, 1)}), flush=True)


if __name__ == "__main__":
    main()
