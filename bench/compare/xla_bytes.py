"""Compares the communication of a training step with JAX/XLA's.

Both have the same model (the sizes of tiny-gpt2 and tiny-llama, a vocabulary that tp divides),
mesh, parameter seeds, batch, residual stream, optimizer state and AdamW, on 8 host devices. With sp
the heads and ffn are annotated too: otherwise XLA gathers the weights of tiny-llama on tp=2 and
shards the sequence everywhere (742,656 bytes), which pays off for so few tokens.

XLA's bytes are read from its compiled HLO. A part of an all-reduce whose users all slice it counts
as the reduce-scatter that a GPU compile would form; `xla_all_reduce_bytes` is the count without
that rule. With zero=3 Tessera gathers parameters again for the backward, while XLA keeps them
whole: `tessera_bytes` lets Tessera keep them too, `tessera_bytes_gathered_again` does not.
`tessera_slow_links` is the result if each collective takes a millisecond more, so that all
collectives that can merge are merged. Bytes are those that one rank receives in one step with
bandwidth-optimal algorithms in f32; scalars are not counted for XLA. Needs a Python with jax
(--jax). Prints one JSON line per row and fails if Tessera receives more."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = [("dp=8", "dp"), ("tp={tp}", "tp"), ("tp={tp}", "tp,sp"),
        ("dp={dp},tp={tp}", "dp,tp"), ("dp={dp},tp={tp}", "dp,tp,sp"),
        ("dp=8", "dp,zero=1"), ("dp=8", "dp,zero=2"), ("dp=8", "dp,zero=3"),
        ("dp={dp},tp={tp}", "dp,tp,sp,zero=1"), ("dp={dp},tp={tp}", "dp,tp,sp,zero=3"),
        ("dp={dp},cp={tp}", "dp,cp=all_gather"), ("dp={dp},cp={tp}", "dp,cp=all_to_all")]
# tiny-llama has two KV heads, which JAX can shard over tp without padding.
MODELS = {"tiny-gpt2": {"dp": 2, "tp": 4}, "tiny-llama": {"dp": 4, "tp": 2}}
BATCH, SEQ = 16, 32

JAX = r"""
import os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

model, strategy, batch, seq = sys.argv[2], sys.argv[3].split(","), int(sys.argv[4]), int(sys.argv[5])
axes = dict((a.split("=")[0], int(a.split("=")[1])) for a in sys.argv[1].split(","))
names, sizes = tuple(axes), tuple(axes.values())
mesh = Mesh(np.array(jax.devices()[:int(np.prod(sizes))]).reshape(sizes), names)
dp, tp = ("dp" if "dp" in axes else None), ("tp" if "tp" in axes else None)
sp = tp if "sp" in strategy else None
cp = "cp" if "cp" in axes else None
zero = max([int(s[5:]) for s in strategy if s.startswith("zero=")] + [0])
gpt = model == "tiny-gpt2"
L, V = 2, 264  # the vocabulary padded to what tp and dp divide
D, F, H, G, E = (48, 192, 4, 4, 12) if gpt else (64, 160, 4, 2, 16)
spec = {"wte": ((V, D), P(tp))}
if gpt:
    spec["wpe"] = ((64, D), P())
else:
    spec["head"] = ((V, D), P(tp))
def add_norm(name):
    spec[name + ".g"] = ((D,), P())
    if gpt:
        spec[name + ".b"] = ((D,), P())
