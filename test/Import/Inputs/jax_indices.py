"""Rows at run-time indices, orders and windows, over 2 x 2 devices: python jax_indices.py COMPILER FOLDER
imports each of them, compares it with JAX, and its program over the devices with the graph."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

GRID = Mesh(numpy.array(jax.devices()).reshape(2, 2), ("a", "b"))


def floats(*shape, spec=()):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(GRID, P(*spec)))


def ids(*numbers, spec=()):
    return jax.device_put(jnp.array(numbers, jnp.int32), NamedSharding(GRID, P(*spec)))


def lookup(x, index, take):
    """Elements of x, each of which counts differently."""
    rows = take(x, index)
    return (rows * jnp.arange(1.0, rows.size + 1).reshape(rows.shape)).sum()


def make(take, x, *index):
    return lambda x, *index: lookup(x, index, lambda x, index: take(x, *index)), x, *index


def make_written(write, x, update, index):
    """A loss of two parameters: a tensor and what is written to it."""
    return (lambda p, index: lookup(p, index, lambda p, index: write(p["x"], p["update"], index)),
            {"x": x, "update": update}, index)


def ties():
    """Rows with equal elements."""
    rows = jnp.array([[1, 1, 2, 2, 2, 0, 3, 3], [3, 2, 1, 3, 2, 1, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1],
                      [5, 4, 3, 2, 2, 3, 4, 5]], jnp.float32)
    return jax.device_put(rows, NamedSharding(GRID, P("a", "b")))


def corners():
    """Rows with zeros of both signs, infinities and NaN."""
    nan, inf = jnp.nan, jnp.inf
    rows = jnp.array([[1, 0, -0.0, nan], [-0.0, 0, nan, nan], [-inf, -inf, -inf, -inf],
                      [inf, 3, -inf, inf]], jnp.float32)
    return jax.device_put(rows, NamedSharding(GRID, P("a", "b")))


def branches(x):
    """A branch of each step, by numbers that a loop counts or reads from a list."""
    def step(x, n):
        x = lax.cond(n[0] % 2 == 0, lambda x: 2 * x, lambda x: x + 1, x)
        return lax.switch(n[1], [jnp.sin, jnp.cos, lambda x: x * x], x), None
    return lax.scan(step, x, (jnp.arange(4), jnp.array([2, 0, 1, 7])))[0]


def make_results(results, x):
    return lambda x: results(x), x


GRID_OF_FLOATS = floats(4, 8, spec=("a", "b"))



def compute_unsigned(x):
    """Results of ops whose meaning for unsigned integers is another one."""
    x = abs(x)
    byte, word = x.astype(jnp.uint8) * 37, x.astype(jnp.uint32) * 613566757
    results = {
        "quotients": word // 7, "remainders": word % 1000, "largest": word.max(1),
        "smallest": byte.min(0), "larger": jnp.maximum(word, word[::-1]), "above": word > word[::-1],
        "clamped": jnp.clip(byte, 60, 200), "wide": byte.astype(jnp.int32),
        "floats": word.astype(jnp.float32), "of_floats": (word.astype(jnp.float32) / 2).astype(
            jnp.uint32),
        "bits": lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32), "signs": jnp.sign(word),
        "right": word >> byte, "left": byte << (byte // 16), "signed": (byte.astype(jnp.int8)) >> 9,
        "first": jnp.argmax(word, 1), "so_far": lax.cummax(word, 1), "sorted": jnp.sort(word, 1),
        "greatest": lax.top_k(byte, 3)[0], "positions": lax.top_k(byte, 3)[1],
        "rows": x[byte[:, 0] % 4], "products": lax.dot(byte, byte.T,
                                                      preferred_element_type=jnp.uint32),
    }
    return {name: value.astype(jnp.int32) if value.dtype == jnp.uint8 else
            lax.bitcast_convert_type(value, jnp.int32) if value.dtype == jnp.uint32 else value
            for name, value in results.items()}


FORMS = {
    "rows_of_the_last_dimension": lambda: make(
        lambda x, i: x[:, i], floats(4, 8, spec=("a", "b")), ids(3, 0, 7, 3)),
    "rows_of_the_middle": lambda: make(
        lambda x, i: jnp.take(x, i, axis=1), floats(4, 6, 8, spec=("a", "b")),
        ids([3, 0], [5, 3], spec=("a",))),
    "sharded_ids": lambda: make(
        lambda x, i: x[:, i], floats(4, 8, spec=(None, "b")), ids(3, 0, 7, 3, spec=("a",))),
    "two_coordinates": lambda: make(
        lambda x, i, j: x[i, j], floats(4, 8, spec=("a", "b")), ids(3, 0, 3, 1), ids(7, 2, 7, 2)),
    "coordinates_apart": lambda: make(
        lambda x, i, j: x[i, :, j], floats(4, 6, 8, spec=("a", None, "b")), ids([3, 0], [3, 1]),
        ids(7, 2)),
    "beyond_the_table": lambda: make(
        lambda x, i: x.at[2 * i - 3].get(mode="clip"), floats(6, 4, spec=("a", "b")),
        ids(0, 1, 5, 4)),
    "filled_rows": lambda: make(
        lambda x, i: x.at[2 * i].get(mode="fill", fill_value=7.0), floats(6, 4, spec=("a",)),
        ids(0, 1, 5, 4)),
    "elements_of_columns": lambda: make(
        lambda x, i: jnp.take_along_axis(x, i, axis=0), floats(4, 8, spec=("a", "b")),
        ids([0, 1, 2, 3, 3, 2, 1, 0], [1, 1, 1, 1, 0, 0, 0, 3])),
    "elements_of_the_middle": lambda: make(
        lambda x, i: jnp.take_along_axis(x, i, axis=1), floats(4, 6, 2, spec=("a", "b")),
        ids(*[[[n, 5 - n], [0, n]] for n in range(4)], spec=("a",))),
    "a_row_of_each": lambda: make(
        jax.vmap(lambda x, i: x[i]), floats(4, 6, 8, spec=("a", "b")), ids(3, 0, 5, 3)),
    "rows_of_each": lambda: make(
        jax.vmap(lambda x, i: x[:, i]), floats(4, 6, 8, spec=("a", "b")),
        ids([3, 0], [5, 3], [7, 7], [1, 2], spec=("a",))),
    "a_block_of_each": lambda: make(
        jax.vmap(lambda x, i: lax.dynamic_slice_in_dim(x, i, 3, 0)),
        floats(4, 6, 8, spec=("a", None, "b")), ids(3, 0, 5, -2)),
    "a_diagonal": lambda: make(lambda x: jnp.diagonal(x), floats(4, 4, spec=("a", "b"))),
    "tokens_of_a_batch": lambda: make(
        lambda x, i: jax.vmap(lambda t: jax.vmap(lambda k: x[k])(t))(i),
        floats(8, 6, spec=("b",)), ids([3, 0, 7], [5, 3, 1], spec=("a",))),
    "a_choice_of_one": lambda: make(
        lambda x: jnp.take_along_axis(x[..., None], jnp.zeros((4, 6, 1), int), -1),
        floats(4, 6, spec=("a", "b"))),
    "a_block": lambda: make(
        lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (2, 3)), floats(4, 8, spec=("a", "b")),
        ids(1, 4)),
    "a_block_beyond": lambda: make(
        lambda x, i: lax.dynamic_slice_in_dim(x, i[0] + 9, 3, 1), floats(4, 8, spec=("a", "b")),
        ids(1, 4)),
    "a_column": lambda: make(
        lambda x, i: lax.dynamic_index_in_dim(x, i[0] - 3, 1, keepdims=False),
        floats(4, 8, spec=("a", "b")), ids(1, 4)),
    "rolled": lambda: make(
        lambda x, i: jnp.roll(x, i[1], 1), floats(4, 8, spec=("a", "b")), ids(1, 5)),
    "a_block_written": lambda: make_written(
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i[0], i[1])),
        floats(4, 8, spec=("a", "b")), floats(2, 4, spec=("a", "b")), ids(1, 2)),
    "a_block_written_beyond": lambda: make_written(
        lambda x, u, i: lax.dynamic_update_slice(x, u, (2, i[1] + 9)),
        floats(4, 8, spec=("a", "b")), floats(1, 4, spec=(None, "b")), ids(1, 2)),
    "a_row_written": lambda: make_written(
        lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i[0], 1),
        floats(4, 8, spec=("a", "b")), floats(4, spec=("a",)), ids(5, 2)),
    "rows_added": lambda: make_written(
        lambda x, u, i: x.at[i].add(u), floats(6, 4, spec=("a", "b")), floats(4, 4, spec=("a",)),
        ids(3, 0, 3, 5, spec=("a",))),
    "rows_set": lambda: make_written(
        lambda x, u, i: x.at[i].set(u), floats(6, 4, spec=("a", "b")), floats(4, 4, spec=("a",)),
        ids(3, 0, 3, 5, spec=("a",))),
    "columns_set_beyond": lambda: make_written(
        lambda x, u, i: x.at[:, 3 * i - 2].set(u), floats(4, 8, spec=("a", "b")),
        floats(4, 4, spec=("b",)), ids(1, 3, 0, 2)),
    "elements_added": lambda: make_written(
        lambda x, u, i: x.at[i, i[::-1]].add(u), floats(4, 8, spec=("a", "b")),
        floats(4, spec=("a",)), ids(1, 3, 3, 1)),
    "elements_set_beyond": lambda: make_written(
        lambda x, u, i: x.at[i, 3 * i - 2].set(u), floats(4, 8, spec=("a", "b")),
        floats(4, spec=("a",)), ids(1, 3, 0, 1)),
    "elements_of_each_added": lambda: make_written(
        jax.vmap(lambda x, u, i: x.at[i].add(u)), floats(4, 6, spec=("a", "b")),
        floats(4, 3, spec=("a",)), ids([3, 0, 3], [5, 3, 1], [9, 2, 2], [0, 1, 0], spec=("a",))),
    "rows_of_each_set": lambda: make_written(
        jax.vmap(lambda x, u, i: x.at[i].set(u)), floats(4, 6, 2, spec=("a", "b")),
        floats(4, 3, 2, spec=("a",)), ids([3, 0, 3], [5, 3, 1], [9, 2, 2], [0, 1, 0])),
    "a_block_of_each_written": lambda: make_written(
        jax.vmap(lambda x, u, i: lax.dynamic_update_slice(x, u, (i - 3, 0))),
        floats(4, 6, 3, spec=("a", "b")), floats(4, 2, 2, spec=("a",)), ids(3, 0, 9, 5)),
    "steps_set": lambda: make_written(
        lambda x, u, i: x.at[::2].set(u), floats(6, 4, spec=("a", "b")), floats(3, 4), ids(0)),
    "flipped": lambda: make(lambda x: x[::-1, ::-1], GRID_OF_FLOATS),
    "sums": lambda: make(lambda x: jnp.cumsum(x, 1), GRID_OF_FLOATS),
    "sums_from_the_end": lambda: make(
        lambda x: lax.cumsum(x, 0, reverse=True), GRID_OF_FLOATS),
    "many_sums": lambda: make(lambda x: jnp.cumsum(x), floats(4100)),
    "products": lambda: make(lambda x: jnp.cumprod(x, 1), GRID_OF_FLOATS),
    "products_of_seven": lambda: make(
        lambda x: lax.cumprod(x, 1, reverse=True), floats(4, 7, spec=("a",))),
    "largest_so_far": lambda: make(lambda x: lax.cummax(x, 1), ties()),
    "smallest_from_the_end": lambda: make(lambda x: lax.cummin(x, 1, reverse=True), ties()),
    "logarithms_of_sums": lambda: make(lambda x: lax.cumlogsumexp(x, 1), GRID_OF_FLOATS),
    "pools": lambda: make(
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (1, 2), "SAME"), ties()),
    "means": lambda: make(
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 1), ((0, 0), (1, 2)), (1, 2),
                                    (1, 3)), GRID_OF_FLOATS),
    "windows_that_start_with_two": lambda: make_results(
        lambda x: {"product": lax.reduce_window(x, 2.0, lax.mul, (1, 3), (1, 2), "VALID"),
                   "sum": lax.reduce_window(x, 2.0, lax.add, (2, 2), (1, 1), "VALID")},
        GRID_OF_FLOATS),
    "products_of_rows": lambda: make(lambda x: jnp.prod(x, 1), floats(4, 7, spec=("a",))),
    "products_of_all": lambda: make(lambda x: jnp.prod(x), GRID_OF_FLOATS),
    "padded_inside": lambda: make(
        lambda x: lax.pad(x, 1.0, ((1, -1, 0), (1, 2, 2))), GRID_OF_FLOATS),
    "sorted_rows": lambda: make(lambda x: jnp.sort(x, axis=1), ties()),
    "sorted_columns": lambda: make(lambda x: jnp.sort(x, axis=0, descending=True), ties()),
    "sorted_pairs": lambda: make_written(
        lambda x, u, i: lax.sort((x, u), num_keys=1)[1], ties(), GRID_OF_FLOATS, ids(0)),
    "orders": lambda: make_results(
        lambda x: {"ascending": jnp.argsort(x), "descending": jnp.argsort(x, descending=True),
                   "first": jnp.argmax(x, 1), "last": jnp.argmin(x, 0), "values": jnp.sort(x),
                   "sums": jnp.cumsum(jnp.argsort(x), 0), "back": jnp.argsort(x)[:, ::-1],
                   "greatest": lax.cummax(jnp.argsort(x), 1)}, corners()),
    "unsigned": lambda: make_results(compute_unsigned, jax.device_put(
        jnp.arange(32.0).reshape(4, 8), NamedSharding(GRID, P("a", "b")))),
    "sorted_integers": lambda: make_results(
        lambda x: {"words": jnp.sort(x.astype(jnp.int32), 0), "bytes": jnp.sort(
            x.astype(jnp.int8), 1, descending=True), "flags": jnp.sort(x > 2, 1)}, ties()),
    "branches_of_a_scan": lambda: make(branches, floats(4, 8, spec=("a", "b"))),
    "counted_by_floats": lambda: make_results(
        lambda x: {"x": lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 0.0025, c[1] + 0.5),
                                       (0.0, x))[1]}, floats(4, 8, spec=("a", "b"))),
    "integers": lambda: (
        lambda t, i: {"rows": t[i], "block": lax.dynamic_slice_in_dim(t, i[1], 2, 1),
                      "counts": t.at[i, i].add(t[:2, 0]), "marked": (t > 4).at[i].set(True),
                      "flags": (t > 4)[i], "written": lax.dynamic_update_slice(t, t[:2], (i[1], 1))},
        ids(*[[3 * i + j for j in range(4)] for i in range(4)], spec=("a", "b")), ids(3, 1)),
}


def run(compiler, folder, name, source=__file__):
    from tessera import __main__ as command
    graph = folder / f"{name}.mlir"
    sys.argv = ["tessera", "import", f"{source}:{name}", "-o", str(graph), "--check"]
    with contextlib.redirect_stdout(io.StringIO()) as text:
        status = command.main()
    if status:
        return f"exit {status}"
    lines = [line.partition(" agree")[0] for line in text.getvalue().splitlines()]
    done = subprocess.run([compiler, "verify", str(graph)], capture_output=True, text=True,
                          check=False)
    proven = "partition proven" in done.stdout and done.returncode == 0
    return f"{', '.join(lines)}, {'4 devices' if proven else done.stdout + done.stderr}"


def __getattr__(name):
    try:
        return FORMS[name]
    except KeyError:
        raise AttributeError(name) from None


def run_all(compiler, folder, names, source=__file__):
    os.environ["TESSERA"] = compiler
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
    sys.stdout.reconfigure(line_buffering=True)
    for name in names:
        print(f"{name}: {run(compiler, pathlib.Path(folder), name, source)}")


def main(compiler, folder, *names):
    run_all(compiler, folder, names or FORMS)


if __name__ == "__main__":
    main(*sys.argv[1:])
