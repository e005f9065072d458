"""compare_tensors.py A.npy B.npy: two f32 tensors differ by at most 1e-5 of the largest
number."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e" / "Inputs"))
import npy

a, b = (npy.read(pathlib.Path(path)) for path in sys.argv[1:3])
worst = max(abs(x - y) for x, y in zip(a, b)) / max(abs(y) for y in b)
print(worst)
sys.exit(len(a) != len(b) or not worst <= 1e-5)