for i in range(L):
    spec[f"{i}.wq"] = ((D, G, H // G, E), P(None, tp))
    for n in "kv":
        spec[f"{i}.w{n}"] = ((D, G, E), P(None, tp))
    spec[f"{i}.wo"] = ((G, H // G, E, D), P(tp))
    spec[f"{i}.w1"], spec[f"{i}.w2"] = ((D, F), P(None, tp)), ((F, D), P(tp))
    if gpt:
        spec[f"{i}.bq"] = ((G, H // G, E), P(tp))
        for n in "kv":
            spec[f"{i}.b{n}"] = ((G, E), P(tp))
        spec[f"{i}.bo"], spec[f"{i}.b1"], spec[f"{i}.b2"] = ((D,), P()), ((F,), P(tp)), ((D,), P())
    else:
        spec[f"{i}.w3"] = ((D, F), P(None, tp))
    add_norm(f"{i}.ln1")
    add_norm(f"{i}.ln2")
add_norm("lnf")

def constrain(x, s):
    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, s))

def scattered(shape, s):
    # Over dp too, along the first dimension that has no axis and that dp divides.
    dims = list(s) + [None] * (len(shape) - len(s))
    for d, size in enumerate(shape):
        if dims[d] is None and size % axes["dp"] == 0:
            dims[d] = "dp"
            break
    return P(*dims)

stream = P(dp, cp or sp, None)
# Within a block heads and ffn are over tp: what the strategy `sp` says.
inside = (lambda x: constrain(x, P(dp, None, tp))) if sp else (lambda x: x)
# Attention over cp: keys and values are gathered, or heads are shared.
if cp and "cp=all_to_all" in strategy:
    queries = keys = lambda x: constrain(x, P(dp, None, cp))
elif cp:
    queries, keys = (lambda x: constrain(x, P(dp, cp))), (lambda x: constrain(x, P(dp)))
else:
    queries = keys = lambda x: x
along = (lambda x: constrain(x, P(dp, cp))) if cp else (lambda x: x)

def norm(x, p, name):
    if not gpt:
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p[name + ".g"]
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(v + 1e-5) * p[name + ".g"] + p[name + ".b"]

def rope(x):
    half = E // 2
    angle = jnp.arange(seq)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    shape = (1, seq) + (1,) * (x.ndim - 3) + (half,)
    c, s = jnp.cos(angle).reshape(shape), jnp.sin(angle).reshape(shape)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * c - b * s, a * s + b * c], -1)

def loss(p, tokens, labels):
    x = p["wte"][tokens]
    if gpt:
        x = x + p["wpe"][:seq]
    x = constrain(x, stream)
    mask = jnp.tril(jnp.ones((seq, seq), bool))
    bias = (lambda n: p[n]) if gpt else (lambda n: 0.0)
    for i in range(L):
        h = norm(x, p, f"{i}.ln1")
        q = inside(jnp.einsum("bsd,dgre->bsgre", h, p[f"{i}.wq"]) + bias(f"{i}.bq"))
        k, v = (inside(jnp.einsum("bsd,dge->bsge", h, p[f"{i}.w{n}"]) + bias(f"{i}.b{n}"))
                for n in "kv")
        if not gpt:
            q, k = rope(q), rope(k)
        q, k, v = queries(q), keys(k), keys(v)
        s = jnp.einsum("bqgre,bkge->bgrqk", q, k) / E ** 0.5
        a = jax.nn.softmax(jnp.where(mask, s, -1e30), -1)
        o = along(queries(jnp.einsum("bgrqk,bkge->bqgre", a, v)))
        x = x + constrain(jnp.einsum("bqgre,gred->bqd", o, p[f"{i}.wo"]), stream) + bias(f"{i}.bo")
        h = norm(x, p, f"{i}.ln2")
        u = jnp.einsum("bsd,df->bsf", h, p[f"{i}.w1"]) + bias(f"{i}.b1")
        u = jax.nn.gelu(u) if gpt else jax.nn.silu(u) * jnp.einsum("bsd,df->bsf", h, p[f"{i}.w3"])
        u = inside(u)
        x = x + constrain(jnp.einsum("bsf,fd->bsd", u, p[f"{i}.w2"]), stream) + bias(f"{i}.b2")
    logits = jnp.einsum("bsd,vd->bsv", norm(x, p, "lnf"), p["wte" if gpt else "head"])
    logp = logits - jax.scipy.special.logsumexp(logits, -1, keepdims=True)
    hot = jax.nn.one_hot(labels, V)
    return -(logp * hot).sum(-1).mean()

rest = {k: (scattered(*v) if zero == 3 else v[1]) for k, v in spec.items()}
state = {k: (scattered(*v) if zero >= 1 else v[1]) for k, v in spec.items()}

def step(p, m, v, tokens, labels):
    full = {k: constrain(x, spec[k][1]) for k, x in p.items()} if zero == 3 else p
    value, g = jax.value_and_grad(loss)(full, tokens, labels)
    if zero >= 2:
        g = {k: constrain(x, state[k]) for k, x in g.items()}
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.95 * a + 0.05 * b * b, v, g)
    p = jax.tree.map(lambda a, b, c: a - 0.1 * b / (jnp.sqrt(c) + 1e-8), p, m, v)
    return p, m, v, value

placed = lambda s: {k: NamedSharding(mesh, x) for k, x in s.items()}
data = NamedSharding(mesh, P(dp, cp))
values = {k: jax.ShapeDtypeStruct(shape, jnp.float32) for k, (shape, _) in spec.items()}
ids = jax.ShapeDtypeStruct((batch, seq), jnp.int32)
lowered = jax.jit(step, in_shardings=(placed(rest), placed(state), placed(state), data, data),
                  out_shardings=(placed(rest), placed(state), placed(state), NamedSharding(mesh, P()))
                  ).lower(values, values, values, ids, ids)
print(lowered.compile().as_text())
"""

OP = re.compile(r"^\s*(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*?)\)(.*)$")
KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
VIEWS = ("bitcast", "reshape", "copy", "transpose", "convert")
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
    """Devices of a group, in any notation of HLO."""
    if match := re.search(r"replica_groups=mesh\[(.*?)\].*?\{('.*?)\}", line):
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


class Program:
    """The ops of a module in HLO text, by computation."""

    def __init__(self, text):
        self.ops, self.users, self.parameters = {}, {}, {}
        where = None
        for line in text.splitlines():
            if match := re.match(r"^(?:ENTRY )?%?([\w.-]+) .*\{$", line):
                where = match.group(1)
            match = OP.match(line)
            if not match:
                continue
            name, result, kind, operands, rest = match.groups()
            operands = re.findall(r"%([\w.-]+)", operands) or operands.split(", ")
            self.ops[name] = (kind, result, operands, line)
            for i, operand in enumerate(operands):
                self.users.setdefault(operand, []).append((name, i))
            if kind == "parameter":
                self.parameters[where, int(operands[0])] = name

    def is_sliced(self, name):
        """True if all users of a value slice it."""
        users = self.users.get(name, [])
        for user, i in users:
            kind, _, _, line = self.ops[user]
            if kind == "dynamic-slice" and i == 0:
                continue
            if kind in VIEWS:
                if not self.is_sliced(user):
                    return False
            elif kind in ("fusion", "call"):
                called = re.search(r"(?:calls|to_apply)=%?([\w.-]+)", line).group(1)
                if not self.is_sliced(self.parameters[called, i]):
                    return False
            else:
                return False
        return bool(users)

    def get_parts(self, name):
        """(bytes, whether all users slice it) of each result of an op."""
        _, result, _, _ = self.ops[name]
        if not result.startswith("("):
            return [(bytes_of(result), self.is_sliced(name))]
        sizes = [bytes_of(shape) for shape in re.findall(r"\w+\[[\d,]*\]", result)]
        sliced = [False] * len(sizes)
        for user, _ in self.users.get(name, []):
            kind, _, _, line = self.ops[user]
            if kind == "get-tuple-element":
                sliced[int(re.search(r"index=(\d+)", line).group(1))] = self.is_sliced(user)
        return list(zip(sizes, sliced))


def count_xla(text):
    """{kind: [count, bytes]} with sliced all-reduces as reduce-scatters, and the bytes without that
    rule. Scalars are not counted."""
    program = Program(text)
    rows, raw = {}, 0

    def count(kind, received):
        entry = rows.setdefault(kind, [0, 0.0])
        entry[0] += 1
        entry[1] += received

    for name, (kind, result, _, line) in program.ops.items():
        kind = kind.removesuffix("-start")
        if kind not in KINDS:
            continue
        n = group_size(line) if kind != "collective-permute" else 2
        parts = [(size, sliced) for size, sliced in program.get_parts(name) if size > 8]
        whole = sum(size for size, _ in parts)
        if not parts:
            continue
        if kind == "all-reduce":
            scattered = sum(size for size, sliced in parts if sliced)
            raw += 2 * whole * (n - 1) / n
            if scattered:
                count("reduce-scatter", scattered * (n - 1) / n)
            if whole > scattered:
                count("all-reduce", 2 * (whole - scattered) * (n - 1) / n)
            continue
        received = {"all-gather": whole * (n - 1) / n, "reduce-scatter": whole * (n - 1),
                    "all-to-all": whole * (n - 1) / n, "collective-permute": whole}[kind]
        raw += received
        count(kind, received)
    return rows, raw


def add_mesh(graph, mesh, base_seconds):
    """Writes the mesh into the graph, with `base_seconds` added to the start of each collective."""
    axes = [axis.split("=") for axis in mesh.split(",")]
    sizes = ", ".join(f'"{name}"={size}' for name, size in axes)
    links = ", ".join(f"[array<f64: {size}.0, 0.0, 1.0e11>]" for _, size in axes)
    links += f", array<f64: {base_seconds:e}, {base_seconds:e}, 1.0, 1.0>"
    head, rest = graph.read_text().split("\n", 1)
    graph.write_text(f"{head}\n  dist.mesh @mesh [{sizes}] {{dist.links = [{links}]}}\n{rest}")


def count_tessera(build, model, mesh, strategy, folder, flags=(), base_seconds=None):
    graph, report = folder / "graph.mlir", folder / "report.json"
    tessera = build / "bin" / "tessera"
    subprocess.run([tessera, "model", ROOT / f"share/models/{model}.json", "--train", "--batch",
                    str(BATCH), "--seq", str(SEQ), "--quiet", "-o", graph], check=True)
    where = ["--mesh", mesh]
    if base_seconds:
        add_mesh(graph, mesh, base_seconds)
        where = []
    subprocess.run([tessera, "compile", graph, *where, "--strategy", strategy, "--quiet",
                    *flags, "--compile-to=partition", "--dist-report", report, "-o", folder / "local.mlir"],
                   check=True)
    found = json.loads(report.read_text())
    return max(found.get("functions", [found]), key=lambda t: t["total"]["bytes"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--only", default="", help="a part of MODEL MESH STRATEGY")
    parser.add_argument("--jax", default=sys.executable, help="a Python that has jax")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    worse = 0
    for model, sizes in MODELS.items():
        for mesh, strategy in ROWS:
            mesh = mesh.format(**sizes)
            if options.only not in f"{model} {mesh} {strategy}":
                continue
            hlo = subprocess.run(
                [options.jax, "-c", JAX, mesh, model, strategy, str(BATCH), str(SEQ)],
                check=True, capture_output=True, text=True).stdout
            rows, raw = count_xla(hlo)
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                ours = count_tessera(build, model, mesh, strategy, folder)
                again = ours["total"]["bytes"]
                # XLA keeps gathered parameters for the backward.
                flags = ["--shared-bytes", "1000000000"] if "zero=3" in strategy else []
                if flags:
                    ours = count_tessera(build, model, mesh, strategy, folder, flags)
                slow = count_tessera(build, model, mesh, strategy, folder, flags, 1e-3)["total"]
            xla = sum(size for _, size in rows.values())
            worse += ours["total"]["bytes"] > xla
            print(json.dumps({
                "bench": "xla_bytes", "model": model, "mesh": mesh, "strategy": strategy,
                "tessera_bytes": ours["total"]["bytes"],
                "tessera_collectives": ours["total"]["count"],
                "tessera_bytes_gathered_again": again,
                "tessera_slow_links": {"bytes": slow["bytes"], "collectives": slow["count"]},
                "xla_bytes": round(xla), "xla_collectives": sum(n for n, _ in rows.values()),
                "xla_all_reduce_bytes": round(raw),
                "xla_kinds": {kind: [n, round(size)] for kind, (n, size) in sorted(rows.items())},
            }), flush=True)
    return worse


if __name__ == "__main__":
    sys.exit(main() > 0)
