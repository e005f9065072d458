"""Sends wrong requests to a program, which refuses each and goes on, and gives it wrong
descriptors.

usage: check_requests.py PROGRAM
"""

import struct
import subprocess
import sys

import numpy as np
from serve_client import CALL, GET, SET, STOP, SYNC, Client

program = sys.argv[1]
client = Client(program, "--quiet")
kept = client.kept()[0]
dtype, shape = client.argument(kept)
elements = int(np.prod(shape))
before = client.get(kept)
others = [i for i in range(len(client.manifest["arguments"])) if i not in client.kept()]
for kind, value, first, count in (
        (9, 0, 0, 0), (GET, others[0], 0, 1), (SET, 1 << 31, 0, 1), (GET, kept, -1, 1),
        (SET, kept, 0, elements + 1), (GET, kept, elements, 1), (SET, kept, 1, -1),
        (GET, kept, 1, (1 << 63) - 1), (GET, kept, -(1 << 63), 1)):
    print("refused:", client.ask(kind, value, first, count))
client.socket.send(b"short")
print("refused:", client.receive()[3])
client.socket.send(struct.pack("<IIqqQ", SYNC, 0, 0, 0, 1) + b"long")
print("refused:", client.receive()[3])
bad = {name: np.zeros(shape, dtype) for name, (_, dtype, shape) in client.inputs.items()}
next(iter(bad.values())).reshape(-1)[3] = 1 << 20
try:
    client.call(**bad)
except ValueError as error:
    print("refused:", error)
# Messages of any bytes, of which some begin as requests do.
generator = np.random.default_rng(0)
for _ in range(2000):
    message = generator.bytes(int(generator.integers(1, 48)))
    if generator.random() < 0.5:
        message = struct.pack("<II", GET if generator.random() < 0.7 else 7,
                              generator.integers(0, 200)) + generator.bytes(24)
    if message[:4] in (struct.pack("<I", kind) for kind in (CALL, SET, STOP)):
        continue
    client.socket.send(message)
    client.receive()
# Nothing of an empty range is copied.
assert client.ask(SET, kept, elements, 0) == ""
assert client.ask(SYNC) == ""
assert np.array_equal(client.get(kept), before)
assert client.close() == 0

for made in ({"seals": False}, {"extra_bytes": 64}):
    try:
        Client(program, "--quiet", stderr=subprocess.PIPE, **made)
    except EOFError as error:
        print(error)
