"""Losses whose gradients are those of their ops, and losses whose are not."""

import jax
import jax.numpy as jnp
from jax import lax


def shape(*sizes, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(sizes, dtype)


def accepted():
    def loss(w, ids):
        weights = lax.stop_gradient(ids.astype(jnp.float32))
        x = jax.nn.relu(jax.nn.silu(w)) * weights[:, None]
        return -jax.nn.log_softmax(jax.nn.softmax(x)).mean() + jax.nn.logsumexp(w)
    return loss, shape(4, 8), shape(4, dtype=jnp.int32)


def stopped():
    def loss(w):
        return jnp.sum(w * lax.stop_gradient(w))
    return loss, shape(4)


@jax.custom_jvp
def straight_through(x):
    return jnp.round(x)


straight_through.defjvps(lambda tangent, _, x: tangent)


def custom_jvp():
    return lambda w: straight_through(w).sum(), shape(4)


@jax.custom_vjp
def scaled(x):
    return 2 * x


scaled.defvjp(lambda x: (scaled(x), None), lambda _, grad: (grad,))


def custom_vjp():
    return lambda w: scaled(w).sum(), shape(4)
