"""Sizes and losses of the models of all frameworks."""

import jax
import numpy
import optax
from jax import numpy as jnp

BATCH, SEQ, VOCAB, WIDTH, HEADS, FFN, LAYERS = 4, 24, 67, 64, 4, 128, 2
IMAGE, PATCH, CHANNELS, CLASSES = 32, 8, 3, 10
PAD = 0
IMAGES = jax.ShapeDtypeStruct((BATCH, IMAGE, IMAGE, CHANNELS), jnp.float32)


def draw(seed, limit, *sizes):
    return numpy.random.default_rng(seed).integers(limit, size=sizes, dtype=numpy.int32)


TOKENS, LABELS = draw(0, VOCAB, BATCH, SEQ), draw(1, VOCAB, BATCH, SEQ)
CLASS = draw(2, CLASSES, BATCH)


def mean_loss(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def one_hot_loss(logits, labels):
    return optax.softmax_cross_entropy(logits, jax.nn.one_hot(labels, logits.shape[-1])).mean()


def masked_loss(logits, labels):
    """The mean of the losses of labels that are no padding."""
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    mask = (labels != PAD).astype(losses.dtype)
    return (losses * mask).sum() / mask.sum()


def make_loss(apply, parameters, inputs, labels, loss=mean_loss):
    """A loss of parameters, of tokens or images, and of labels; and its arguments."""
    def loss_of_images(params, images, labels):
        return loss(apply(params, images), labels)

    def loss_of_tokens(params, tokens, labels):
        return loss(apply(params, tokens), labels)
    return loss_of_images if inputs is IMAGES else loss_of_tokens, parameters, inputs, labels


def rotary_tables(size):
    """Cosines and sines of each position, for heads of a size."""
    frequencies = 10000.0 ** (-jnp.arange(0, size, 2) / size)
    angles = jnp.outer(jnp.arange(SEQ), frequencies)
    return jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]


def rotate(x):
    """Rotary positions of [..., seq, heads, size], halves of a head as pairs."""
    cos, sin = rotary_tables(x.shape[-1])
    low, high = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


def rotate_neighbours(x):
    """Rotary positions of [..., seq, heads, size], neighbours in a head as pairs."""
    cos, sin = rotary_tables(x.shape[-1])
    even, odd = x[..., ::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, odd * cos + even * sin], axis=-1).reshape(x.shape)
