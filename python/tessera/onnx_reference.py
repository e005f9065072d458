"""onnx's reference implementation, with fixes for some ops."""

from __future__ import annotations

from typing import Any, Mapping

import numpy
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_conv_transpose


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


class GlobalLpPool(OpRun):
    """Norms, which the reference does not have."""
    op_domain = ""

    def _run(self, x: Any, p: int | None = None) -> tuple[Any]:
        powers = (numpy.abs(x) ** (p or 2)).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
        return ((powers ** (1 / (p or 2))).astype(x.dtype),)


class ConvTranspose(op_conv_transpose.ConvTranspose):
    """Supports groups of channels that make another number of channels than they take."""
    op_domain = ""

    def _run(self, x: Any, weight: Any, bias: Any = None, group: int | None = None,
             **settings: Any) -> tuple[Any]:
        parts = []
        for pair in zip(numpy.split(x, group or 1, 1), numpy.split(weight, group or 1)):
            parts += super()._run(*pair, group=1, **settings)
        y = numpy.concatenate(parts, 1)
        return (y if bias is None else y + bias.reshape(-1, *[1] * (x.ndim - 2)),)


FIXES = [GatherElements, BatchNormalization, GlobalMaxPool, GlobalLpPool, ConvTranspose]


def evaluate(model: Any, inputs: Mapping[str, Any]) -> list[Any]:
    """The results of a model."""
    return list(ReferenceEvaluator(model, new_ops=FIXES).run(None, dict(inputs)))
