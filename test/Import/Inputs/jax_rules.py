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


def with_moments(w, moments, x):
    """A loss by the moments of a batch, and the moving ones."""
    mean = x.mean(0)
    new = {"mean": 0.9 * moments["norm"]["mean"] + 0.1 * mean}
    return jnp.square((x - mean) * w["norm"]["scale"]).mean(), {"norm": new}


MOMENTS = {"norm": {"scale": shape(4)}}, {"norm": {"mean": shape(4)}}, shape(8, 4)


def moments():
    return with_moments, *MOMENTS


def named_moments():
    def losses(w, moments, x):
        loss, new = with_moments(w, moments, x)
        return {"batch_stats": new, "loss": loss}
    return losses, *MOMENTS


def gradients():
    """Results of a loss, of gradients and of moments: no loss to train on."""
    return jax.value_and_grad(with_moments, has_aux=True), *MOMENTS


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
