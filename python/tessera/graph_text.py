"""Writes a graph of nn, arith, math and tensor ops as MLIR text.

Front ends that walk a graph in Python print with this; the compiler's passes recognize groups of
ops later."""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import dataclass
from typing import Sequence, Union

from .errors import ImportFailure

# Letters for the dimensions of a matmul.
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# The name of a value without elements, which no op produces.
NOTHING = "%nothing"


@dataclass(frozen=True)
class Value:
    """A tensor of the graph."""
    name: str
    shape: tuple[int, ...]
    # An element type of MLIR: "f32", "i64", "i1"; "ui8" for unsigned integers, whose types have no
    # sign in the graph.
    element: str

    @property
    def type(self) -> str:
        return tensor_type(self.shape, self.element)

    @property
    def is_float(self) -> bool:
        return not self.element.startswith(("i", "u"))

    @property
    def is_unsigned(self) -> bool:
        return self.element.startswith("u")

    @property
    def bits(self) -> int:
        return int(self.element.lstrip("bfiu").split("E")[0])


# A tensor, or a number that takes the type of a tensor next to it.
Operand = Union[Value, float, int, bool]


def tensor_type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element.removeprefix('u')}>"


@functools.cache
def quote(text: str) -> str:
    """Quotes a text as an MLIR string."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' and ord(c) < 128
                         else "".join(f"\\{byte:02X}" for byte in c.encode()) for c in text) + '"'


def literal(number: float | int | bool, element: str) -> str:
    """Formats a number as an attribute of an element type."""
    if element == "i1":
        return "true" if number else "false"
    if element.startswith(("i", "u")):
        return str(int(number))
    if math.isfinite(number):
        text = repr(float(number))
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    bits = {"f64": ("7FF0000000000000", "FFF0000000000000", "7FF8000000000000"),
            "f32": ("7F800000", "FF800000", "7FC00000"),
            "bf16": ("7F80", "FF80", "7FC0"), "f16": ("7C00", "FC00", "7E00")}
    if element not in bits:
        raise ImportFailure(f"expects a finite number of {element} but got {number}")
    positive, negative, nan = bits[element]
    return "0x" + (nan if number != number else positive if number > 0 else negative)


def regroup(before: Sequence[int], after: Sequence[int]) -> tuple[list, list, list[int]]:
    """Groups the dimensions of two shapes into the smallest groups with equal element counts;
    returns both groupings and the number of elements of each group."""
    left, right, merged = [], [], []
    i = j = 0
    while i < len(before) and j < len(after):
        a, b = before[i], after[j]
        group, other = [i], [j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                a *= before[i]
                group.append(i)
                i += 1
            else:
                b *= after[j]
                other.append(j)
                j += 1
        left.append(group)
        right.append(other)
        merged.append(a)
    left[-1] += range(i, len(before))
    right[-1] += range(j, len(after))
    return left, right, merged


class Graph:
    """The function that is being written."""

    def __init__(self) -> None:
        self.arguments: list[tuple[Value, dict[str, str]]] = []
        self.lines: list[str] = []
        self.count = 0
        # The location of the ops that are added.
        self.location = ""
        # Constants of several elements, by contents: equal constants are written once.
        self.constants: dict[tuple[bytes, tuple[int, ...], str], Value] = {}

    def argument(self, shape: Sequence[int], element: str, attributes: dict[str, str]) -> Value:
        """Adds an argument; its attributes may grow until the text is written."""
        value = Value(f"%arg{len(self.arguments)}", tuple(shape), element)
        self.arguments.append((value, attributes))
        return value

    def set_location(self, name: str, module: str = "") -> None:
        """Sets the source location, and the module that calls them, of the ops that are added from
        here on."""
        inner = f"({quote('module:' + module)})" if module else ""
        self.location = f" loc({quote(name)}{inner})"

    def attributes(self, value: Value) -> dict[str, str] | None:
        """The attributes of an argument; None for other values."""
        return next((found for argument, found in self.arguments if argument == value), None)

    def op(self, text: str, shape: Sequence[int], element: str, result: int = 0) -> Value:
        """Adds `%n = text`. With `result` the value is that one of the op's results, its last."""
        if NOTHING in text:
            raise ImportFailure("expects tensors with elements")
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"    {name}{f':{result + 1}' if result else ''} = {text}{self.location}")
        return Value(f"{name}#{result}" if result else name, tuple(shape), element)

    def finish(self, name: str, results: Sequence[tuple[str, Value]]) -> str:
        for output, value in results:
            if value.name == NOTHING:
                raise ImportFailure(f"{output}: expects a result with elements")
        types = ", ".join(
            f"{value.type} {{nn.output = {quote(output)}{', nn.unsigned' * value.is_unsigned}}}"
            for output, value in results)
        returned = ", ".join(value.name for _, value in results)
        kinds = ", ".join(value.type for _, value in results)
        arguments = ",\n    ".join(
            f"{value.name}: {value.type} {{"
            + ", ".join(f"{key} = {text}" for key, text in attributes.items())
            + ", nn.unsigned" * value.is_unsigned + "}"
            for value, attributes in self.arguments)
        body = "\n".join(self.lines)
        return (f"module @{quote(name)} {{\n  func.func @forward({arguments})\n      -> ({types}) {{\n"
                f"{body}\n    return {returned} : {kinds}\n  }}\n}}\n")

    # Constants and casts.

    def constant(self, number: float | int | bool, shape: Sequence[int], element: str) -> Value:
        type_ = tensor_type(shape, element)
        return self.op(f"arith.constant dense<{literal(number, element)}> : {type_}", shape, element)

    def empty(self, shape: Sequence[int], element: str) -> Value:
        """A constant without elements."""
        return self.op(f"arith.constant dense<> : {tensor_type(shape, element)}", shape, element)

    def dense(self, data: bytes, shape: Sequence[int], element: str) -> Value:
        """A constant of little-endian elements; booleans are bytes of 0 and 1."""
        key = hashlib.sha256(data).digest(), tuple(shape), element
        if key not in self.constants:
            self.constants[key] = self.write_dense(data, shape, element)
        return self.constants[key]

    def write_dense(self, data: bytes, shape: Sequence[int], element: str) -> Value:
        type_ = tensor_type(shape, element)
        if element == "i1":
            items = iter("true" if byte else "false" for byte in data)

            def nest(depth: int) -> str:
                if depth == len(shape):
                    return next(items)
                return "[" + ", ".join(nest(depth + 1) for _ in range(shape[depth])) + "]"
            return self.op(f"arith.constant dense<{nest(0)}> : {type_}", shape, element)
        return self.op(f'arith.constant dense<"0x{data.hex().upper()}"> : {type_}', shape, element)

    def cast(self, x: Value, element: str) -> Value:
        if x.element == element:
            return x
        to = Value("", x.shape, element)
        has_no_sign = x.is_unsigned or x.element == "i1"
        if element == "i1":
            zero = self.constant(0, x.shape, x.element)
            compare = "arith.cmpf une" if x.is_float else "arith.cmpi ne"
            return self.op(f"{compare}, {x.name}, {zero.name} : {x.type}", x.shape, "i1")
        if x.is_float and to.is_float:
            if x.bits == to.bits:
                return self.cast(self.cast(x, "f32"), element)
            name = "arith.extf" if x.bits < to.bits else "arith.truncf"
        elif x.is_float:
            name = "arith.fptoui" if to.is_unsigned else "arith.fptosi"
        elif to.is_float:
            name = "arith.uitofp" if has_no_sign else "arith.sitofp"
        elif x.bits == to.bits:
            return Value(x.name, x.shape, element)
        elif x.bits > to.bits:
            name = "arith.trunci"
        else:
            name = "arith.extui" if has_no_sign else "arith.extsi"
        return self.op(f"{name} {x.name} : {x.type} to {to.type}", x.shape, element)

    # Shapes.

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        shape = tuple(shape)
        if shape == x.shape:
            return x
        if math.prod(shape) != math.prod(x.shape):
            raise ImportFailure(f"expects as many elements as {x.type} has but got {list(shape)}")
        after = tensor_type(shape, x.element)
        if not shape:
            return self.op(f"tensor.collapse_shape {x.name} [] : {x.type} into {after}", shape,
                           x.element)
        if not x.shape:
            return self.op(f"tensor.expand_shape {x.name} [] output_shape {list(shape)} : "
                           f"{x.type} into {after}", shape, x.element)
        left, right, merged = regroup(x.shape, shape)
        if tuple(merged) != x.shape:
            type_ = tensor_type(merged, x.element)
            x = self.op(f"tensor.collapse_shape {x.name} {left} : {x.type} into {type_}", merged,
                        x.element)
        if tuple(merged) == shape:
            return x
        return self.op(f"tensor.expand_shape {x.name} {right} output_shape {list(shape)} : "
                       f"{x.type} into {after}", shape, x.element)

    def broadcast(self, x: Value, shape: Sequence[int], dims: Sequence[int]) -> Value:
        """Maps dimension i of x to dimension dims[i] of the result."""
        shape = tuple(shape)
        if shape == x.shape:
            return x
        type_ = tensor_type(shape, x.element)
        return self.op(f"nn.broadcast {x.name} dims {list(dims)} : {x.type} -> {type_}", shape,
                       x.element)

    def expand(self, x: Value, shape: Sequence[int]) -> Value:
        """Repeats dimensions of size 1 and adds leading ones, as NumPy's broadcasting does."""
        shape = tuple(shape)
        if x.shape == shape:
            return x
        first = len(shape) - len(x.shape)
        kept = [i for i, size in enumerate(x.shape) if size == shape[first + i]]
        x = self.reshape(x, [x.shape[i] for i in kept])
        return self.broadcast(x, shape, [first + i for i in kept])

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        if list(permutation) == list(range(len(x.shape))):
            return x
        shape = [x.shape[i] for i in permutation]
        type_ = tensor_type(shape, x.element)
        return self.op(f"nn.transpose {x.name} {list(permutation)} : {x.type} -> {type_}", shape,
                       x.element)

    def slice(self, x: Value, dim: int, start: int, size: int, step: int = 1) -> Value:
        if size == x.shape[dim]:
            return x
        offsets = [start if i == dim else 0 for i in range(len(x.shape))]
        sizes = [size if i == dim else n for i, n in enumerate(x.shape)]
        if size == 0:
            # Concatenations omit it, and no other op may read it.
            return Value(NOTHING, tuple(sizes), x.element)
        steps = [step if i == dim else 1 for i in range(len(x.shape))]
        type_ = tensor_type(sizes, x.element)
        return self.op(f"tensor.extract_slice {x.name}{offsets} {sizes} {steps} : {x.type} to "
                       f"{type_}", sizes, x.element)

    def concat(self, values: Sequence[Value], dim: int) -> Value:
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[dim] = sum(value.shape[dim] for value in values)
        type_ = tensor_type(shape, values[0].element)
        names = ", ".join(value.name for value in values)
        kinds = ", ".join(value.type for value in values)
        return self.op(f"tensor.concat dim({dim}) {names} : ({kinds}) -> {type_}", shape,
                       values[0].element)

    # Arithmetic.

    def unary(self, name: str, x: Value) -> Value:
        return self.op(f"{name} {x.name} : {x.type}", x.shape, x.element)

    def binary(self, name: str, x: Value, y: Value) -> Value:
        return self.op(f"{name} {x.name}, {y.name} : {x.type}", x.shape, x.element)

    def pair(self, x: Operand, y: Operand) -> tuple[Value, Value]:
        """Two operands of one type; a number takes the type of the other one."""
        like = x if isinstance(x, Value) else y
        assert isinstance(like, Value), "expects a tensor among two operands"
        first, second = (item if isinstance(item, Value) else
                         self.constant(item, like.shape, like.element) for item in (x, y))
        return first, second

    def arith(self, name: str, x: Operand, y: Operand) -> Value:
        """Adds, subtracts, multiplies or divides (add, sub, mul, div, or rem with the sign of x)
        floats or integers, whose quotient is truncated."""
        x, y = self.pair(x, y)
        sign = "" if x.is_float or name not in ("div", "rem") else "u" if x.is_unsigned else "s"
        return self.binary(f"arith.{name}{sign}{'f' if x.is_float else 'i'}", x, y)

    def compare(self, predicate: str, x: Operand, y: Operand) -> Value:
        """Compares by eq, ne, lt, le, gt or ge."""
        x, y = self.pair(x, y)
        if x.is_float:
            name = "arith.cmpf " + ("une" if predicate == "ne" else "o" + predicate)
        else:
            has_no_sign = x.is_unsigned or x.element == "i1"
            sign = "" if predicate in ("eq", "ne") else "u" if has_no_sign else "s"
            name = "arith.cmpi " + sign + predicate
        return self.op(f"{name}, {x.name}, {y.name} : {x.type}", x.shape, "i1")

    def select(self, condition: Value, x: Operand, y: Operand) -> Value:
        x, y = self.pair(x, y)
        return self.op(f"arith.select {condition.name}, {x.name}, {y.name} : {condition.type}, "
                       f"{x.type}", x.shape, x.element)

    def reduce(self, kind: str, x: Value, dims: Sequence[int]) -> Value:
        """Reduces by sum, max or min."""
        dims = sorted(dims)
        shape = [size for i, size in enumerate(x.shape) if i not in dims]
        type_ = tensor_type(shape, x.element)
        return self.op(f"nn.reduce <{kind}> {x.name} dims {dims} : {x.type} -> {type_}", shape,
                       x.element)

    def einsum(self, left: str, right: str, result: str, x: Value, y: Value) -> Value:
        sizes = {**dict(zip(left, x.shape)), **dict(zip(right, y.shape))}
        shape = [sizes[letter] for letter in result]
        type_ = tensor_type(shape, x.element)
        return self.op(f'nn.einsum "{left},{right}->{result}" {x.name}, {y.name} : {x.type}, '
                       f"{y.type} -> {type_}", shape, x.element)
