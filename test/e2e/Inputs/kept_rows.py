"""Compares the bytes of rows of experts that remarks say a step keeps with those in its arena.

    kept_rows.py TESSERA_OPT GRAPH.mlir FOLDER [MESH:STRATEGY:POLICY:ROOM:LESS]...

A step with less room for rows keeps fewer of them, and all else alike. For each case prints the
difference of the kept bytes by the remark of recomputation, and of the blocks of rows in the arena
that are written before the first backward of experts and read in it or after it; exit status 1 if
these differ by more than 2 %, or are 0."""

import pathlib
import re
import subprocess
import sys

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8, "i32": 4, "i64": 8, "i1": 1}


def size_of(kind):
    sizes, element = re.match(r"tensor<((?:\d+x)*)(\w+)>", kind).groups()
    count = BYTES[element]
    for size in sizes.split("x")[:-1]:
        count *= int(size)
    return count


def names_of(results):
    """The names of an op's results: %a, %b or %a#0, %a#1."""
    for name in results.split(", "):
        base, _, count = name.partition(":")
        yield from [f"{base}#{i}" for i in range(int(count))] if count else [base]


def live_bytes(text):
    """The bytes of the arena that hold rows and are live before the first backward of experts."""
    lines = text.splitlines()
    rows = re.search(r"rt\.experts <.*? rows tensor<(\d+x)", text).group(1)
    begin = next(i for i, line in enumerate(lines) if "rt.arena_bytes" in line)
    body = lines[begin + 1:]
    end = next(i for i, line in enumerate(body) if "rt.experts_backward" in line)
    blocks, used = {}, set()
    for i, line in enumerate(body):
        found = re.match(r"    (%\w+(?::\d+)?(?:, %\w+(?::\d+)?)*) = (.*)", line)
        if i >= end:
            used.update(re.findall(r"%\w+(?:#\d+)?", found.group(2) if found else line))
            continue
        offsets = re.search(r"rt\.offsets = array<i64: ([^>]*)>", line)
        if not found or not offsets:
            continue
        kinds = re.findall(r"tensor<[^>]*>", line)
        places = [int(place) for place in offsets.group(1).split(",")]
        for name, place, kind in zip(names_of(found.group(1)), places, kinds[-len(places):]):
            if kind.startswith(f"tensor<{rows}"):
                blocks[name] = (place, place + size_of(kind))
    total = last = 0
    for first, after in sorted(block for name, block in blocks.items() if name in used):
        total += max(0, after - max(first, last))
        last = max(last, after)
    return total


def measure(command, graph, folder, case, room):
    mesh, strategy, policy = case
    path = pathlib.Path(folder) / "step.mlir"
    done = subprocess.run(
        [command, graph, "-o", str(path), "--remarks-filter=training", "--remark-policy=all",
         f"--compile-to=schedule mesh={mesh} strategy={strategy} "
         f"training=recompute={policy},moe-room={room}"], capture_output=True, text=True, check=True)
    kept = int(re.search(r"keeps (\d+) of \d+ bytes", done.stderr).group(1))
    return kept, live_bytes(path.read_text())


command, graph, folder = sys.argv[1:4]
status = 0
for argument in sys.argv[4:]:
    *case, room, less = argument.split(":")
    more, fewer = (measure(command, graph, folder, case, number) for number in (room, less))
    kept, live = more[0] - fewer[0], more[1] - fewer[1]
    agrees = kept > 0 and abs(kept - live) <= 0.02 * live
    status |= not agrees
    print(f"{argument}: rows of {kept} bytes in remarks, {live} in the arena"
          f"{'' if agrees else ', which differ'}")
sys.exit(status)
