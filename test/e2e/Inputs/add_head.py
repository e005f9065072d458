"""Copies a safetensors file and adds a head next to the table: add_head.py IN OUT TABLE same|other.
"""

import json
import pathlib
import struct
import sys

source, target, table, kind = sys.argv[1:]
data = pathlib.Path(source).read_bytes()
(length,) = struct.unpack("<Q", data[:8])
header, body = json.loads(data[8:8 + length]), data[8 + length:]
begin, end = header[table]["data_offsets"]
head = bytearray(body[begin:end])
if kind == "other":
    head[-1] ^= 1
header["lm_head.weight"] = dict(header[table], data_offsets=[len(body), len(body) + len(head)])
text = json.dumps(header).encode()
pathlib.Path(target).write_bytes(struct.pack("<Q", len(text)) + text + body + head)
