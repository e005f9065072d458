"""onnx's reference implementation, with a fix for GatherElements."""

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


def evaluate(model: Any, inputs: Mapping[str, Any]) -> list[Any]:
    """The results of a model."""
    return list(ReferenceEvaluator(model, new_ops=[GatherElements]).run(None, dict(inputs)))
