"""Programs over 4 devices whose shardings are not supported."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402


def mesh(shape, names, order=(0, 1, 2, 3)):
    devices = jax.devices()
    return Mesh(numpy.array([devices[i] for i in order]).reshape(shape), names)


def sharded(shape, over, *spec):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(over, P(*spec)))


def matmul(w, x):
    return x @ w


def make_shard_map():
    over = mesh((4,), ("tp",))

    def by_parts(w, x):
        part = jax.shard_map(matmul, mesh=over, in_specs=(P(None, "tp"), P()),
                             out_specs=P(None, "tp"))
        return part(w, x)
    return by_parts, sharded((4, 8), over, None, "tp"), sharded((2, 4), over)


def make_two_meshes():
    return (matmul, sharded((4, 8), mesh((4,), ("tp",)), None, "tp"),
            sharded((2, 4), mesh((2, 2), ("dp", "tp")), "dp"))


def make_permuted():
    over = mesh((4,), ("tp",), (1, 0, 2, 3))
    return matmul, sharded((4, 8), over, None, "tp"), sharded((2, 4), over)


def make_permuted_inside():
    over = mesh((4,), ("tp",), (1, 0, 2, 3))

    def constrained(w, x):
        return jax.lax.with_sharding_constraint(x @ w, NamedSharding(over, P(None, "tp")))
    return constrained, jnp.ones((4, 8)), jnp.ones((2, 4))


def make_uneven():
    over = mesh((4,), ("tp",))
    return matmul, sharded((4, 6), over, None, "tp"), sharded((2, 4), over)
