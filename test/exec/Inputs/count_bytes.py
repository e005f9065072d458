"""Counts the communication of a training step by axis: the elements that a rank receives in the
collectives of a local program, with bandwidth-optimal algorithms. Collectives in a dist.accumulate
count once per micro-batch.

usage: count_bytes.py PROGRAM.mlir   (a local program in text)

Prints for each set of axes `AXES KIND COUNT ELEMENTS` for collectives of more than one element, and
a line for all scalars together. A bucket is one collective; scalars in it are not counted."""

import collections
import re
import sys

COLLECTIVE = re.compile(
    r"dist\.(all_reduce|all_gather|reduce_scatter|all_to_all|collective_permute|all_slice)\b.*"
    r"over <\{(.*?)\}>.*: tensor<(.*?)> -> tensor<(.*?)>"
)
MESH = re.compile(r'"(\w+)"=(\d+)')


def elements(shape):
    count = 1
    for size in shape.split("x")[:-1]:
        count *= int(size)
    return count


def received(kind, before, after, n):
    """Elements that one rank receives."""
    if kind == "all_reduce":
        return 2 * before * (n - 1) / n
    if kind == "all_gather":
        return after * (n - 1) / n
    if kind in ("reduce_scatter", "all_to_all"):
        return before * (n - 1) / n
    return before if kind == "collective_permute" else 0


def count(path):
    """{(axes, kind): [count, elements]} and the number of scalar collectives."""
    sizes, times, totals, scalars = {}, 1, collections.defaultdict(lambda: [0, 0.0]), 0
    members = None  # (key, elements) of the bucket that contains the line; None outside
    for line in open(path):
        if "dist.mesh" in line:
            sizes = {name: int(size) for name, size in MESH.findall(line)}
        if match := re.search(r"dist\.accumulate (\d+)", line):
            times = int(match.group(1))
        if line.startswith("    }"):
            times = 1
        if "dist.bucket" in line:
            members = []
        if "dist.yield" in line and members is not None:
            tensors = [member for member in members if member]
            scalars += times if not tensors else 0
            for i, (key, size) in enumerate(tensors):
                totals[key][0] += times if i == 0 else 0
                totals[key][1] += times * size
            members = None
        match = COLLECTIVE.search(line)
        if not match:
            continue
        kind, axes, before, after = match.groups()
        axes = re.sub(r'[" ]', "", axes)
        n = 1
        for axis in axes.split(","):
            part = re.match(r"(\w+):\(\d+\)(\d+)", axis)
            n *= int(part.group(2)) if part else sizes[axis]
        size = received(kind, elements(before), elements(after), n)
        is_scalar = max(elements(before), elements(after)) == 1
        if members is not None:
            members.append(None if is_scalar else ((axes, kind), size))
        elif is_scalar:
            scalars += times
        else:
            totals[axes, kind][0] += times
            totals[axes, kind][1] += times * size
    return totals, scalars


def main():
    totals, scalars = count(sys.argv[1])
    for (axes, kind), (number, size) in sorted(totals.items()):
        print(axes, kind, number, round(size, 3))
    print("scalars", scalars)


if __name__ == "__main__":
    main()
