"""onnx's reference implementation, with fixes for some ops."""

from __future__ import annotations

from typing import Any, Mapping

import numpy
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


class GatherElements(OpRun):
    """Supports an index whose other dimensions are smaller than the data's."""
    op_domain = ""

    def _run(self, data: Any, index: Any, axis: int = 0) -> tuple[Any]:
        axis %= data.ndim
        kept = tuple(slice(None if i == axis else size) for i, size in enumerate(index.shape))
        return (numpy.take_along_axis(data[kept], index, axis),)


class BatchNormalization(OpRun):
    """Uses the given statistics in opset 13 too, which the reference replaces there by those of the
    batch. Training is not supported."""
    op_domain = ""

    def _run(self, x: Any, scale: Any, bias: Any, mean: Any, var: Any, epsilon: float = 1e-5,
             **_: Any) -> tuple[Any]:
        shape = (1, -1, *[1] * (x.ndim - 2)) if x.ndim > 1 else (-1,)
        factor = scale / numpy.sqrt(var + epsilon)
        y = (x - mean.reshape(shape)) * factor.reshape(shape) + bias.reshape(shape)
        return (y.astype(x.dtype),)


class GlobalMaxPool(OpRun):
    """Supports any number of positions' dimensions."""
    op_domain = ""

    def _run(self, x: Any) -> tuple[Any]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


FIXES = [GatherElements, BatchNormalization, GlobalMaxPool]


def evaluate(model: Any, inputs: Mapping[str, Any]) -> list[Any]:
    """The results of a model."""
    return list(ReferenceEvaluator(model, new_ops=FIXES).run(None, dict(inputs)))
