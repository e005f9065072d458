"""The manifest of a program: its arguments and results, and the memory that a client shares with
it (runtime/include/tessera_manifest.h, tessera_serve.h)."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Optional

from .arrays import type_of

ALIGNMENT, WINDOW_BYTES = 64, 64 << 20
# The roles of arguments that a call gives.
INPUTS = ("tokens", "labels", "starts", "input")


@dataclasses.dataclass(frozen=True)
class Source:
    """The view of a tensor of weights that a parameter is; an asterisk in the name is the first
    index."""
    tensor: str
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Value:
    """An argument or a result in its logical shape."""
    index: int
    name: str
    role: str
    element: str
    shape: tuple[int, ...]
    of: Optional[str]
    donate: Optional[int]
    source: Source
    # The offset of an input or a result in the shared memory, or -1.
    offset: int = -1

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.size * type_of(self.element).itemsize


@dataclasses.dataclass(frozen=True)
class Manifest:
    """A program's description."""
    program: str
    ranks: int
    mesh: dict[str, int]
    arguments: list[Value]
    results: list[Value]
    plan: list[str]
    # Bytes of all ranks, and of the shared memory up to its window and as a whole.
    memory: int
    window: int
    total: int

    @property
    def inputs(self) -> list[Value]:
        return [value for value in self.arguments if value.offset >= 0]

    @property
    def kept(self) -> list[Value]:
        """Parameters and state."""
        return [value for value in self.arguments if value.role in ("param", "state")]


def read_value(index: int, json: dict[str, Any]) -> Value:
    shape = tuple(json.get("logical_shape", json["shape"]))
    own = {"tensor": json["name"], "shape": shape, "offset": 0,
           "strides": [math.prod(shape[i + 1:]) for i in range(len(shape))]}
    source = json.get("source", own)
    element = "u" * bool(json.get("unsigned")) + json["dtype"]
    return Value(index, json["name"], json.get("role", ""), element, shape, json.get("of"),
                 json.get("donate"),
                 Source(source["tensor"], tuple(source["shape"]), source["offset"],
                        tuple(source["strides"])))


def align(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def read_manifest(json: dict[str, Any]) -> Manifest:
    arguments = [read_value(i, item) for i, item in enumerate(json["arguments"])]
    results = [read_value(i, item) for i, item in enumerate(json["results"])]
    replaced = {value.donate for value in arguments if value.donate is not None}
    at = 0
    shared = {id(value) for value in arguments if value.role in INPUTS} | \
        {id(value) for value in results if value.index not in replaced}
    for values in (arguments, results):
        for i, value in enumerate(values):
            if id(value) in shared:
                values[i] = dataclasses.replace(value, offset=at)
                at = align(at + value.bytes)
    return Manifest(json["program"], json["ranks"],
                    {axis["name"]: axis["size"] for axis in json["mesh"]}, arguments, results,
                    list(json.get("plan", ())), count_memory(json), at, align(at + WINDOW_BYTES))


def count_memory(json: dict[str, Any]) -> int:
    """Bytes of all ranks: a parameter that no step changes is in memory once for each block."""
    shared = [value for value in json["arguments"]
              if value.get("role") == "param" and "donate" not in value]
    blocks = sum(value["bytes"] * math.prod(axis["size"] for axes in value.get("sharding", ())
                                            for axis in axes) for value in shared)
    own = max(0, json["arena_bytes"] - sum(value["bytes"] for value in shared))
    return int(json["ranks"] * own + blocks)
