"""Models in equinox, whose layers take one token or one sample and are mapped by jax.vmap."""

import equinox as eqx
import jax
from jax import numpy as jnp

from jax_frameworks.settings import (CLASS, CLASSES, FFN, HEADS, IMAGE, IMAGES, LABELS, LAYERS,
                                     PATCH, SEQ, TOKENS, VOCAB, WIDTH, make_loss)


def with_loss(make, inputs, labels):
    return make_loss(lambda model, x: jax.vmap(model)(x),
                     eqx.filter_eval_shape(make, jax.random.key(0)), inputs, labels)


class Block(eqx.Module):
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    attention: eqx.nn.MultiheadAttention
    mlp: eqx.nn.MLP

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.norm1, self.norm2 = eqx.nn.LayerNorm(WIDTH), eqx.nn.LayerNorm(WIDTH)
        self.attention = eqx.nn.MultiheadAttention(HEADS, WIDTH, key=first)
        self.mlp = eqx.nn.MLP(WIDTH, WIDTH, FFN, depth=1, activation=jax.nn.gelu, key=second)

    def __call__(self, x, mask=None):
        h = jax.vmap(self.norm1)(x)
        x = x + self.attention(h, h, h, mask=mask)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norm2)(x))


class GPT(eqx.Module):
    embedding: eqx.nn.Embedding
    positions: jax.Array
    blocks: list
    norm: eqx.nn.LayerNorm
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, LAYERS + 3)
        self.embedding = eqx.nn.Embedding(VOCAB, WIDTH, key=keys[0])
        self.positions = jax.random.normal(keys[1], (SEQ, WIDTH))
        self.blocks = [Block(key) for key in keys[3:]]
        self.norm = eqx.nn.LayerNorm(WIDTH)
        self.head = eqx.nn.Linear(WIDTH, VOCAB, use_bias=False, key=keys[2])

    def __call__(self, tokens):
        x = jax.vmap(self.embedding)(tokens) + self.positions
        mask = jnp.tril(jnp.ones((SEQ, SEQ), bool))
        for block in self.blocks:
            x = block(x, mask)
        return jax.vmap(self.head)(jax.vmap(self.norm)(x))


def gpt():
    return with_loss(GPT, TOKENS, LABELS)


class RotaryGPT(eqx.Module):
    """eqx.nn's rotary positions of queries and keys, RMS norms, layers in a scan."""
    embedding: eqx.nn.Embedding
    rope: eqx.nn.RotaryPositionalEmbedding
    blocks: Block
    norm: eqx.nn.RMSNorm

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.embedding = eqx.nn.Embedding(VOCAB, WIDTH, key=first)
        self.rope = eqx.nn.RotaryPositionalEmbedding(WIDTH // HEADS)
        self.blocks = eqx.filter_vmap(Block)(jax.random.split(second, LAYERS))
        self.norm = eqx.nn.RMSNorm(WIDTH)

    def __call__(self, tokens):
        def process_heads(q, k, v):
            turn = jax.vmap(self.rope, in_axes=1, out_axes=1)
            return turn(q), turn(k), v
        arrays, rest = eqx.partition(self.blocks, eqx.is_array)
        mask = jnp.tril(jnp.ones((SEQ, SEQ), bool))

        def forward(x, layer):
            block = eqx.combine(layer, rest)
            h = jax.vmap(block.norm1)(x)
            x = x + block.attention(h, h, h, mask=mask, process_heads=process_heads)
            return x + jax.vmap(block.mlp)(jax.vmap(block.norm2)(x)), None
        x, _ = jax.lax.scan(forward, jax.vmap(self.embedding)(tokens), arrays)
        return jax.vmap(self.norm)(x) @ self.embedding.weight.T


def rotary_gpt():
    return with_loss(RotaryGPT, TOKENS, LABELS)


class MixerBlock(eqx.Module):
    patch_mixer: eqx.nn.MLP
    hidden_mixer: eqx.nn.MLP
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm

    def __init__(self, patches, key):
        first, second = jax.random.split(key)
        self.patch_mixer = eqx.nn.MLP(patches, patches, 32, depth=1, key=first)
        self.hidden_mixer = eqx.nn.MLP(WIDTH, WIDTH, FFN, depth=1, key=second)
        self.norm1 = eqx.nn.LayerNorm((WIDTH, patches))
        self.norm2 = eqx.nn.LayerNorm((patches, WIDTH))

    def __call__(self, y):
        y = y + jax.vmap(self.patch_mixer)(self.norm1(y))
        y = y.T
        y = y + jax.vmap(self.hidden_mixer)(self.norm2(y))
        return y.T


class Mixer(eqx.Module):
    """An MLP mixer, as in equinox's example."""
    conv_in: eqx.nn.Conv2d
    blocks: list
    norm: eqx.nn.LayerNorm
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, LAYERS + 2)
        patches = (IMAGE // PATCH) ** 2
        self.conv_in = eqx.nn.Conv2d(3, WIDTH, PATCH, stride=PATCH, key=keys[0])
        self.blocks = [MixerBlock(patches, key) for key in keys[2:]]
        self.norm = eqx.nn.LayerNorm((WIDTH, patches))
        self.head = eqx.nn.Linear(WIDTH, CLASSES, key=keys[1])

    def __call__(self, image):
        y = self.conv_in(jnp.transpose(image, (2, 0, 1)))
        y = y.reshape(WIDTH, -1)
        for block in self.blocks:
            y = block(y)
        return self.head(self.norm(y).mean(axis=1))


def mixer():
    return with_loss(Mixer, IMAGES, CLASS)


def convnet():
    def make(key):
        keys = jax.random.split(key, 3)
        return eqx.nn.Sequential([
            eqx.nn.Lambda(lambda image: jnp.transpose(image, (2, 0, 1))),
            eqx.nn.Conv2d(3, 16, 3, padding=1, key=keys[0]),
            eqx.nn.GroupNorm(4, 16),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.MaxPool2d(2, 2),
            eqx.nn.Conv2d(16, 32, 3, padding=1, key=keys[1]),
            eqx.nn.GroupNorm(4, 32),
            eqx.nn.Lambda(jax.nn.silu),
            eqx.nn.AvgPool2d(4, 4),
            eqx.nn.Lambda(jnp.ravel),
            eqx.nn.Linear(512, CLASSES, key=keys[2])])
    return with_loss(make, IMAGES, CLASS)
