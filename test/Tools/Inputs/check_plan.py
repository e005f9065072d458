"""Checks the sums of a report of tessera plan --json."""

import json
import math
import sys

report = json.load(open(sys.argv[1]))
step = report["step"]
assert math.isclose(sum(step["causes"].values()), step["seconds"], rel_tol=1e-9), step
assert set(step["causes"]) == set(step["resources"]), step
memory = report["memory"]
for stage in memory["stages"]:
    assert math.isclose(sum(stage["categories"].values()), stage["total_bytes"], rel_tol=1e-9), stage
    assert stage["allocated_bytes"] < stage["reserved_bytes"] < stage["total_bytes"], stage
fullest = memory["stages"][memory["fullest_stage"]]["total_bytes"]
assert fullest == max(stage["total_bytes"] for stage in memory["stages"])
assert memory["fits"] == (fullest <= memory["device_bytes"])
layout = report["layout"]
tokens = layout["global-batch"] * layout["seq"]
assert math.isclose(report["tokens_per_second"], tokens / step["seconds"], rel_tol=1e-9)
# A step executes all of the model's FLOPs, and rematerialized ones.
assert report["hfu"] >= report["mfu"] * (1 - 1e-9), report
print(f"stages {len(memory['stages'])}, causes sum to the step, categories sum to the stages")
