"""Reads the remarks of a choice: fastest.py prints which strategies with sharded experts were tried,
and whether the chosen shardings are as fast as the fastest that were tried, to 0.1 %."""

import re
import sys

tried, chosen = {}, None
for line in sys.stdin:
    found = re.search(r'"shardings of ([^"]*)".*\bus=([0-9.e+]+)', line)
    if found and "TriedShardings" in line:
        tried[found[1]] = min(float(found[2]), tried.get(found[1], float("inf")))
    elif found and "ChosenShardings" in line:
        chosen = float(found[2])
print("experts:", *sorted(name for name in tried if "ep=" in name))
print("fastest" if chosen <= 1.001 * min(tried.values()) else f"{chosen} us of {tried}")
