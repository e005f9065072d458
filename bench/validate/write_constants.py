"""Writes the constants that bench/validate_cost --fit prints to share/clusters.

    bench/validate_cost FOLDER --fit | python3 bench/validate/write_constants.py

Replaces the constants that a cluster file marks as fitted, and then those marked as guesses "as"
another device, by that device's constants. Keeps three digits."""

import json
import pathlib
import sys

CLUSTERS = pathlib.Path(__file__).resolve().parents[2] / "share" / "clusters"
# The file with the constants of a guess "as H100".
SAME = {"as A100": "a100-80-sxm-ib", "as H100": "h100-sxm-ib", "as B200": "b200-sxm-ib",
        "as GB200": "gb200-nvl72-ib"}
# Links whose efficiency is determined by runs, not by micro-benchmarks.
RUNS = "multi-node runs on A100 (docs/cost.md)"


def round3(value):
    return float(f"{value:.3g}")


def read_fit(lines):
    """(device, name, value) of each line DEVICE:NAME=VALUE, in their order."""
    found = []
    for line in lines:
        left, equals, value = line.strip().partition("=")
        if equals and ":" in left:
            found.append((*left.split(":"), round3(float(value))))
    return found


def set_fitted(spec, device, name, value):
    if device not in spec["device"]["name"]:
        return
    if name.startswith("levels."):
        index, field = name.split(".")[1:]
        quantity = spec["levels"][int(index)][field]
        is_fitted = quantity["source"] == RUNS
    else:
        quantity = spec["device"]["constants"].get(name, {"from": ""})
        is_fitted = quantity["from"] == "fitted"
    if is_fitted:
        quantity["value"] = value


def main():
    fit = read_fit(sys.stdin)
    if not fit:
        sys.exit("write_constants.py: expects lines DEVICE:NAME=VALUE on its input but got none")
    specs = {path: json.loads(path.read_text()) for path in sorted(CLUSTERS.glob("*.json"))}
    for spec in specs.values():
        for entry in fit:
            set_fitted(spec, *entry)
    by_name = {spec["name"]: spec for spec in specs.values()}
    for spec in specs.values():
        for name, quantity in spec["device"]["constants"].items():
            if quantity["from"] == "guess" and quantity["source"] in SAME:
                other = by_name[SAME[quantity["source"]]]["device"]["constants"]
                quantity["value"] = other[name]["value"]
    for path, spec in specs.items():
        path.write_text(json.dumps(spec, indent=1) + "\n")


main()
