"""Small transformers as JAX users write them. `make...` return a function and the shapes of its
arguments, the parameters first. The .mlir files in this folder are generated from them."""

import functools

import jax
import jax.numpy as jnp
from jax import lax

BATCH, SEQ, VOCAB, WIDTH, HEADS, SIZE, FFN = 2, 24, 67, 48, 4, 12, 96


def shape(*sizes, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(sizes, dtype)


IDS = shape(BATCH, SEQ, dtype=jnp.int32)


def mean_loss(logits, labels):
    log_probabilities = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(log_probabilities, labels[..., None], axis=-1)
    return -picked.mean()


# Layers one by one, learned positions, attention written out, layer norms, GELU.


def layer_norm(x, p):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def attention(x, p):
    q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[name]) + p[name + "_bias"] for name in "qkv")
    scores = jnp.einsum("bshk,bthk->bhst", q, k) / jnp.sqrt(float(SIZE))
    causal = jnp.tril(jnp.ones((SEQ, SEQ), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, jnp.finfo(scores.dtype).min), axis=-1)
    return jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhst,bthk->bshk", weights, v), p["out"])


def unrolled_logits(p, tokens):
    x = p["embedding"][tokens] + p["positions"][jnp.arange(SEQ)]
    for block in p["blocks"]:
        x = x + attention(layer_norm(x, block["norm1"]), block["attention"])
        hidden = jax.nn.gelu(layer_norm(x, block["norm2"]) @ block["up"] + block["up_bias"])
        x = x + hidden @ block["down"]
    return layer_norm(x, p["norm"]) @ p["embedding"].T


def unrolled_parameters():
    norm = {"scale": shape(WIDTH), "bias": shape(WIDTH)}
    projections = {name: shape(WIDTH, HEADS, SIZE) for name in "qkv"}
    biases = {name + "_bias": shape(HEADS, SIZE) for name in "qkv"}
    block = {"norm1": norm, "norm2": norm, "up": shape(WIDTH, FFN), "up_bias": shape(FFN),
             "down": shape(FFN, WIDTH),
             "attention": {**projections, **biases, "out": shape(HEADS, SIZE, WIDTH)}}
    return {"embedding": shape(VOCAB, WIDTH), "positions": shape(64, WIDTH), "norm": norm,
            "blocks": [block, block]}


def make_unrolled_logits():
    return lambda p, tokens: {"logits": unrolled_logits(p, tokens)}, unrolled_parameters(), IDS


def make_unrolled_loss():
    def loss(p, tokens, labels):
        return mean_loss(unrolled_logits(p, tokens), labels)
    return loss, unrolled_parameters(), IDS, IDS


# Layers in a scan with checkpoints, rotary positions, two groups of heads, RMS norms, SiLU.


def rms_norm(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale


def rotate(x):
    half = SIZE // 2
    frequencies = 10000.0 ** (-jnp.arange(half) / half)
    angles = jnp.arange(SEQ)[:, None] * frequencies
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    low, high = x[..., :half], x[..., half:]
    return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.nothing_saveable)
