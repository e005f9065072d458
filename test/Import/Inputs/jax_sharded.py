"""The unrolled model of jax_models with shardings over tp=4, and XLA's program for it: python
jax_sharded.py prints collectives and bytes of XLA's module."""

import json
import os
import pathlib
import re
import sys

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import jax_models  # noqa: E402

MESH = Mesh(numpy.array(jax.devices()[:4]), ("tp",))
HEADS = {"q": P(None, "tp"), "k": P(None, "tp"), "v": P(None, "tp"), "q_bias": P("tp"),
         "k_bias": P("tp"), "v_bias": P("tp"), "out": P("tp")}
NORM = {"scale": P(), "bias": P()}
BLOCK = {"norm1": NORM, "norm2": NORM, "up": P(None, "tp"), "up_bias": P("tp"),
         "down": P("tp"), "attention": HEADS}


def sharded(shape, spec):
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=NamedSharding(MESH, spec))


def parameters(vocabulary):
    shapes = jax_models.unrolled_parameters()
    shapes["embedding"] = jax_models.shape(vocabulary, jax_models.WIDTH)
    # XLA divides arguments evenly only.
    table = P("tp") if vocabulary % 4 == 0 else P()
    specs = {"embedding": table, "positions": P(), "norm": NORM, "blocks": [BLOCK, BLOCK]}
    return jax.tree.map(sharded, shapes, specs)


IDS = sharded(jax_models.IDS, P())


def constrain(x, *spec):
    return jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P(*spec)))


def make_logits():
    return (lambda p, tokens: {"logits": jax_models.unrolled_logits(p, tokens)}), \
        parameters(64), IDS


def make_loss():
    def loss(p, tokens, labels):
        return jax_models.mean_loss(jax_models.unrolled_logits(p, tokens), labels)
    return loss, parameters(64), IDS, IDS


def make_constrained():
    """A vocabulary that tp does not divide, and activations that are constrained."""
    def loss(p, tokens, labels):
        p = {**p, "embedding": constrain(p["embedding"], "tp")}
        x = constrain(p["embedding"][tokens] + p["positions"][jnp.arange(jax_models.SEQ)])
        for block in p["blocks"]:
            x = constrain(x + jax_models.attention(jax_models.layer_norm(x, block["norm1"]),
                                                   block["attention"]), None, None, None)
            hidden = jax_models.layer_norm(x, block["norm2"]) @ block["up"] + block["up_bias"]
            hidden = jax.nn.gelu(constrain(hidden, None, None, "tp"))
            x = constrain(x + hidden @ block["down"])
        logits = jax_models.layer_norm(x, p["norm"]) @ p["embedding"].T
        return jax_models.mean_loss(constrain(logits, None, None, "tp"), labels)
    return loss, parameters(259), IDS, IDS


def make_tiles():
    """Written by JAX without Shardy: tiles of devices."""
    jax.config.update("jax_use_shardy_partitioner", False)
    return make_constrained()


GRID = Mesh(numpy.array(jax.devices()[:4]).reshape(2, 2), ("dp", "tp"))


def grid(x, *spec):
    return jax.lax.with_sharding_constraint(x, NamedSharding(GRID, P(*spec)))


def make_merged():
    """Attention whose merged heads are constrained before their projection."""
    width, heads = jax_models.WIDTH, jax_models.HEADS

    def attention(p, x):
        q, k, v = ((x @ p[name]).reshape(*x.shape[:2], heads, -1) for name in "qkv")
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return {"mixed": grid(mixed.reshape(x.shape), "dp", None, "tp") @ p["out"]}
    weights = {name: jax_models.shape(width, width) for name in ("q", "k", "v", "out")}
    return attention, weights, jax_models.shape(jax_models.BATCH, jax_models.SEQ, width)


def make_inner():
    """Constraints inside of norms, attention, GELU and the loss."""
    def norm(x, p):
        mean = grid(x.mean(-1, keepdims=True), "dp")
        variance = grid(jnp.square(x - mean), "dp").mean(-1, keepdims=True)
        normal = grid((x - mean) * jax.lax.rsqrt(variance + 1e-5), "dp")
        return normal * p["scale"] + p["bias"]

    def attention(x, p):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[name]) + p[name + "_bias"] for name in "qkv")
        scores = jnp.einsum("bshk,bthk->bhst", q, k) / jnp.sqrt(float(jax_models.SIZE))
        scores = grid(scores, "dp", "tp")
        causal = jnp.tril(jnp.ones((jax_models.SEQ, jax_models.SEQ), bool))
        scores = jnp.where(causal, scores, jnp.finfo(scores.dtype).min)
        weights = grid(jax.nn.softmax(scores, axis=-1), "dp", "tp")
        return jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhst,bthk->bshk", weights, v), p["out"])

    def gelu(x):
        inner = jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * grid(x * x * x, "dp", None, "tp"))
        return 0.5 * x * (1 + grid(jnp.tanh(inner), "dp", None, "tp"))

    def loss(p, tokens, labels):
        x = p["embedding"][tokens] + p["positions"][jnp.arange(jax_models.SEQ)]
        for block in p["blocks"]:
            x = x + attention(norm(x, block["norm1"]), block["attention"])
            x = x + gelu(norm(x, block["norm2"]) @ block["up"] + block["up_bias"]) @ block["down"]
        logits = norm(x, p["norm"]) @ p["embedding"].T
        probabilities = grid(jax.nn.log_softmax(logits), "dp", None, "tp")
        return -jnp.take_along_axis(probabilities, labels[..., None], axis=-1).mean()

    def place(shape, spec):
        return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=NamedSharding(GRID, spec))
    shapes = jax_models.unrolled_parameters() | {
        "embedding": jax_models.shape(64, jax_models.WIDTH)}
    specs = {"embedding": P("tp"), "positions": P(), "norm": NORM, "blocks": [BLOCK, BLOCK]}
    ids = place(jax_models.IDS, P("dp"))
    return loss, jax.tree.map(place, shapes, specs), ids, ids


def count(make):
    """Collectives of XLA's program and the bytes that a rank receives."""
    function, *arguments = make()
    text = jax.jit(function).lower(*arguments).compile().as_text()
    number, total = 0, 0
    for kinds, op in re.findall(r"= (\(?[^=]*?\)?) (all-reduce|all-gather|all-to-all|"
                                r"reduce-scatter|collective-permute)(?:-start)?\(", text):
        for element, sizes in re.findall(r"(f32|s32|pred)\[([0-9,]*)\]", kinds):
            size = numpy.prod([int(n) for n in sizes.split(",") if n], dtype=int)
            total += {"pred": 1}.get(element, 4) * int(size) * (6 if op == "all-reduce" else 3) // 4
        number += 1
    return {"collectives": number, "bytes": total}


if __name__ == "__main__":
    print(json.dumps({"logits": count(make_logits), "loss": count(make_loss)}))
