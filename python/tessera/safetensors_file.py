"""Writes parameters as a safetensors file: the header's length, the header in JSON, the elements.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import struct
from typing import Any, Mapping, Sequence

from .errors import ImportFailure

TYPES = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16"}


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor of torch or NumPy."""
    tensor: Any
    # NumPy's name of the type.
    dtype: str
    shape: Sequence[int]
    # In bytes.
    size: int

    @staticmethod
    def of(tensor: Any) -> Tensor:
        return Tensor(tensor, str(tensor.dtype).rpartition(".")[2], list(tensor.shape),
                      int(tensor.nbytes))

    @property
    def data(self) -> bytes:
        if not hasattr(self.tensor, "contiguous"):
            return bytes(self.tensor.tobytes())
        import torch
        # A tensor without dimensions has no bytes to view.
        flat = self.tensor.contiguous().cpu().reshape(-1)
        return bytes(flat.view(torch.uint8).numpy().tobytes())


def stage(path: pathlib.Path, weights: Mapping[str, Tensor]) -> pathlib.Path:
    """Writes a temporary file next to `path`; the caller renames it to `path`."""
    header: dict[str, object] = {}
    offset = 0
    for name, tensor in weights.items():
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": tensor.shape,
                        "data_offsets": [offset, offset + tensor.size]}
        offset += tensor.size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for tensor in weights.values():
                file.write(tensor.data)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ImportFailure(f"{path}: {error.strerror}") from None
    return partial
