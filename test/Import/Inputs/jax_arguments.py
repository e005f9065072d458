"""JAX functions whose `make...` return example arguments in each form, and in forms that are
errors."""

import jax
import jax.numpy as jnp

W, X = jnp.ones((4, 4)), jax.ShapeDtypeStruct((2, 4), "float32")


def loss(w, x):
    return (x @ w).sum()


def tree(w, x=None):
    """Takes a dict or a tuple as one argument."""
    first, second = w.values() if isinstance(w, dict) else w
    return (first @ second).sum()


def named(w, *, x):
    return loss(w, x)


def make_tuple():
    return loss, (W, X)


def make_dict():
    return loss, {"x": X, "w": W}


def make_tree():
    return tree, {"a": W, "b": W}


def make_pair():
    return tree, (W, W)


def make_missing():
    return loss, W


def make_named():
    return named, {"w": W, "x": X}
