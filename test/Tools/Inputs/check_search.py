"""Checks the file of `tessera plan --search`.

Usage: check_search.py SEARCH.json [REPORT.json]

A second file, the report of the best layout alone, is compared with it."""

import json
import sys

found = json.load(open(sys.argv[1]))
if len(sys.argv) > 2:
    report = json.load(open(sys.argv[2]))
    del found["search"], found["command"], report["command"]
    # The section of the search follows that of its best plan.
    assert found["sections"].pop()["kind"] == "search"
    assert found == report
    print("the report of the layout alone is the same")
    sys.exit()
search = found["search"]
counts = search["counts"]
parts = ("invalid", "bounded", "too_large", "priced")
assert counts["layouts"] == sum(counts[part] for part in parts), counts
assert 0 < counts["fit"] <= counts["priced"]
top = search["top"]
times = [plan["seconds"] for plan in top]
assert times == sorted(times) and times[0] == found["step"]["seconds"]
assert top[0]["layout"] == found["layout"]
assert search["bound"]["gap"] == 0
for plan in top + search["points"] + search["meshes"]:
    assert plan["bytes"] <= plan["limit_bytes"] <= plan["bytes"] + plan["headroom_bytes"]
for plan in search["near_misses"]:
    assert plan["bytes"] > plan["limit_bytes"] and plan["seconds"] < times[0]
points = search["points"]
for before, after in zip(points, points[1:]):
    assert before["seconds"] < after["seconds"] and before["bytes"] > after["bytes"]
print(f"counts sum, {len(top)} best plans in order, the first is the layout")
