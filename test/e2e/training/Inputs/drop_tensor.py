"""Copies a .safetensors file without one tensor: drop_tensor.py FILE NAME OUTPUT."""

import json
import struct
import sys

path, name, output = sys.argv[1:]
data = open(path, "rb").read()
size, = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + size])
begin, end = header.pop(name)["data_offsets"]
for key, value in header.items():
    if key != "__metadata__" and value["data_offsets"][0] >= end:
        value["data_offsets"] = [at - (end - begin) for at in value["data_offsets"]]
text = json.dumps(header).encode()
with open(output, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data[8 + size:8 + size + begin]
               + data[8 + size + end:])
