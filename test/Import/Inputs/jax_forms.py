"""Writes one function of StableHLO to a folder in the forms that are stored: text,
bytecode, and a portable artifact."""

import io
import pathlib
import sys

import jax
import jax.numpy as jnp
from jax import export
from jaxlib.mlir.dialects import stablehlo

sys.path += [str(pathlib.Path(__file__).resolve().parent),
             str(pathlib.Path(__file__).resolve().parents[3] / "python")]
import jax_models  # noqa: E402
from tessera import jax_import  # noqa: E402

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

# A model as jax.export writes it, whose erfc is a polynomial, as text and as artifacts of
# several ages.
function, *arguments = jax_models.make_patterns()
exported = export.export(jax.jit(function))(*arguments)
(folder / "groups.mlir").write_text(exported.mlir_module())
context = jax_import.make_context()
from jaxlib.mlir import ir  # noqa: E402

with context:
    module = ir.Module.parse(exported.mlir_module())
    for version in ("1.5.0", "1.10.0", "1.17.0"):
        (folder / f"{version}.mlirbc").write_bytes(
            stablehlo.serialize_portable_artifact(module, version))
