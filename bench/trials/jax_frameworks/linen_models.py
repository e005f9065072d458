"""Models in flax linen."""

import functools

import flax.linen as nn
import jax
from jax import numpy as jnp

from jax_frameworks.settings import (BATCH, CLASS, CLASSES, FFN, HEADS, IMAGES, LABELS, LAYERS, PAD,
                                     PATCH, SEQ, TOKENS, VOCAB, WIDTH, make_loss, masked_loss,
                                     mean_loss, one_hot_loss, rotate)


def with_loss(model, inputs, labels, loss=mean_loss):
    parameters = jax.eval_shape(model.init, jax.random.key(0), inputs)["params"]
    return make_loss(lambda params, x: model.apply({"params": params}, x), parameters, inputs,
                     labels, loss)


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(WIDTH)(nn.gelu(nn.Dense(FFN)(x)))


class DecoderBlock(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS, deterministic=True)(h, mask=mask)
        return x + MLP()(nn.LayerNorm()(x))


class GPT(nn.Module):
    """A decoder with a tied head."""

    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(VOCAB, WIDTH)
        positions = self.param("positions", nn.initializers.normal(0.02), (SEQ, WIDTH))
        x = nn.Dropout(0.1, deterministic=True)(embed(tokens) + positions)
        mask = nn.make_causal_mask(tokens)
        for _ in range(LAYERS):
            x = DecoderBlock()(x, mask)
        return embed.attend(nn.LayerNorm()(x))


def gpt():
    return with_loss(GPT(), TOKENS, LABELS)


class PaddedGPT(nn.Module):
    """A decoder whose mask is causal and hides padding."""

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCAB, WIDTH)(tokens)
        x = x + nn.Embed(SEQ, WIDTH, name="positions")(jnp.arange(SEQ)[None])
        mask = nn.combine_masks(nn.make_causal_mask(tokens),
                                nn.make_attention_mask(tokens != PAD, tokens != PAD))
        for _ in range(LAYERS):
            x = DecoderBlock()(x, mask)
        return nn.Dense(VOCAB, use_bias=False)(nn.LayerNorm(use_bias=False)(x))


def padded_gpt():
    return with_loss(PaddedGPT(), TOKENS, LABELS, masked_loss)


