"""What a GPT training step communicates, beside what JAX/XLA emits for it.

The same model (tiny-gpt2's sizes, learned positions, pre-norm, tied head, SGD in
JAX, the default optimizer in Tessera), mesh and seeds of parameters and batch, on
8 host devices. XLA's bytes are read from its compiled HLO; an all-reduce whose
users all slice it counts as the reduce-scatter that a GPU compile would form, and
`xla_all_reduce_bytes` says what it is without that. Bytes are those that one rank
receives in one step by bandwidth-optimal algorithms, f32. Needs a Python with jax
(--jax); prints one JSON line a row.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = [("dp=8", "dp"), ("tp=4", "tp"), ("dp=2,tp=4", "dp,tp")]
BATCH, SEQ = 16, 32

JAX = r"""
import os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

batch, seq = int(sys.argv[2]), int(sys.argv[3])
axes = dict((a.split("=")[0], int(a.split("=")[1])) for a in sys.argv[1].split(","))
names, sizes = tuple(axes), tuple(axes.values())
mesh = Mesh(np.array(jax.devices()[:int(np.prod(sizes))]).reshape(sizes), names)
dp, tp = ("dp" if "dp" in axes else None), ("tp" if "tp" in axes else None)
L, D, F, H, V = 2, 48, 192, 4, 264  # the vocabulary padded to what tp divides
spec = {"wte": ((V, D), P(tp)), "wpe": ((64, D), P()),
        "lnf": ((2, D), P())}
