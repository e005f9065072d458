"""Writes parameters as a safetensors file: the length of a header, the header in JSON, the
elements."""

from __future__ import annotations

import json
import pathlib
import struct
from typing import Mapping

import torch

from .errors import ImportFailure

TYPES = {torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16",
         torch.float16: "F16"}


def write(path: pathlib.Path, weights: Mapping[str, torch.Tensor]) -> None:
    header: dict[str, object] = {}
    offset = 0
    for name, tensor in weights.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for tensor in weights.values():
                file.write(tensor.contiguous().cpu().view(torch.uint8).numpy().tobytes())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ImportFailure(f"{path}: {error.strerror}") from None
