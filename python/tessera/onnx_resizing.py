"""Converts resizing of ONNX: each dimension is resized by itself, by a matrix or to the nearest
element. onnx's reference resizes rows of numbers, which say how."""

from __future__ import annotations

from typing import Any

import numpy
import onnx

from . import onnx_reference, windows
from .errors import ImportFailure
from .graph_text import LETTERS, Value
from .onnx_importer import Importer, attribute, handles, positive
from .onnx_ops import rows_at


# Shapes.

@handles("Resize")
def convert_resize(importer: Importer, node: Any) -> Value:
    x = importer.value(node.input[0])
    mode = attribute(node, "coordinate_transformation_mode", "half_pixel")
    policy = attribute(node, "keep_aspect_ratio_policy", "stretch")
    if mode == "tf_crop_and_resize" or policy != "stretch":
        raise ImportFailure("expects resizing of all elements to sizes or factors of their own but "
                            f"got {mode} and {policy}")
    factors, sizes = importer.constant(node, 2, "scales"), importer.numbers(node, 3, "sizes")
    # An empty tensor is omitted.
    is_factor = not sizes
    numbers = [float(number) for number in factors] if is_factor else sizes
    axes = list(attribute(node, "axes", range(len(x.shape))))
    if len(numbers) != len(axes) or min(numbers) <= 0:
        raise ImportFailure(f"expects {len(axes)} sizes or factors above 0 but got {numbers}")
    for axis, number in zip(axes, numbers):
        dim = positive(axis, len(x.shape))
        if number != (1 if is_factor else x.shape[dim]):
            x = resize(importer, node, x, dim, number)
    return x


def resize(importer: Importer, node: Any, x: Value, dim: int, number: float | int) -> Value:
    """Resizes a dimension by a factor, or to an integer size."""
    graph, size = importer.graph, x.shape[dim]
    if attribute(node, "mode", "nearest") == "nearest":
        rows = resize_row(importer, node, numpy.arange(size, dtype="f8"), number).astype(int)
        count = len(rows) // size
        if count > 1 and rows.tolist() == [row // count for row in range(count * size)]:
            return windows.repeat(graph, x, dim, count)
        return rows_at(importer, x, dim, rows)
    if not x.is_float:
        raise ImportFailure(f"expects floats but got {x.type}")
    matrix = numpy.stack([resize_row(importer, node, row, number)
                          for row in numpy.eye(size, dtype="f8")])
    letters = LETTERS[2:2 + len(x.shape)]
    result = letters[:dim] + "a" + letters[dim + 1:]
    weights = graph.cast(importer.write(matrix), x.element)
    return graph.einsum(letters, letters[dim] + "a", result, x, weights)


def resize_row(importer: Importer, node: Any, row: Any, number: float | int) -> Any:
    """A resized row of numbers."""
    helper, is_size = onnx.helper, isinstance(number, int)
    single = onnx.NodeProto()
    single.CopyFrom(node)
    del single.input[:], single.output[:], single.attribute[:]
    single.input.extend(["x", "", *([] if is_size else ["number"]), *["", "number"][:2 * is_size]])
    single.output.append("y")
    single.attribute.extend(item for item in node.attribute if item.name != "axes")
    graph = helper.make_graph(
        [single], "row", [helper.make_empty_tensor_value_info(name) for name in ("x", "number")],
        [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=importer.model.opset_import)
    given = numpy.array([number], dtype="i8" if is_size else "f4")
    return onnx_reference.evaluate(model, {"x": row, "number": given})[0]