for i in range(L):
    for n in "qkv":
        spec[f"{i}.w{n}"] = ((D, H, D // H), P(None, tp))
        spec[f"{i}.b{n}"] = ((H, D // H), P(tp))
    spec[f"{i}.wo"], spec[f"{i}.bo"] = ((H, D // H, D), P(tp)), ((D,), P())
    spec[f"{i}.w1"], spec[f"{i}.b1"] = ((D, F), P(None, tp)), ((F,), P(tp))
    spec[f"{i}.w2"], spec[f"{i}.b2"] = ((F, D), P(tp)), ((D,), P())
    spec[f"{i}.ln1"], spec[f"{i}.ln2"] = ((2, D), P()), ((2, D), P())

def norm(x, p):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(v + 1e-5) * p[0] + p[1]

def loss(p, tokens, labels):
    x = p["wte"][tokens] + p["wpe"][:seq]
    mask = jnp.tril(jnp.ones((seq, seq), bool))
    for i in range(L):
        h = norm(x, p[f"{i}.ln1"])
        q, k, v = (jnp.einsum("bsd,dhe->bshe", h, p[f"{i}.w{n}"]) + p[f"{i}.b{n}"] for n in "qkv")
        s = jnp.einsum("bqhe,bkhe->bhqk", q, k) / (D // H) ** 0.5
        a = jax.nn.softmax(jnp.where(mask, s, -1e30), -1)
        o = jnp.einsum("bhqk,bkhe->bqhe", a, v)
        x = x + jnp.einsum("bqhe,hed->bqd", o, p[f"{i}.wo"]) + p[f"{i}.bo"]
        h = norm(x, p[f"{i}.ln2"])
        h = jax.nn.gelu(jnp.einsum("bsd,df->bsf", h, p[f"{i}.w1"]) + p[f"{i}.b1"])
        x = x + jnp.einsum("bsf,fd->bsd", h, p[f"{i}.w2"]) + p[f"{i}.b2"]
    logits = jnp.einsum("bsd,vd->bsv", norm(x, p["lnf"]), p["wte"])
    logp = logits - jax.scipy.special.logsumexp(logits, -1, keepdims=True)
    hot = jax.nn.one_hot(labels, V)
    return -(logp * hot).sum(-1).mean()

def step(p, tokens, labels):
    value, g = jax.value_and_grad(loss)(p, tokens, labels)
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), value

sharding = {k: NamedSharding(mesh, s) for k, (_, s) in spec.items()}
data = NamedSharding(mesh, P(dp))
p = {k: jax.ShapeDtypeStruct(shape, jnp.float32) for k, (shape, _) in spec.items()}
ids = jax.ShapeDtypeStruct((batch, seq), jnp.int32)
lowered = jax.jit(step, in_shardings=(sharding, data, data),
                  out_shardings=(sharding, NamedSharding(mesh, P()))).lower(p, ids, ids)
print(lowered.compile().as_text())
"""

OP = re.compile(r"%?([\w.-]+) = (\(?.*?\)?) "
                r"(all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(")
SHAPE = re.compile(r"(f32|bf16|f16|s32|u32|pred|f64|s64)\[([\d,]*)\]")
WIDTH = {"f32": 4, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "pred": 1, "f64": 8, "s64": 8}


def bytes_of(text):
    """Bytes of all shapes in a type."""
    total = 0
    for kind, dims in SHAPE.findall(text):
        size = WIDTH[kind]
        for d in filter(None, dims.split(",")):
            size *= int(d)
        total += size
    return total


def group_size(line):
    """Devices of a group, in any of the forms in which HLO writes them."""
    if match := re.search(r"replica_groups=mesh\[(.*?)\] \{(.*?)\}", line):
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", match.group(1)))
        n = 1
        for axis, part in re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", match.group(2)):
            n *= int(part or sizes[axis])
        return n
    if match := re.search(r"replica_groups=\[(\d+),(\d+)\]", line):
        return int(match.group(2))
    if match := re.search(r"replica_groups=\{\{([\d,]+)\}", line):
        return len(match.group(1).split(","))
    sys.exit(f"xla_bytes: expects replica groups but got {line.strip()}")


def count_xla(text):
    """{kind: [count, bytes]} with sliced all-reduces as reduce-scatters, and the
    bytes without that. All-reduces of one element are left out, as scalars are
    on the other side."""
    lines = text.splitlines()
    rows, raw = {}, 0
    for line in lines:
        match = OP.search(line)
        if not match:
            continue
        name, result, kind = match.groups()
        n, size = group_size(line), bytes_of(result)
        if size <= 8:
            continue
        received = {"all-reduce": 2 * size * (n - 1) / n, "all-gather": size * (n - 1) / n,
                    "reduce-scatter": size * (n - 1), "all-to-all": size * (n - 1) / n,
                    "collective-permute": size}[kind]
        raw += received
        if kind == "all-reduce":
            users = [l for l in lines if re.search(r"\(.*%" + re.escape(name) + r"[,)]", l)]
            if users and all("dynamic-slice" in l for l in users):
                kind, received = "reduce-scatter", size * (n - 1) / n
        entry = rows.setdefault(kind, [0, 0.0])
        entry[0] += 1
        entry[1] += received
    return rows, raw


def count_tessera(build, mesh, strategy, folder):
    graph, report = folder / "graph.mlir", folder / "report.json"
    tessera = build / "bin" / "tessera"
    subprocess.run([tessera, "model", ROOT / "share/models/tiny-gpt2.json", "--train", "--batch",
                    str(BATCH), "--seq", str(SEQ), "--quiet", "-o", graph], check=True)
    subprocess.run([tessera, "compile", graph, "--mesh", mesh, "--strategy", strategy, "--quiet",
                    "--compile-to=partition", "--dist-report", report, "-o", folder / "local.mlir"],
                   check=True)
    totals = [json.loads(line) for line in report.read_text().splitlines()]
    return max(totals, key=lambda t: t["total"]["bytes"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--jax", default=sys.executable, help="a Python that has jax")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    worse = 0
    for mesh, strategy in ROWS:
        hlo = subprocess.run([options.jax, "-c", JAX, mesh, str(BATCH), str(SEQ)], check=True,
                             capture_output=True, text=True).stdout
        rows, raw = count_xla(hlo)
        with tempfile.TemporaryDirectory() as folder:
            ours = count_tessera(build, mesh, strategy, pathlib.Path(folder))
        xla = sum(size for _, size in rows.values())
        worse += ours["total"]["bytes"] > xla
        print(json.dumps({
            "bench": "xla_bytes", "model": "tiny-gpt2", "mesh": mesh, "strategy": strategy,
            "tessera_bytes": ours["total"]["bytes"], "tessera_collectives": ours["total"]["count"],
            "xla_bytes": round(xla), "xla_collectives": sum(n for n, _ in rows.values()),
            "xla_all_reduce_bytes": round(raw),
            "xla_kinds": {kind: [n, round(size)] for kind, (n, size) in sorted(rows.items())},
        }), flush=True)
    return worse


if __name__ == "__main__":
    sys.exit(main() > 0)
