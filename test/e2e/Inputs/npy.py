"""Reads and writes .npy files without NumPy, as flat lists in row-major order."""

import ast
import struct

# The format of an element for each type.
FORMATS = {"<f2": "e", "<f4": "f", "|i1": "b", "<i2": "h", "<i4": "i", "<i8": "q", "|u1": "B",
           "<u2": "H", "<u4": "I", "<u8": "Q"}


def write(path, values, descr="<f4", shape=None):
    """Writes numbers; without a shape they have one dimension."""
    shape = shape or (len(values),)
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    data = struct.pack(f"<{len(values)}{FORMATS[descr]}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def split(path):
    """The header's fields and the numbers of a file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + length].decode())
    body, element = data[10 + length:], FORMATS[header["descr"]]
    return header, struct.unpack(f"<{len(body) // struct.calcsize('<' + element)}{element}", body)


def read(path):
    return split(path)[1]


def replace(path, index, value):
    """Replaces the number at an index of several dimensions."""
    header, values = split(path)
    position = 0
    for at, size in zip(index, header["shape"], strict=True):
        position = position * size + at
    values = [*values[:position], value, *values[position + 1:]]
    write(path, values, header["descr"], header["shape"])
