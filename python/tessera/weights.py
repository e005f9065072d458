"""Parameters and state between Python and a program, in windows of the shared memory: no copy of a
whole tensor is made."""

from __future__ import annotations

import itertools
import json
import math
import mmap
import os
import pathlib
import struct
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence

import numpy

from . import cache
from .arrays import SAFETENSORS, Array, convert, describe, is_float, type_of
from .client import GET, SET, Client
from .errors import ProgramError
from .manifest import WINDOW_BYTES, Manifest, Value

Values = numpy.ndarray[Any, Any]
# The elements that are converted at a time.
CONVERTED = 1 << 21
# A part of a value: the first element, and its index.
Part = tuple[int, tuple[Any, ...]]


def split(shape: Sequence[int], limit: int) -> Iterator[Part]:
    """Splits an array into parts of at most `limit` elements that follow each other in row-major
    order."""
    whole = len(shape)
    while whole and math.prod(shape[whole - 1:]) <= limit:
        whole -= 1
    # One element of the dimensions before `whole`, and a range of the last of them.
    if whole == 0:
        yield 0, (...,)
        return
    inner, outer = math.prod(shape[whole:]), shape[:whole - 1]
    step = max(1, limit // max(inner, 1))
    for number, index in enumerate(itertools.product(*map(range, outer))):
        for start in range(0, shape[whole - 1], step):
            first = (number * shape[whole - 1] + start) * inner
            yield first, (*index, slice(start, start + step))


def view_of(tensor: Values, value: Value, index: int | None) -> Values:
    """The view of a tensor that a parameter is, or that one of its first indices is."""
    begin = 0 if index is None else 1
    kind = tensor.dtype.itemsize
    flat = tensor.reshape(-1)[value.source.offset:]
    return numpy.lib.stride_tricks.as_strided(
        flat, value.shape[begin:], [step * kind for step in value.source.strides[begin:]])


@dataclass(frozen=True)
class Place:
    """A parameter, or one of its first indices, in a tensor of weights. The state, if any, is the
    parameter's master copy."""
    value: Value
    master: Value | None
    index: int | None

    @property
    def best(self) -> Value:
        return self.master or self.value

    @property
    def size(self) -> int:
        return self.value.size if self.index is None else \
            self.value.size // max(1, self.value.shape[0])


@dataclass(frozen=True)
class Tensor:
    """A tensor of weights, and the parameters that are views of it."""
    name: str
    shape: tuple[int, ...]
    places: tuple[Place, ...]

    @property
    def element(self) -> str:
        return self.places[0].best.element

    @property
    def is_whole(self) -> bool:
        """True if the parameters have all its elements; none has one twice."""
        return sum(place.size for place in self.places) == math.prod(self.shape)


def find_tensors(manifest: Manifest) -> dict[str, Tensor]:
    """The tensors of the weights that a program has."""
    masters = {value.of: value for value in manifest.arguments if value.of}
    found: dict[str, tuple[tuple[int, ...], list[Place]]] = {}
    for value in manifest.arguments:
        if value.role != "param":
            continue
        before, star, after = value.source.tensor.partition("*")
        names = [(f"{before}{i}{after}", i) for i in range(value.shape[0])] if star else \
            [(value.source.tensor, None)]
        for name, index in names:
            places = found.setdefault(name, (value.source.shape, []))[1]
            places.append(Place(value, masters.get(value.name), index))
    return {name: Tensor(name, shape, tuple(places)) for name, (shape, places) in found.items()}


# Between the program and an array.

def transfer(client: Client, value: Value, array: Array, begin: int, is_set: bool) -> None:
    """Copies an array to a value's elements from `begin` on, or these to the array."""
    limit = WINDOW_BYTES // type_of(value.element).itemsize if value.element == array.element \
        else CONVERTED
    for first, index in split(array.values.shape, limit):
        part = array.values[index]
        window = client.window(value, part.size).reshape(part.shape)
        if is_set:
            numpy.copyto(window, convert(Array(part, array.element), value.element))
            client.request(SET, value.index, begin + first, part.size)
        else:
            client.request(GET, value.index, begin + first, part.size)
            numpy.copyto(part, convert(Array(window, value.element), array.element))


def begin_of(place: Place) -> int:
    return 0 if place.index is None else place.index * place.size


def set_tensor(client: Client, tensor: Tensor, given: Array) -> None:
    """Sets the parameters that are views of a tensor, and their master copies."""
    for place in tensor.places:
        view = Array(view_of(given.values, place.value, place.index), given.element)
        for value in (place.value, place.master):
            if value is not None:
                transfer(client, value, view, begin_of(place), True)


def get_tensor(client: Client, tensor: Tensor, out: Values) -> Values:
    """Reads a tensor, from master copies where there are some."""
    for place in tensor.places:
        view = view_of(out, place.value, place.index)
        transfer(client, place.best, Array(view, tensor.element), begin_of(place), False)
    return out


def read_tensor(client: Client, tensor: Tensor, base: Array | None) -> Array:
    """A new array of a tensor. Elements that the program does not have are those of `base`."""
    out = numpy.empty(tensor.shape, type_of(tensor.element))
    if not tensor.is_whole:
        if base is None:
            raise ProgramError(f"{tensor.name}: expects values of the elements that the program "
                               "does not have but got none")
        out[...] = convert(base, tensor.element)
    return Array(get_tensor(client, tensor, out), tensor.element)


def check_tensor(name: str, given: Array, shape: tuple[int, ...], element: str) -> None:
    """Fails unless an array has the shape and a float type where floats are expected."""
    if tuple(given.values.shape) != tuple(shape) or is_float(given.element) != is_float(element) \
            or (not is_float(element) and given.element != element):
        raise ProgramError(f"{name}: expects {describe(element, shape)} but got "
                           f"{given.describe()}")


def check_names(what: str, expected: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Fails unless two mappings have the same names."""
    missing = [name for name in expected if name not in given]
    extra = [name for name in given if name not in expected]
    for kind, names in (("is missing", missing), ("is not of the program", extra)):
        if names:
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            raise ProgramError(f"{what}: expects the program's {len(expected)} tensors but "
                               f"{names[0]!r}{more} {kind}")


# Files.

def save_tensors(client: Client, tensors: Sequence[Tensor], others: Mapping[str, Array],
                 path: pathlib.Path) -> None:
    """Writes tensors of the program, and others, as one file of safetensors that is renamed into
    place."""
    shapes = {tensor.name: (tensor.element, tensor.shape) for tensor in tensors}
    shapes.update({name: (array.element, tuple(array.values.shape))
                   for name, array in others.items() if name not in shapes})
    header: dict[str, Any] = {"__metadata__": {"format": "pt", "saved_by": "tessera"}}
    ends = {}
    at = 0
    for name, (element, shape) in shapes.items():
        if element not in SAFETENSORS:
            raise ProgramError(f"{name}: expects floats to save but got {element}")
        size = math.prod(shape) * type_of(element).itemsize
        header[name] = {"dtype": SAFETENSORS[element], "shape": list(shape),
                        "data_offsets": [at, at + size]}
        ends[name] = (at, at + size)
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    start = 8 + len(text)

    def write(partial: pathlib.Path) -> None:
        with partial.open("w+b") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.flush()
            # Reserves the space: a full disk is an error here, not a signal at a write to memory.
            if at:
                os.posix_fallocate(file.fileno(), 0, start + at)
            memory = mmap.mmap(file.fileno(), start + at)
            whole = numpy.frombuffer(memory, dtype="u1")
            for name, (element, shape) in shapes.items():
                begin, end = ends[name]
                out = whole[start + begin:start + end].view(type_of(element)).reshape(shape)
                if name in others:
                    out[...] = others[name].values
            for tensor in tensors:
                begin, end = ends[tensor.name]
                out = whole[start + begin:start + end].view(type_of(tensor.element))
                get_tensor(client, tensor, out.reshape(tensor.shape))
    cache.replace_file(path, write, ProgramError)
