"""Gives each argument of a program's functions values on each rank: small integers that differ
between ranks, so that `tessera verify --interpret` can run it.

usage: fill_values.py PROGRAM.mlir RANKS   (prints the program)"""

import random
import re
import sys


def values(shape, draw):
    """A literal of the elements; a single value if there are many."""
    count = 1
    for size in shape:
        count *= size
    if count > 4096:
        return f"{draw()}.0"

    def nest(dims):
        if not dims:
            return f"{draw()}.0"
        return "[" + ", ".join(nest(dims[1:]) for _ in range(dims[0])) + "]"

    return nest(shape)


def main():
    rng = random.Random(3)
    ranks = int(sys.argv[2])

    def fill(match):
        sizes = [int(size) for size in match.group(2).split("x")[:-1]]
        each = ", ".join(
            f"dense<{values(sizes, lambda: rng.randint(-8, 8))}> : tensor<{match.group(2)}>"
            for _ in range(ranks))
        end = ", " if match.group(3) else "}"
        return f"{match.group(1)} {{interpret.values = [{each}]{end}"

    in_signature = False
    for line in open(sys.argv[1]):
        in_signature |= line.startswith("func.func @")
        if in_signature:
            line = re.sub(r"(%\w+: tensor<([\w]+)>)( \{)?", fill, line)
            in_signature = not line.rstrip().endswith("{")
        sys.stdout.write(line)


if __name__ == "__main__":
    main()
