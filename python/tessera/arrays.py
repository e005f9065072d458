"""Arrays of any library as arrays of NumPy, and the types of a program's elements. NumPy has no
bf16: its elements are the 16 bits as integers."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy

from .errors import ProgramError, first_line

# Types of elements by the names of the manifest; the second ones are of unsigned integers.
TYPES = {"f32": "f4", "bf16": "u2", "f16": "f2", "f64": "f8", "i1": "?", "i8": "i1", "i16": "i2",
         "i32": "i4", "i64": "i8", "ui8": "u1", "ui16": "u2", "ui32": "u4", "ui64": "u8"}
NAMES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "float64": "f64", "bool": "i1",
         "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8",
         "uint16": "ui16", "uint32": "ui32", "uint64": "ui64"}
WORDS = {element: word for word, element in NAMES.items()}
# Types of elements in files of safetensors.
SAFETENSORS = {"f64": "F64", "f32": "F32", "bf16": "BF16", "f16": "F16"}


class Array(NamedTuple):
    """An array and the type of its elements."""
    values: numpy.ndarray[Any, Any]
    element: str

    def describe(self) -> str:
        """Its type and shape."""
        return describe(self.element, self.values.shape)


def describe(element: str, shape: Any) -> str:
    return f"{WORDS[element]}{list(shape)}"


def is_float(element: str) -> bool:
    return element in SAFETENSORS


def type_of(element: str) -> numpy.dtype[Any]:
    return numpy.dtype(TYPES[element])


def read_array(name: str, given: Any) -> Array:
    """An array of torch, JAX, NumPy or another library with __dlpack__; no copy on the processor.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor):
        return read_tensor(name, given)
    try:
        if hasattr(given, "__array__"):
            values = numpy.asarray(given)
        elif hasattr(given, "__dlpack__"):
            values = numpy.from_dlpack(given)
        else:
            raise ProgramError(f"{name}: expects an array but got {type(given).__name__}")
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ProgramError(f"{name}: expects an array that NumPy reads: "
                           f"{first_line(error)}") from None
    if values.dtype.name not in NAMES:
        raise ProgramError(f"{name}: expects floats or integers but got {values.dtype.name}")
    element = NAMES[values.dtype.name]
    return Array(values.view("u2") if element == "bf16" else values, element)


def read_tensor(name: str, tensor: Any) -> Array:
    word = str(tensor.dtype).rpartition(".")[2]
    if word not in NAMES:
        raise ProgramError(f"{name}: expects floats or integers but got {word}")
    if tensor.is_meta:
        raise ProgramError(f"{name}: expects values but got a tensor on meta")
    if str(tensor.layout) != "torch.strided":
        raise ProgramError(f"{name}: expects a dense tensor but got one of {tensor.layout}")
    tensor = tensor.detach().resolve_neg().cpu()
    if word != "bfloat16":
        return Array(tensor.numpy(), NAMES[word])
    import torch
    return Array(tensor.view(torch.int16).numpy().view("u2"), "bf16")


def convert(array: Array, element: str) -> numpy.ndarray[Any, Any]:
    """The values in another type of floats, or the same type."""
    values = array.values
    if array.element == element:
        return values
    if array.element == "bf16":
        values = (values.astype("u4") << numpy.uint32(16)).view("f4")
    if element != "bf16":
        with numpy.errstate(over="ignore"):
            return values.astype(type_of(element))
    with numpy.errstate(over="ignore"):
        bits = values.astype("f4").view("u4")
    # To the nearest, of two equally near ones to the even; a NaN stays one.
    rounded = (bits + numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))
               ) >> numpy.uint32(16)
    is_nan = (bits & numpy.uint32(0x7FFFFFFF)) > numpy.uint32(0x7F800000)
    return numpy.where(is_nan, (bits >> numpy.uint32(16)) | numpy.uint32(0x40),
                       rounded).astype("u2")


def convert_input(name: str, array: Array, element: str, expected: str) -> numpy.ndarray[Any, Any]:
    """The values of an input in the program's type. Integers of any width are taken that fit;
    floats and booleans have the type `expected`, that of the example."""
    if array.element == expected and (array.element == element or is_float(element)):
        return convert(array, element)
    kinds = {array.values.dtype.kind, type_of(element).kind}
    if is_float(array.element) or is_float(expected) or not kinds <= {"i", "u"}:
        raise ProgramError(f"{name}: expects {WORDS[expected]} but got {WORDS[array.element]}")
    limits = numpy.iinfo(type_of(element))
    if array.values.size:
        for found in (int(array.values.min()), int(array.values.max())):
            if not limits.min <= found <= limits.max:
                raise ProgramError(f"{name}: expects integers from {limits.min} to {limits.max} "
                                   f"but got {found}")
    return array.values.astype(type_of(element))