class EncoderBlock(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        attended = nn.SelfAttention(num_heads=HEADS, deterministic=True)(x, mask)
        x = nn.LayerNorm(epsilon=1e-12)(x + attended)
        h = nn.Dense(WIDTH)(nn.gelu(nn.Dense(FFN)(x), approximate=False))
        return nn.LayerNorm(epsilon=1e-12)(x + h)


class Encoder(nn.Module):
    """BERT: norms after attention and MLP, a mask of padding, a head for each token."""

    @nn.compact
    def __call__(self, tokens):
        table = nn.Embed(VOCAB, WIDTH, name="words")
        x = table(tokens) + nn.Embed(64, WIDTH, name="positions")(jnp.arange(SEQ))
        x = nn.LayerNorm(epsilon=1e-12)(x)
        mask = nn.make_attention_mask(tokens > PAD, tokens > PAD)
        for _ in range(LAYERS):
            x = EncoderBlock()(x, mask)
        x = nn.LayerNorm(epsilon=1e-12)(nn.gelu(nn.Dense(WIDTH)(x), approximate=False))
        bias = self.param("bias", nn.initializers.zeros, (VOCAB,))
        return x @ table.embedding.T + bias


def encoder():
    return with_loss(Encoder(), TOKENS, LABELS, masked_loss)


class ViT(nn.Module):
    """A vision transformer with a class token."""

    @nn.compact
    def __call__(self, images):
        x = nn.Conv(WIDTH, (PATCH, PATCH), strides=(PATCH, PATCH), padding="VALID")(images)
        x = x.reshape(x.shape[0], -1, WIDTH)
        token = self.param("class", nn.initializers.zeros, (1, 1, WIDTH))
        x = jnp.concatenate([jnp.tile(token, (x.shape[0], 1, 1)), x], axis=1)
        x = x + self.param("positions", nn.initializers.normal(0.02), (1, x.shape[1], WIDTH))
        for _ in range(LAYERS):
            x = DecoderBlock()(x, None)
        return nn.Dense(CLASSES)(nn.LayerNorm()(x)[:, 0])


def vit():
    return with_loss(ViT(), IMAGES, CLASS, one_hot_loss)


class Residual(nn.Module):
    features: int
    strides: int = 1

    @nn.compact
    def __call__(self, x):
        conv = functools.partial(nn.Conv, use_bias=False)
        h = nn.relu(nn.GroupNorm(num_groups=4)(conv(self.features, (3, 3), self.strides)(x)))
        h = nn.GroupNorm(num_groups=4)(conv(self.features, (3, 3))(h))
        if x.shape != h.shape:
            x = nn.GroupNorm(num_groups=4)(conv(self.features, (1, 1), self.strides)(x))
        return nn.relu(x + h)


class ConvNet(nn.Module):
    """Residual blocks of convolutions with group norms, with both kinds of pools."""

    @nn.compact
    def __call__(self, images):
        x = nn.relu(nn.GroupNorm(num_groups=4)(nn.Conv(16, (7, 7), 2)(images)))
        x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        x = Residual(32, 2)(Residual(16)(x))
        x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        return nn.Dense(CLASSES)(x.mean((1, 2)))


def convnet():
    return with_loss(ConvNet(), IMAGES, CLASS)


class ScannedBlock(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        return DecoderBlock()(x, mask), None


class ScannedGPT(nn.Module):
    """A decoder whose layers are a scan of checkpoints over stacked parameters."""

    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(VOCAB, WIDTH)
        layers = nn.scan(nn.remat(ScannedBlock, prevent_cse=False), variable_axes={"params": 0},
                         split_rngs={"params": True}, in_axes=nn.broadcast, length=3)
        x, _ = layers()(embed(tokens), nn.make_causal_mask(tokens))
        return embed.attend(nn.LayerNorm()(x))


def scanned_gpt():
    return with_loss(ScannedGPT(), TOKENS, LABELS)


class LlamaAttention(nn.Module):
    @nn.compact
    def __call__(self, x):
        heads = functools.partial(nn.DenseGeneral, use_bias=False)
        size = WIDTH // HEADS
        q = rotate(heads((HEADS, size), name="query")(x))
        k = rotate(heads((HEADS // 2, size), name="key")(x))
        v = heads((HEADS // 2, size), name="value")(x)
        k, v = (jnp.repeat(part, 2, axis=-2) for part in (k, v))
        mask = nn.make_causal_mask(jnp.ones((BATCH, SEQ)))
        mixed = nn.dot_product_attention(q, k, v, mask=mask)
        return heads(WIDTH, axis=(-2, -1), name="out")(mixed)


class Llama(nn.Module):
    """RMS norms, rotary positions, groups of heads, gated MLPs."""

    @nn.compact
    def __call__(self, tokens):
        dense = functools.partial(nn.Dense, use_bias=False)
        x = nn.Embed(VOCAB, WIDTH)(tokens)
        for _ in range(LAYERS):
            x = x + LlamaAttention()(nn.RMSNorm()(x))
            h = nn.RMSNorm()(x)
            x = x + dense(WIDTH)(nn.silu(dense(FFN)(h)) * dense(FFN)(h))
        return dense(VOCAB)(nn.RMSNorm()(x))


def llama():
    return with_loss(Llama(), TOKENS, LABELS)


class Translator(nn.Module):
    """An encoder with a decoder that attends to it, and whose tokens are one later."""

    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(VOCAB, WIDTH)
        source = embed(tokens)
        for _ in range(LAYERS):
            source = DecoderBlock()(source, None)
        shifted = jnp.pad(tokens, ((0, 0), (1, 0)))[:, :-1]
        x, mask = embed(shifted), nn.make_causal_mask(tokens)
        for _ in range(LAYERS):
            h = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS)(h, mask=mask)
            h = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS)(h, source)
            x = x + MLP()(nn.LayerNorm()(x))
        return nn.Dense(VOCAB)(nn.LayerNorm()(x))


def translator():
    return with_loss(Translator(), TOKENS, LABELS)


class ShiftedGPT(nn.Module):
    """A decoder that shifts its tokens to the right itself."""

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCAB, WIDTH)(jnp.pad(tokens, ((0, 0), (1, 0)))[:, :-1])
        mask = nn.make_causal_mask(tokens)
        for _ in range(LAYERS):
            x = DecoderBlock()(x, mask)
        return nn.Dense(VOCAB)(nn.LayerNorm()(x))


def shifted_gpt():
    return with_loss(ShiftedGPT(), TOKENS, LABELS)


class OneHotGPT(nn.Module):
    """A decoder without positions; its loss is of one-hot labels."""

    @nn.compact
    def __call__(self, tokens):
        x, mask = nn.Embed(VOCAB, WIDTH)(tokens), nn.make_causal_mask(tokens)
        for _ in range(LAYERS):
            x = DecoderBlock()(x, mask)
        return nn.Dense(VOCAB)(nn.LayerNorm()(x))


def one_hot_gpt():
    return with_loss(OneHotGPT(), TOKENS, LABELS, one_hot_loss)


class BatchNormNet(nn.Module):
    is_training: bool

    @nn.compact
    def __call__(self, images):
        x = nn.Conv(16, (3, 3), use_bias=False)(images)
        x = nn.relu(nn.BatchNorm(use_running_average=not self.is_training)(x))
        return nn.Dense(CLASSES)(x.mean((1, 2)))


def batch_norm():
    """Batch norms with given statistics."""
    model = BatchNormNet(is_training=False)
    variables = jax.eval_shape(model.init, jax.random.key(0), IMAGES)
    given = jax.tree.map(lambda leaf: jnp.full(leaf.shape, 0.7), variables["batch_stats"])
    return make_loss(lambda params, x: model.apply({"params": params, "batch_stats": given}, x),
                     variables["params"], IMAGES, CLASS)


def batch_norm_in_training():
    """Batch norms that write their statistics."""
    model = BatchNormNet(is_training=True)
    variables = jax.eval_shape(model.init, jax.random.key(0), IMAGES)

    def loss(params, statistics, images, labels):
        logits, written = model.apply({"params": params, "batch_stats": statistics}, images,
                                      mutable=["batch_stats"])
        return mean_loss(logits, labels), written["batch_stats"]
    return loss, variables["params"], variables["batch_stats"], IMAGES, CLASS


def dropout_in_training():
    model = nn.Sequential([nn.Embed(VOCAB, WIDTH), nn.Dropout(0.1, deterministic=False),
                           nn.Dense(VOCAB)])
    parameters = jax.eval_shape(model.init, jax.random.key(0), TOKENS)["params"]
    rngs = {"dropout": jax.random.key(1)}
    return make_loss(lambda params, x: model.apply({"params": params}, x, rngs=rngs), parameters,
                     TOKENS, LABELS)
