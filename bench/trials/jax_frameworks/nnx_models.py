"""Models in flax nnx."""

import functools

import jax
from flax import nnx
from jax import numpy as jnp

from jax_frameworks.settings import (CLASS, CLASSES, FFN, HEADS, IMAGES, LABELS, LAYERS, PATCH, SEQ,
                                     TOKENS, VOCAB, WIDTH, make_loss, rotate_neighbours)


def with_loss(make, inputs, labels):
    graph, parameters = nnx.split(nnx.eval_shape(lambda: make(nnx.Rngs(0))), nnx.Param)
    return make_loss(lambda state, x: nnx.merge(graph, state)(x), parameters, inputs, labels)


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm1 = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=rngs)
        self.norm2 = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.up = nnx.Linear(WIDTH, FFN, rngs=rngs)
        self.down = nnx.Linear(FFN, WIDTH, rngs=rngs)

    def __call__(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask=mask)
        return x + self.down(nnx.gelu(self.up(self.norm2(x))))


class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(VOCAB, WIDTH, rngs=rngs)
        self.positions = nnx.Embed(SEQ, WIDTH, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(LAYERS)])
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.head = nnx.Linear(WIDTH, VOCAB, use_bias=False, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens) + self.positions(jnp.arange(tokens.shape[1]))
        mask = nnx.make_causal_mask(tokens)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def decoder():
    return with_loss(Decoder, TOKENS, LABELS)


class ViT(nnx.Module):
    def __init__(self, rngs):
        self.patches = nnx.Conv(3, WIDTH, (PATCH, PATCH), strides=(PATCH, PATCH), padding="VALID",
                                rngs=rngs)
        self.positions = nnx.Param(nnx.initializers.normal(0.02)(rngs.params(), (16, WIDTH)))
        self.blocks = nnx.List([Block(rngs) for _ in range(LAYERS)])
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.head = nnx.Linear(WIDTH, CLASSES, rngs=rngs)

    def __call__(self, images):
        x = self.patches(images).reshape(images.shape[0], -1, WIDTH) + self.positions[...]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(axis=1))


def vit():
    return with_loss(ViT, IMAGES, CLASS)


class LlamaBlock(nnx.Module):
    def __init__(self, rngs):
        linear = functools.partial(nnx.Linear, use_bias=False, rngs=rngs)
        self.norm1, self.norm2 = nnx.RMSNorm(WIDTH, rngs=rngs), nnx.RMSNorm(WIDTH, rngs=rngs)
        self.q, self.out = linear(WIDTH, WIDTH), linear(WIDTH, WIDTH)
        self.k, self.v = linear(WIDTH, WIDTH // 2), linear(WIDTH, WIDTH // 2)
        self.gate, self.up = linear(WIDTH, FFN), linear(WIDTH, FFN)
        self.down = linear(FFN, WIDTH)

    def __call__(self, x):
        h = self.norm1(x)
        q, k, v = (part.reshape(*x.shape[:2], -1, WIDTH // HEADS)
                   for part in (self.q(h), self.k(h), self.v(h)))
        mixed = jax.nn.dot_product_attention(rotate_neighbours(q), rotate_neighbours(k), v,
                                             is_causal=True)
        x = x + self.out(mixed.reshape(x.shape))
        h = self.norm2(x)
        return x + self.down(nnx.silu(self.gate(h)) * self.up(h))


class Llama(nnx.Module):
    """RMS norms, rotary positions of neighbours, groups of heads, gated MLPs."""

    def __init__(self, rngs):
        self.embed = nnx.Embed(VOCAB, WIDTH, rngs=rngs)
        self.blocks = nnx.List([LlamaBlock(rngs) for _ in range(LAYERS)])
        self.norm = nnx.RMSNorm(WIDTH, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.embed.attend(self.norm(x))


def llama():
    return with_loss(Llama, TOKENS, LABELS)


class ScannedGPT(nnx.Module):
    """Layers as a vmap of modules, in a scan."""

    def __init__(self, rngs):
        @nnx.split_rngs(splits=LAYERS)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def make_blocks(rngs):
            return Block(rngs)
        self.embed = nnx.Embed(VOCAB, WIDTH, rngs=rngs)
        self.blocks = make_blocks(rngs)
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)

    def __call__(self, tokens):
        mask = nnx.make_causal_mask(tokens)

        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        def forward(x, block):
            return block(x, mask)
        return self.embed.attend(self.norm(forward(self.embed(tokens), self.blocks)))


def scanned_gpt():
    return with_loss(ScannedGPT, TOKENS, LABELS)
