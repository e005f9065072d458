"""Prints the log of a run of 120 steps with a loss that is missing, a step that is undone, and a
last line that is cut. Argument: a seed."""

import json
import math
import random
import sys

random.seed(int(sys.argv[1]))
for step in range(1, 121):
    print(json.dumps({
        "event": "step", "step": step,
        "loss": None if step == 40 else 5.5 * math.exp(-step / 150) + random.random() * 0.2,
        "grad_norm": 2 + random.random(), "lr": 3e-3 * (1 - step / 120),
        "ms": 14.5 + random.random(), "tokens_per_second": 17556 + random.random() * 100,
        "mfu": None, "memory_bytes": 4340000, "undone": step == 7}))
    if step % 20 == 0:
        print(json.dumps({"event": "eval", "step": step, "loss": 5.5 * math.exp(-step / 150)}))
sys.stdout.write('{"event": "st')
