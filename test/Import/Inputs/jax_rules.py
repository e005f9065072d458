"""Losses whose gradients are their ops' gradients, and losses with other gradients."""

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


def stopped_bf16():
    def loss(w):
        return jnp.sum(w * lax.stop_gradient(w))
    return loss, shape(4, dtype=jnp.bfloat16)


def stopped_inside():
    """Fails in a function of jax, which has no line in this file."""
    return lambda w: jnp.linalg.inv(w).sum(), shape(4, 4)


# Other functions that are rejected.


def random():
    def loss(w, key):
        return jnp.sum(w * jax.random.bernoulli(key, 0.9, w.shape))
    return loss, shape(4), jax.random.key(0)


def callback():
    def loss(w):
        jax.debug.print("w {}", w)
        return w.sum()
    return loss, shape(4)


def looped():
    def loss(w):
        return lax.while_loop(lambda x: x.sum() < 9, lambda x: 2 * x, w).sum()
    return loss, shape(4)


def scatter():
    return lambda w: w.at[::2].max(0), shape(4)


def raising():
    def loss(w):
        raise ValueError("no loss\nof two lines")
    return loss, shape(4)


def nothing():
    return lambda w: None, shape(4)


def failing():
    raise ValueError("no function")
