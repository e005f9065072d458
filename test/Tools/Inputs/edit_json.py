"""Prints a JSON file with one value replaced: edit_json.py FILE PATH VALUE, where PATH has keys
that are separated by dots."""

import json
import sys

name, path, value = sys.argv[1:]
data = json.load(open(name))
*steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
target = data
for step in steps:
    target = target[step]
target[last] = json.loads(value)
print(json.dumps(data, indent=1))
