"""Writes the constants that bench/validate_cost --fit prints to share/devices and share/clusters.

    bench/validate_cost FOLDER --fit | python3 bench/validate/write_constants.py [SHARE]

Replaces the constants that a file marks as fitted; devices with the constants of another one ("as",
"like") follow it. Keeps three digits."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
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


def set_constant(device, word, name, value):
    quantity = device.get("constants", {}).get(name, {})
    if word in device["name"] and "value" in quantity and quantity["from"] == "fitted":
        quantity["value"] = value


def set_level(cluster, devices, word, name, value):
    if word not in devices[cluster["device"]]["name"]:
        return
    index, field = name.split(".")[1:]
    quantity = cluster["levels"][int(index)][field]
    if quantity["source"] == RUNS:
        quantity["value"] = value


def read_folder(path):
    return {file.stem: json.loads(file.read_text()) for file in sorted(path.glob("*.json"))}


def write_folder(path, files):
    for name, content in files.items():
        (path / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def main():
    fit = read_fit(sys.stdin)
    if not fit:
        sys.exit("write_constants.py: expects lines DEVICE:NAME=VALUE on its input but got none")
    share = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "share"
    devices, clusters = read_folder(share / "devices"), read_folder(share / "clusters")
    for word, name, value in fit:
        if name.startswith("levels."):
            for cluster in clusters.values():
                set_level(cluster, devices, word, name, value)
        else:
            for device in devices.values():
                set_constant(device, word, name, value)
    write_folder(share / "devices", devices)
    write_folder(share / "clusters", clusters)


main()
