"""Compares two folders of .npy files byte for byte."""

import pathlib
import sys

a, b = map(pathlib.Path, sys.argv[1:])
names = {path.name for path in a.glob("*.npy")}
if not names or names != {path.name for path in b.glob("*.npy")}:
    sys.exit("the folders hold different files")
different = [n for n in sorted(names) if (a / n).read_bytes() != (b / n).read_bytes()]
if different:
    sys.exit(f"{len(different)} of {len(names)} files differ: {', '.join(different[:5])}")
print(f"{len(names)} files are the same")
