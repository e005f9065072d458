"""Damages models at random, field by field, and imports them: python onnx_damaged.py COUNT
FILE.onnx... A failed import must be an ImportFailure of one line; another exception is an error in
a reader, and is raised."""

import pathlib
import random
import sys
import tempfile
import warnings

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
from tessera import onnx_import
from tessera.errors import ImportFailure

INTEGERS = (0, -1, 1, 2, 3, 7, 99, -5, 2**31 - 1)
FLOATS = (0.0, -1.0, float("nan"), float("inf"), 1e30)
TEXTS = ("", "other", "Add", "MatMul", "Gather", "x")


def list_fields(message):
    """Pairs of a message and one of its fields, for a message and its nested messages."""
    found = []
    for field, value in message.ListFields():
        found.append((message, field))
        if field.type == field.TYPE_MESSAGE:
            for item in value if hasattr(value, "append") else [value]:
                found += list_fields(item)
    return found


def draw(rng, field):
    if field.type == field.TYPE_STRING:
        return rng.choice(TEXTS)
    if field.type == field.TYPE_BYTES:
        return rng.choice((b"", b"\xff", b"text"))
    return rng.choice(FLOATS if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE) else INTEGERS)


def damage(rng, model):
    message, field = rng.choice(list_fields(model.graph))
    value = getattr(message, field.name)
    is_list, is_message = hasattr(value, "append"), field.type == field.TYPE_MESSAGE
    kind = rng.randrange(3)
    if is_list and kind == 0:
        del value[rng.randrange(len(value))]
    elif is_list and is_message:
        value.add().CopyFrom(rng.choice(list(value)) if kind == 1 else type(value[0])())
    elif is_list and kind == 1:
        value.append(draw(rng, field))
    elif is_list:
        value[rng.randrange(len(value))] = draw(rng, field)
    elif is_message:
        message.ClearField(field.name)
    elif field.type == field.TYPE_BYTES and kind:
        setattr(message, field.name, value[:rng.randrange(len(value) + 1)])
    else:
        setattr(message, field.name, draw(rng, field))


def spoil(data, rng):
    """Changes one byte, so that names may not be UTF-8."""
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(128, 256)]) + data[at + 1:]


def main(count, paths):
    warnings.filterwarnings("ignore")
    rng, models, refused = random.Random(0), [onnx.load(path) for path in paths], 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "damaged.onnx"
        for number in range(count):
            model = onnx.ModelProto()
            model.CopyFrom(rng.choice(models))
            for _ in range(rng.randrange(1, 3)):
                try:
                    damage(rng, model)
                except (TypeError, ValueError):
                    pass  # The field does not accept the number.
            data = model.SerializeToString()
            path.write_bytes(spoil(data, rng) if number % 4 == 0 else data)
            try:
                onnx_import.read_file(path)
            except ImportFailure as failure:
                assert str(failure).count("\n") == 0, failure
                refused += 1
    print(f"{count} damaged, {refused} refused")


main(int(sys.argv[1]), sys.argv[2:])