def scanned_block(x, p):
    h = rms_norm(x, p["norm1"])
    q = rotate((h @ p["q"]).reshape(BATCH, SEQ, HEADS, SIZE))
    k = rotate((h @ p["k"]).reshape(BATCH, SEQ, HEADS // 2, SIZE))
    v = (h @ p["v"]).reshape(BATCH, SEQ, HEADS // 2, SIZE)
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + mixed.reshape(BATCH, SEQ, WIDTH) @ p["out"]
    h = rms_norm(x, p["norm2"])
    return x + (jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]


def scanned_logits(p, tokens):
    x = jnp.take(p["embedding"], tokens, axis=0)
    x, _ = lax.scan(lambda x, layer: (scanned_block(x, layer), None), x, p["layers"])
    return rms_norm(x, p["norm"]) @ p["head"]


def scanned_parameters():
    layers = {"norm1": (WIDTH,), "norm2": (WIDTH,), "q": (WIDTH, HEADS * SIZE),
              "k": (WIDTH, HEADS // 2 * SIZE), "v": (WIDTH, HEADS // 2 * SIZE),
              "out": (HEADS * SIZE, WIDTH), "gate": (WIDTH, FFN), "up": (WIDTH, FFN),
              "down": (FFN, WIDTH)}
    return {"embedding": shape(VOCAB, WIDTH), "norm": shape(WIDTH), "head": shape(WIDTH, VOCAB),
            "layers": {name: shape(3, *sizes) for name, sizes in layers.items()}}


def make_scanned_logits():
    return lambda p, tokens: {"logits": scanned_logits(p, tokens)}, scanned_parameters(), IDS


def make_scanned_loss():
    def loss(p, tokens, labels):
        return mean_loss(scanned_logits(p, tokens), labels)
    return loss, scanned_parameters(), IDS, IDS


# Every group of ops that is one op of nn.


def patterns_loss(p, tokens, labels):
    x = p["embed"][tokens]
    y = rms_norm(x, p["gain"])
    q, k, v = (jnp.einsum("bsd,dhk->bshk", y, p[name]) for name in "qkv")
    q, k = rotate(q), rotate(k)
    x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ p["out"]
    y = layer_norm(x, p["norm"])
    x = x + jax.nn.silu(y @ p["gate"]) * (y @ p["up"])
    x = x + jax.nn.gelu(x @ p["erf"], approximate=False)
    x = x + jax.nn.gelu(x @ p["tanh"])
    x = x * jax.nn.softmax(x)
    return mean_loss(x @ p["embed"].T, labels)


def make_patterns():
    heads = {"q": shape(WIDTH, HEADS, SIZE), "k": shape(WIDTH, HEADS // 2, SIZE),
             "v": shape(WIDTH, HEADS // 2, SIZE)}
    square = {name: shape(WIDTH, WIDTH) for name in ("out", "gate", "up", "erf", "tanh")}
    norms = {"gain": shape(WIDTH), "norm": {"scale": shape(WIDTH), "bias": shape(WIDTH)}}
    return patterns_loss, {"embed": shape(VOCAB, WIDTH), **heads, **square, **norms}, IDS, IDS


# flax's layer norm.


def flax_norm(x, p):
    mean = x.mean(-1)
    variance = jnp.maximum(0.0, lax.square(x).mean(-1) - lax.square(mean))
    scale = lax.rsqrt(variance[..., None] + 1e-6) * p["scale"]
    return (x - mean[..., None]) * scale + p["bias"]


def make_flax_norm():
    def loss(p, tokens):
        return jnp.square(flax_norm(p["embedding"][tokens], p)).mean()
    return loss, {"embedding": shape(VOCAB, WIDTH), "scale": shape(WIDTH), "bias": shape(WIDTH)}, \
        IDS


# flax's masks, as floats, booleans and integers, and optax's loss.


def flax_mask(tokens, kind):
    positions = jnp.broadcast_to(jnp.arange(SEQ, dtype=jnp.int32), tokens.shape)
    causal = jnp.expand_dims(positions[:, :, None] >= positions[:, None, :], -3)
    if kind == "booleans":
        return jnp.logical_and(causal, jnp.ones_like(causal))
    if kind == "integers":
        return jnp.minimum(causal.astype(jnp.int32), 1) != 0
    return causal.astype(jnp.float32) != 0


def flax_attention(x, p, mask):
    q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[name]) for name in "qkv")
    scores = jnp.einsum("bshk,bthk->bhst", q / jnp.sqrt(q.shape[-1]).astype(q.dtype), k)
    weights = jax.nn.softmax(jnp.where(mask, scores, jnp.finfo(scores.dtype).min))
    return jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhst,bthk->bshk", weights, v), p["out"])


def make_flax_masks():
    def loss(p, tokens, labels):
        x = p["embedding"][tokens]
        for kind in ("floats", "booleans", "integers"):
            x = x + flax_attention(x, p[kind], flax_mask(tokens, kind))
        logits = x @ p["embedding"].T
        chosen = jnp.take_along_axis(logits, labels[..., None], axis=-1).take(0, axis=-1)
        return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()
    heads = {name: shape(WIDTH, HEADS, SIZE) for name in "qkv"} | {"out": shape(HEADS, SIZE, WIDTH)}
    return loss, {"embedding": shape(VOCAB, WIDTH), "floats": heads, "booleans": heads,
                  "integers": heads}, IDS, IDS


# Functions at the corners of their gradients, and results that are nearly 0.


def kinks(p, scale):
    x, twice = p["corners"], lambda f: jax.checkpoint(jax.vmap(jax.jit(f)))
    y = jax.nn.relu(x) + 2 * jax.nn.relu6(x) + 3 * jnp.maximum(x, 0) + 5 * jnp.minimum(6, x)
    y = y + 7 * twice(jax.nn.relu)(x) + 2 * traced(x)
    y = y + jnp.clip(x, 0, 6) + 2 * lax.clamp(0.0, x, 6.0)
    y = y + 3 * jax.nn.softplus(x) + 5 * jax.nn.leaky_relu(x) + 7 * jnp.logaddexp(x, 6.0)
    y = y + x.max(-1, keepdims=True) + 2 * x.min() + 3 * jax.nn.elu(x) + jax.nn.hard_tanh(x / 6)
    picked = jnp.log(jax.nn.sigmoid(p["small"])) * scale
    return y.sum() + picked.sum()


traced = jax.jit(jax.nn.relu)


def make_kinks():
    traced(jnp.zeros((2, 3)))
    return kinks, {"corners": jnp.array([[-1.0, 0.0, 6.0], [6.0, 6.0, 0.0]]),
                   "small": jnp.array([-30.0, -80.0, 2.0])}, jnp.array([1, 2, 3])
