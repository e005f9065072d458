"""Convolutions over 2 x 2 devices: python jax_convolutions.py COMPILER FOLDER imports each of them,
compares it with JAX, and its program over the devices with the graph."""

import pathlib
import sys

import jax.numpy as jnp
from jax import lax

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from jax_indices import floats, make_results, make_written, run_all  # noqa: E402


def convolve(strides=(1, 1), padding="SAME", order=("NHWC", "HWIO", "NHWC"), **options):
    def write(x, kernel, _):
        return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=order,
                                        **options)
    return write


def form(x, kernel, *steps, **options):
    """A loss of an input, sharded along its batch and its features, and of a kernel."""
    order = options.get("order", ("NHWC", "HWIO", "NHWC"))
    x_spec, kernel_spec = [None] * len(x), [None] * len(kernel)
    x_spec[order[0].index("N")], x_spec[order[0].index("C")] = "a", "b"
    kernel_spec[order[1].index("O")] = "a"
    return lambda: make_written(convolve(*steps, **options), floats(*x, spec=x_spec),
                                floats(*kernel, spec=kernel_spec), jnp.array([0], jnp.int32))


def compute(tensors):
    """Results of narrow floats and of integers, and of a flipped kernel."""
    x, kernel = tensors["x"], tensors["kernel"]
    narrow, small = jnp.bfloat16, x.astype(jnp.int32)
    order = lax.conv_dimension_numbers(x.shape, kernel.shape, ("NHWC", "HWIO", "NHWC"))
    return {
        "narrow": lax.conv_general_dilated(
            x.astype(narrow), kernel.astype(narrow), (1, 1), "VALID", dimension_numbers=order,
            preferred_element_type=jnp.float32),
        "whole": lax.conv_general_dilated(small, kernel.astype(jnp.int32), (2, 1), "SAME",
                                          dimension_numbers=order),
        "flipped": lax.conv_transpose(x, kernel, (2, 2), "SAME", transpose_kernel=True),
    }


FORMS = {
    "image": form((4, 6, 7, 4), (3, 3, 4, 6)),
    "strides": form((4, 9, 8, 4), (3, 2, 4, 4), (2, 3), ((1, 2), (0, 1))),
    "channels_first": form((4, 4, 6, 7), (4, 4, 3, 3), order=("NCHW", "OIHW", "NCHW")),
    "mixed_order": form((6, 4, 4, 7), (4, 3, 4, 2), order=("HNCW", "IHOW", "CWNH")),
    "dilated": form((2, 9, 8, 2), (3, 2, 2, 4), rhs_dilation=(2, 3)),
    "transposed": form((2, 3, 4, 2), (3, 2, 2, 4), (1, 1), ((1, 2), (1, 1)), lhs_dilation=(2, 3)),
    "groups": form((2, 5, 6, 4), (3, 3, 2, 6), feature_group_count=2),
    "depthwise": form((2, 5, 6, 4), (3, 3, 1, 4), feature_group_count=4),
    "groups_of_samples": form((4, 5, 6, 2), (3, 3, 2, 6), batch_group_count=2),
    "negative_padding": form((2, 7, 6, 2), (2, 2, 2, 4), (1, 2), ((-1, 2), (1, -2))),
    "patches": form((2, 8, 6, 4), (4, 3, 4, 6), (4, 3), "VALID"),
    "points": form((2, 5, 6, 4), (1, 1, 4, 6)),
    "sequence": form((4, 9, 4), (3, 4, 6), (2,), order=("NHC", "HIO", "NHC")),
    "volume": form((2, 4, 3, 5, 2), (2, 2, 3, 2, 4), (2, 1, 1), order=("NDHWC", "DHWIO", "NDHWC")),
    "results": lambda: make_results(compute, {
        "x": floats(2, 5, 6, 4, spec=("a", None, None, "b")),
        "kernel": floats(3, 3, 4, 4, spec=(None, None, "b", "a"))}),
}


def __getattr__(name):
    try:
        return FORMS[name]
    except KeyError:
        raise AttributeError(name) from None


if __name__ == "__main__":
    run_all(sys.argv[1], sys.argv[2], sys.argv[3:] or FORMS, __file__)
