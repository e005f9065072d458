"""Prints a program with one function for each pair of shardings of a tensor: the argument has the
first sharding, the result the second.

usage: all_reshards.py AXIS=SIZE,... SHAPE ATOM,... [partial]

ATOM is an axis or a sub-axis, as x or x:(1)2. The shardings are all those that put each atom on one
of the dimensions, in any order, or on none. With `partial` the first ones are those that are
partial over some of the other atoms."""

import itertools
import sys


def shardings(atoms, rank):
    """Each sharding as a tuple of tuples of atoms, one per dimension."""
    found = set()
    for order in itertools.permutations(atoms):
        for dims_of in itertools.product(range(rank + 1), repeat=len(atoms)):
            dims = [[] for _ in range(rank + 1)]
            for atom, dim in zip(order, dims_of):
                dims[dim].append(atom)
            found.add(tuple(map(tuple, dims[:rank])))
    return sorted(found)


def part(atom):
    """Axis, first size and size of an atom; a full axis has size 0."""
    axis, _, rest = atom.partition(":(")
    pre, _, size = rest.partition(")")
    return (axis, int(pre), int(size)) if rest else (axis, 1, 0)


def written(dim, sizes):
    """The axes of a dimension, with adjacent sub-axes merged as the attribute requires."""
    parts = []
    for axis, pre, size in map(part, dim):
        if parts and size and parts[-1][0] == axis:
            last = parts[-1]
            if last[2] and last[1] * last[2] == pre:
                parts[-1] = (axis, last[1], last[2] * size)
                continue
        parts.append((axis, pre, size))
    texts = []
    for axis, pre, size in parts:
        full = size in (0, sizes[axis])
        texts.append(f'"{axis}"' + ("" if full else f":({pre}){size}"))
    return "{" + ", ".join(texts) + "}"


def main():
    sizes = {}
    for entry in sys.argv[1].split(","):
        axis, size = entry.split("=")
        sizes[axis] = int(size)
    shape = sys.argv[2].split("x")
    atoms = sys.argv[3].split(",")
    tensor = "x".join(shape)
    mesh = ", ".join(f'"{axis}"={size}' for axis, size in sizes.items())
    print(f"dist.mesh @mesh [{mesh}]")
    whole, partial = [], []
    for sharding in shardings(atoms, len(shape)):
        dims = ", ".join(written(dim, sizes) for dim in sharding)
        whole.append(f"#dist.sharding<@mesh, [{dims}]>")
        free = [atom for atom in atoms if not any(atom in dim for dim in sharding)]
        for count in range(1, len(free) + 1):
            for chosen in itertools.combinations(free, count):
                text = written(chosen, sizes)
                partial.append(f"#dist.sharding<@mesh, [{dims}], unreduced={text}>")
    for i, source in enumerate(partial if "partial" in sys.argv[4:] else whole):
        for j, target in enumerate(whole):
            print(
                f"func.func @from_{i}_to_{j}(%a: tensor<{tensor}xf32>"
                f" {{dist.sharding = {source}}}) -> (tensor<{tensor}xf32>"
                f" {{dist.sharding = {target}}}) {{\n"
                f"  return %a : tensor<{tensor}xf32>\n}}"
            )


if __name__ == "__main__":
    main()
