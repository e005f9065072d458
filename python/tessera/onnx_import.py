"""Reads ONNX files: the graph of a model, by means of the onnx package."""

from __future__ import annotations

import pathlib
from typing import Any, Iterator, Sequence

from .errors import ImportFailure, first_line

# Supported opset versions of ONNX.
OLDEST, NEWEST = 13, 23


def load(path: pathlib.Path) -> Any:
    """The model of a file, with its local functions inlined."""
    try:
        import onnx
        import onnx.inliner
    except ImportError as error:
        raise ImportFailure(f"expects onnx, which reads {path}: {error}") from None
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise ImportFailure(f"{path}: {error.strerror}") from None
    except Exception:  # protobuf's exceptions have no common base class.
        raise ImportFailure(f"{path}: expects a file of ONNX") from None
    for text in strings_of(model):
        if isinstance(text, bytes):
            raise ImportFailure(f"{path}: expects text in UTF-8 but got {text!r}")
    versions = [item.version for item in model.opset_import if item.domain in ("", "ai.onnx")]
    if len(versions) != 1 or not OLDEST <= versions[0] <= NEWEST:
        raise ImportFailure(f"{path}: expects opset {OLDEST} to {NEWEST} but got "
                            f"{versions[0] if versions else 'none'}")
    if not model.functions:
        return model
    try:
        return onnx.inliner.inline_local_functions(model)
    except Exception as error:
        raise ImportFailure(f"{path}: expects functions that can be inlined but got: "
                            f"{first_line(error)}") from None


def strings_of(message: Any) -> Iterator[Any]:
    """The strings of a message and its nested messages. Strings that are not UTF-8 are bytes."""
    for field, value in message.ListFields():
        values = value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) \
            else [value]
        if field.type == field.TYPE_STRING:
            yield from values
        elif field.type == field.TYPE_MESSAGE:
            for item in values:
                yield from strings_of(item)


def read_file(path: pathlib.Path, parameters: Sequence[str] = (),
              constants: Sequence[str] = ()) -> tuple[str, dict[str, Any], Any, list[str]]:
    """The graph of a file's model, its parameters by name, the model, and the initializers that are
    constants. The names in `parameters` and `constants` override the rule for initializers."""
    model = load(path)
    for name in (*parameters, *constants):
        check_initializer(path, model, name)
    from .onnx_registry import Importer, Scratch
    folder = str(path.parent)
    try:
        first = Importer(model, folder, set())
        first.graph = Scratch()
        first.run(path.stem)
        weights = (first.weights | set(parameters)) - set(constants)
        importer = Importer(model, folder, weights)
        text = importer.run(model.graph.name or path.stem)
    except ImportFailure as error:
        raise ImportFailure(f"{path}: {error}") from None
    except Exception as error:
        check_model(path, model)
        raise error
    return text, importer.arrays, model, importer.describe_constants()


def check_model(path: pathlib.Path, model: Any) -> None:
    """Fails if onnx's checker rejects the model."""
    import onnx
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        raise ImportFailure(f"{path}: expects a valid model of ONNX but got: "
                            f"{first_line(error)}") from None


def check_initializer(path: pathlib.Path, model: Any, name: str) -> None:
    """Fails unless the model has an initializer of floats with that name."""
    import onnx
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16,
              onnx.TensorProto.DOUBLE)
    if not any(tensor.name == name and tensor.data_type in floats
               for tensor in model.graph.initializer):
        raise ImportFailure(f"{path}: expects an initializer of floats but got {name}")
