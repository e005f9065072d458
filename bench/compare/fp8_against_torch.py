"""Compares the tests' reference for 8-bit floats (test/e2e/Inputs/eight_bits.py) with PyTorch's
casts to float8_e4m3fn and float8_e5m2, for every bf16 number and f32 numbers between them. Numbers
are clamped to the type's largest number, as nn.quantize does (beyond it PyTorch's versions differ).
Prints JSON; exit status 1 if a number differs.

Usage: fp8_against_torch.py      (needs PyTorch)"""

import json
import math
import pathlib
import sys

import torch

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "test" / "e2e" / "Inputs"))
import eight_bits  # noqa: E402


def main():
    sweep = eight_bits.sweep()
    report = {"torch": torch.__version__, "numbers": len(sweep)}
    for name, form, dtype in (("e4m3", eight_bits.E4M3, torch.float8_e4m3fn),
                              ("e5m2", eight_bits.E5M2, torch.float8_e5m2)):
        largest = form.numbers[-1]
        x = [v if math.isnan(v) else max(-largest, min(largest, v)) for v in sweep]
        wide = torch.tensor(x, dtype=torch.float64).to(torch.float32)
        theirs = wide.to(dtype).to(torch.float32).tolist()
        wrong = [v for v, t in zip(x, theirs) if eight_bits.differs(form.nearest(v), t)]
        report[name] = {"differ": len(wrong), "first": wrong[:3]}
    print(json.dumps(report, indent=1, default=lambda v: None if math.isnan(v) else v))
    sys.exit(any(report[name]["differ"] for name in ("e4m3", "e5m2")))


if __name__ == "__main__":
    main()
