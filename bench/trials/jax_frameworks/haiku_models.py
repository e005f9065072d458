"""Models in haiku."""

import haiku as hk
import jax
import numpy as np
from jax import numpy as jnp

from jax_frameworks.settings import (CLASS, CLASSES, HEADS, IMAGES, LABELS, LAYERS, PAD, SEQ,
                                     TOKENS, VOCAB, WIDTH, make_loss, masked_loss, mean_loss)


def with_loss(forward, inputs, labels, loss=mean_loss):
    model = hk.without_apply_rng(hk.transform(forward))
    parameters = jax.eval_shape(model.init, jax.random.key(0), inputs)
    return make_loss(model.apply, parameters, inputs, labels, loss)


def layer_norm(x):
    return hk.LayerNorm(axis=-1, create_scale=True, create_offset=True)(x)


class Transformer(hk.Module):
    """The stack of haiku's example."""

    def __call__(self, x, mask):
        initializer = hk.initializers.VarianceScaling(2 / LAYERS)
        for _ in range(LAYERS):
            attention = hk.MultiHeadAttention(num_heads=HEADS, key_size=WIDTH // HEADS,
                                              model_size=WIDTH, w_init=initializer)
            h = layer_norm(x)
            x = x + attention(h, h, h, mask=mask)
            dense = hk.Sequential([hk.Linear(4 * WIDTH, w_init=initializer), jax.nn.gelu,
                                   hk.Linear(WIDTH, w_init=initializer)])
            x = x + dense(layer_norm(x))
        return layer_norm(x)


def transformer():
    """The language model of haiku's example: causal, padding is hidden and does not count."""
    def forward(tokens):
        mask = (tokens != PAD)[:, None, None, :] * np.tril(np.ones((1, 1, SEQ, SEQ)))
        embedding = hk.Embed(VOCAB, WIDTH, w_init=hk.initializers.TruncatedNormal(stddev=0.02))
        positions = hk.get_parameter("positional_embeddings", [SEQ, WIDTH],
                                     init=hk.initializers.TruncatedNormal(stddev=0.02))
        return hk.Linear(VOCAB)(Transformer()(embedding(tokens) + positions, mask))
    return with_loss(forward, TOKENS, LABELS, masked_loss)


def causal_transformer():
    """One whose mask is causal alone, with one-hot embeddings and a tied head."""
    def forward(tokens):
        table = hk.Embed(VOCAB, WIDTH, lookup_style="ONE_HOT")
        mask = jnp.tril(jnp.ones((1, 1, SEQ, SEQ)))
        return Transformer()(table(tokens), mask) @ table.embeddings.T
    return with_loss(forward, TOKENS, LABELS)


def one_hot_transformer():
    """One whose loss is a sum over one-hot labels, of those that are no padding."""
    def forward(tokens):
        mask = jnp.tril(jnp.ones((1, 1, SEQ, SEQ)))
        return hk.Linear(VOCAB)(Transformer()(hk.Embed(VOCAB, WIDTH)(tokens), mask))

    def loss(logits, labels):
        picked = (jax.nn.one_hot(labels, VOCAB) * jax.nn.log_softmax(logits)).sum(axis=-1)
        mask = labels > PAD
        return -(picked * mask).sum() / mask.sum()
    return with_loss(forward, TOKENS, LABELS, loss)


class Block(hk.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.channels, self.stride = channels, stride

    def __call__(self, x):
        shortcut = hk.Conv2D(self.channels, 1, self.stride, with_bias=False)(x)
        h = hk.Conv2D(self.channels, 3, self.stride, with_bias=False)(x)
        h = jax.nn.relu(hk.GroupNorm(groups=4)(h))
        h = hk.GroupNorm(groups=4)(hk.Conv2D(self.channels, 3, with_bias=False)(h))
        return jax.nn.relu(h + hk.LayerNorm((1, 2), True, True)(shortcut))


def resnet():
    """Residual blocks without statistics of a batch."""
    def forward(images):
        x = hk.MaxPool(3, 2, "SAME")(hk.Conv2D(16, 7, 2)(images))
        x = Block(32, 2)(Block(16, 1)(x))
        x = hk.AvgPool(2, 2, "VALID")(x)
        return hk.Linear(CLASSES)(hk.Flatten()(x))
    return with_loss(forward, IMAGES, CLASS)


def mlp_tokens():
    """hk.nets.MLP and a depthwise convolution over a sequence."""
    def forward(tokens):
        x = hk.Embed(VOCAB, WIDTH)(tokens)
        h = jnp.pad(x, ((0, 0), (3, 0), (0, 0)))
        x = x + hk.Conv1D(WIDTH, 4, padding="VALID", feature_group_count=WIDTH)(h)
        x = x + hk.nets.MLP([2 * WIDTH, WIDTH], activation=jax.nn.silu)(hk.RMSNorm(-1)(x))
        return hk.Linear(VOCAB)(x)
    return with_loss(forward, TOKENS, LABELS)


def layer_stack():
    """hk.layer_stack: the parameters of all layers are stacked."""
    def forward(tokens):
        x, mask = hk.Embed(VOCAB, WIDTH)(tokens), jnp.tril(jnp.ones((1, 1, SEQ, SEQ)))

        @hk.experimental.layer_stack(LAYERS)
        def layer(x):
            h = layer_norm(x)
            x = x + hk.MultiHeadAttention(HEADS, WIDTH // HEADS, w_init_scale=1.0,
                                          model_size=WIDTH)(h, h, h, mask=mask)
            return x + hk.Linear(WIDTH)(jax.nn.gelu(hk.Linear(2 * WIDTH)(layer_norm(x))))
        return hk.Linear(VOCAB)(layer(x))
    return with_loss(forward, TOKENS, LABELS)
