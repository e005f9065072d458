"""Mixtures of experts by ragged_dot for python3 -m tessera import: a Mixtral of tiny-mixtral's
sizes, other ways to write the experts, and functions that are almost a mixture."""

import functools

import jax
import jax.numpy as jnp
from jax import lax

BATCH, SEQ, VOCAB, WIDTH, HEADS, GROUPS, SIZE = 4, 24, 259, 64, 4, 2, 16
FFN, EXPERTS, USED = 96, 8, 2


def shape(*sizes, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(sizes, dtype)


IDS = shape(BATCH, SEQ, dtype=jnp.int32)


def rms_norm(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * scale


def rotate(x):
    half = SIZE // 2
    angles = jnp.arange(SEQ)[:, None] * 1e6 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    low, high = x[..., :half], x[..., half:]
    return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


def attention(x, p):
    q = rotate((x @ p["q"]).reshape(BATCH, SEQ, HEADS, SIZE))
    k = rotate((x @ p["k"]).reshape(BATCH, SEQ, GROUPS, SIZE))
    v = (x @ p["v"]).reshape(BATCH, SEQ, GROUPS, SIZE)
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return mixed.reshape(BATCH, SEQ, WIDTH) @ p["out"]


def route(x, router):
    gates, ids = lax.top_k(jax.nn.softmax(x @ router), USED)
    return gates / gates.sum(-1, keepdims=True), ids


def experts(x, p):
    """Rows sorted by expert, put back in plain order, and summed by an einsum."""
    tokens = x.reshape(-1, WIDTH)
    gates, ids = route(tokens, p["router"])
    order = jnp.argsort(ids.reshape(-1))
    rows = jnp.take(tokens, order // USED, axis=0)
    sizes = jnp.bincount(ids.reshape(-1), length=EXPERTS)
    gate, up = (lax.ragged_dot(rows, p[name], sizes) for name in ("w0", "w1"))
    hidden = jax.nn.silu(gate) * up
    y = lax.ragged_dot(hidden, p["wo"], sizes)
    y = jnp.take(y, jnp.argsort(order), axis=0).reshape(-1, USED, WIDTH)
    return jnp.einsum("tkd,tk->td", y, gates).reshape(x.shape)


def block(x, p, mixture=experts):
    x = x + attention(rms_norm(x, p["norm1"]), p)
    return x + mixture(rms_norm(x, p["norm2"]), p)


def cross_entropy(logits, labels):
    counted = labels != -100
    kept = jnp.where(counted, labels, 0)
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), kept[..., None], axis=-1)[..., 0]
    return -jnp.where(counted, picked, 0).sum() / counted.sum()


LAYER = {"norm1": (WIDTH,), "norm2": (WIDTH,), "q": (WIDTH, HEADS * SIZE),
         "k": (WIDTH, GROUPS * SIZE), "v": (WIDTH, GROUPS * SIZE), "out": (HEADS * SIZE, WIDTH),
         "router": (WIDTH, EXPERTS), "w0": (EXPERTS, WIDTH, FFN), "w1": (EXPERTS, WIDTH, FFN),
         "wo": (EXPERTS, FFN, WIDTH)}
ENDS = {"embedding": shape(VOCAB, WIDTH), "norm": shape(WIDTH), "head": shape(WIDTH, VOCAB)}


def mixtral():
    def loss(p, tokens, labels):
        x = p["embedding"][tokens]
        for layer in p["layers"]:
            x = block(x, layer)
        return cross_entropy(rms_norm(x, p["norm"]) @ p["head"], labels)
    layer = {name: shape(*sizes) for name, sizes in LAYER.items()}
    return loss, {**ENDS, "layers": [layer, layer]}, IDS, IDS


# A scan over layers with checkpoints, and other ways to write experts.


def scattered(x, p):
    """Fused weights [experts, out, in], gates in the order of rows, rows added to their tokens."""
    tokens = x.reshape(-1, WIDTH)
    gates, ids = route(tokens, p["router"])
    order = jnp.argsort(ids.ravel(), stable=False)
    sizes = (ids.reshape(-1, 1) == jnp.arange(EXPERTS)).sum(0)
    fused = lax.ragged_dot_general(
        jnp.repeat(tokens, USED, axis=0)[order], p["fused"], sizes,
        lax.RaggedDotDimensionNumbers((((1,), (2,)), ((), ())), [0], [0]))
    up, gate = jnp.split(fused, 2, axis=-1)
    y = lax.ragged_dot(up * (gate * jax.nn.sigmoid(gate)), p["wo"], sizes)
    y = y * gates.ravel()[order][:, None]
    return jnp.zeros_like(tokens).at[order // USED].add(y).reshape(x.shape)


def scanned():
    def loss(p, tokens, labels):
        x = p["embedding"][tokens]
        step = jax.checkpoint(lambda x, layer: (block(x, layer, scattered), None))
        x, _ = lax.scan(step, x, p["layers"])
        return cross_entropy(rms_norm(x, p["norm"]) @ p["head"], labels)
    sizes = {name: size for name, size in LAYER.items() if name not in ("w0", "w1")}
    sizes["fused"] = (EXPERTS, 2 * FFN, WIDTH)
    layers = {name: shape(2, *size) for name, size in sizes.items()}
    return loss, {**ENDS, "layers": layers}, IDS, IDS


@jax.jit
def choose(scores, bias):
    _, ids = lax.top_k(scores + bias, 3)
    return jnp.take_along_axis(scores, ids, axis=-1), ids


def hidden_gates(kind):
    """Gates that weight hidden rows, of a router with a bias; tokens of three dimensions; a loss on
    the loads."""
    def loss(p, x):
        scores = jax.nn.sigmoid(x @ p["router"])
        gates, ids = choose(scores, p["bias"])
        flat = ids.reshape(-1)
        order = jnp.argsort(flat)
        sizes = jax.ops.segment_sum(jnp.ones_like(flat), flat, num_segments=4)
        rows = x.reshape(-1, 16)[order // 3]
        hidden = jax.nn.gelu(lax.ragged_dot(rows, p["gate"], sizes), approximate=kind == "tanh")
        hidden = hidden * lax.ragged_dot(rows, p["up"], sizes)
        y = lax.ragged_dot(hidden * gates.reshape(-1)[order, None], p["down"], sizes)
        y = y[jnp.argsort(order)].reshape(2, 10, 3, 16).sum(2)
        loads = jax.nn.one_hot(ids, 4).mean((0, 1, 2))
        return jnp.square(y + x).mean() + (loads * scores.mean((0, 1))).sum()
    parameters = {"router": shape(16, 4), "bias": shape(4), "gate": shape(4, 16, 12),
                  "up": shape(4, 16, 12), "down": shape(4, 12, 16)}
    return loss, parameters, shape(2, 10, 16)


def gelu():
    return hidden_gates("erf")


def gelu_tanh():
    return hidden_gates("tanh")


def given_groups():
    """Groups that are an input, without a choice: a matmul with masks."""
    def logits(w, x, sizes):
        return lax.ragged_dot(x, w, sizes)
    return logits, shape(4, 16, 12), shape(10, 16), shape(4, dtype=jnp.int32)


# Almost a mixture.


def almost(fault, p, x):
    gates, ids = lax.top_k(jax.nn.softmax(x @ p["router"]), 2)
    if fault == "moved":
        ids = (ids + 1) % 8
    order = jnp.argsort(ids.reshape(-1))
    sizes = jnp.bincount(ids.reshape(-1), length=8)
    if fault == "capacity":
        sizes = jnp.minimum(sizes, 6)
    rows = x[order % 10 if fault == "tokens" else order // 2]
    if fault == "shuffled":
        rows = x[jnp.flip(order) // 2]
    gate, up = (lax.ragged_dot(rows, p[name], sizes) for name in ("gate", "up"))
    if fault == "bias":
        gate = gate + p["bias"]
    hidden = (jnp.tanh(gate) if fault == "tanh" else jax.nn.silu(gate)) * up
    if fault == "plain":
        hidden = jax.nn.silu(gate)
    y = lax.ragged_dot(hidden, p["down"], sizes)
    if fault == "rows":
        return y
    weights = gates.reshape(-1) if fault == "order" else gates.reshape(-1)[order]
    y = y * weights[:, None]
    y = y[order if fault == "inverse" else jnp.argsort(order)].reshape(10, 2, 16)
    return y.max(1) if fault == "largest" else y.sum(1)


def make(fault):
    parameters = {"router": shape(16, 8), "gate": shape(8, 16, 12), "up": shape(8, 16, 12),
                  "down": shape(8, 12, 16), "bias": shape(12)}
    return lambda: (functools.partial(almost, fault), parameters, shape(10, 16))


for _fault in ("none", "moved", "capacity", "tokens", "shuffled", "bias", "tanh", "plain", "rows",
               "order", "inverse", "largest"):
    globals()[f"fault_{_fault}"] = make(_fault)
