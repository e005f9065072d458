"""Runs a model in onnx's reference implementation, for --check."""

from __future__ import annotations

from typing import Any, Mapping

import numpy
import onnx

from . import onnx_reference
from .errors import ImportFailure


def run_model(model: Any, limits: Mapping[str, int]) -> tuple[dict[str, Any], list[Any]]:
    """Inputs by name and results. The inputs are ids below the limits, normal numbers, bytes for
    unsigned integers, and ones for others."""
    generator = numpy.random.default_rng(0)
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = {}
    for item in model.graph.input:
        if item.name in initializers:
            continue
        kind = item.type.tensor_type
        shape = [size.dim_value for size in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if item.name in limits:
            inputs[item.name] = generator.integers(limits[item.name], size=shape).astype(dtype)
        elif numpy.issubdtype(dtype, numpy.unsignedinteger):
            inputs[item.name] = generator.integers(256, size=shape).astype(dtype)
        elif numpy.issubdtype(dtype, numpy.integer) or dtype == bool:
            inputs[item.name] = numpy.ones(shape, dtype)
        else:
            inputs[item.name] = generator.standard_normal(shape).astype(dtype)
    try:
        return inputs, onnx_reference.evaluate(model, inputs)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ImportFailure(f"--check: expects what onnx can evaluate: {lines[0]}") from None
