"""JAX functions whose `make...` return example arguments in each form, and in forms that are
errors."""

import dataclasses
from typing import Callable

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


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Module:
    """A module as in equinox, with a function and settings among its leaves."""
    weight: jax.Array
    activation: Callable
    is_scaled: bool
    scale: float

    def __call__(self, x):
        y = self.activation(x @ self.weight)
        return self.scale * y if self.is_scaled else y


def make_module():
    module = Module(jax.ShapeDtypeStruct((4, 4), "float32"), jnp.tanh, True, 3.0)
    return lambda model, x: model["layer"](x).sum(), {"layer": module}, X


def make_missing():
    return loss, W


def make_named():
    return named, {"w": W, "x": X}
