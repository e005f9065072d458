"""Reads the remarks of a choice: estimates.py prints how many candidates programs of few blocks
told the time of, whether the chosen one was compiled, how many were both, and which of these have
an estimate that is off by more than 1 %."""

import re
import sys

estimated, compiled, chosen = {}, {}, None
for line in sys.stdin:
    found = re.search(r'"shardings of ([^"]*)".*\bus=([0-9.e+]+)', line)
    if found and "TriedShardings" in line:
        name, few = re.subn(", by few blocks$", "", found[1])
        (estimated if few else compiled)[name] = float(found[2])
    elif found and "ChosenShardings" in line:
        chosen = found[1]
print("by few blocks:", len(estimated))
print("chosen:", "compiled" if chosen in compiled else "not compiled")
both = sorted(estimated.keys() & compiled.keys())
print("compared:", len(both))
for name in both:
    if abs(estimated[name] / compiled[name] - 1) > 0.01:
        print(f"{name}: {estimated[name]} us for {compiled[name]}")
