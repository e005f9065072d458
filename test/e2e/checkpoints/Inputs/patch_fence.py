"""Copies a program and makes its tessera_rt_state_fence return at once.

usage: patch_fence.py NM PROGRAM COPY
"""

import pathlib
import struct
import subprocess
import sys

nm, program, copy = sys.argv[1:]
symbols = subprocess.run([nm, program], check=True, capture_output=True, text=True).stdout
address = next(int(line.split()[0], 16) for line in symbols.splitlines()
               if line.endswith(" tessera_rt_state_fence"))
data = bytearray(pathlib.Path(program).read_bytes())
# The program header of the segment that has the function says where it is in the file.
(offset,) = struct.unpack_from("<Q", data, 32)
size, count = struct.unpack_from("<HH", data, 54)
for i in range(count):
    kind, _, begin, virtual, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
    if kind == 1 and virtual <= address < virtual + length:
        at = begin + address - virtual
        data[at:at + 3] = b"\x31\xc0\xc3"  # xor %eax, %eax; ret
        break
else:
    sys.exit("the function is in no segment")
pathlib.Path(copy).write_bytes(data)
pathlib.Path(copy).chmod(0o755)
