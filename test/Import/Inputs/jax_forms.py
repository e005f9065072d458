"""Writes one function of StableHLO to a folder in the forms that are stored: text,
bytecode, and a portable artifact."""

import io
import pathlib
import sys

import jax
import jax.numpy as jnp
from jaxlib.mlir.dialects import stablehlo

folder = pathlib.Path(sys.argv[1])


def f(w, x):
    return jnp.tanh(x @ w)


shapes = [jax.ShapeDtypeStruct(sizes, jnp.float32) for sizes in ((4, 3), (2, 4))]
module = jax.jit(f).lower(*shapes).compiler_ir("stablehlo")
(folder / "pretty.mlir").write_text(module.operation.get_asm(enable_debug_info=True))
buffer = io.BytesIO()
module.operation.write_bytecode(buffer)
(folder / "bytecode.mlirbc").write_bytes(buffer.getvalue())
with module.context:
    artifact = stablehlo.serialize_portable_artifact(
        module, stablehlo.get_minimum_version(), allow_other_dialects=True)
(folder / "artifact.mlirbc").write_bytes(artifact)
