"""Prints a program of matmuls whose operand is gathered or whose result is reduce-scattered, over
one mesh: all small sizes of a ring.

    collective_matmuls.py AXES > PROGRAM.mlir

AXES as `tp=4` or `x=2,y=2`; the ring is over all of them together. Each function is a matmul on
global types with shardings that need the collective; `mlp` has both."""

import sys

axes = [a.split("=") for a in sys.argv[1].split(",")]
names = ", ".join(f'"{name}"' for name, _ in axes)
count = 1
for _, size in axes:
    count *= int(size)
print(f"dist.mesh @mesh [" + ", ".join(f'"{n}"={s}' for n, s in axes) + "]")


def sharding(shape, dim):
    """A sharding of dimension `dim`, or of none."""
    dims = ", ".join("{%s}" % (names if i == dim else "") for i in range(len(shape)))
    return f"{{dist.sharding = #dist.sharding<@mesh, [{dims} ]>}}"


def tensor(letters, size):
    return "tensor<" + "x".join(str(size[c]) for c in letters) + "xf64>"


def function(name, spec, size, lhs, rhs, result):
    """A matmul; `lhs`, `rhs` and `result` are the letters that the ring shards."""
    operands, out = spec.split("->")
    left, right = operands.split(",")
    types = [tensor(t, size) for t in (left, right, out)]
    shardings = [sharding(t, t.find(c) if c else -1)
              for t, c in ((left, lhs), (right, rhs), (out, result))]
    print(f"func.func @{name}(%x: {types[0]} {shardings[0]}, %w: {types[1]} {shardings[1]})"
          f" -> ({types[2]} {shardings[2]}) {{")
    print(f'  %r = nn.einsum "{spec}" %x, %w : {types[0]}, {types[1]} -> {types[2]}')
    print(f"  return %r : {types[2]}\n}}")


number = 0
for rows in (1, 2, 3):
    for width in (1, 2):
        size = {"b": 2, "s": rows * count, "d": 3, "e": width * count, "f": 5}
        for spec in ("bsd,de->bse", "de,bsd->bse", "sbd,de->esb"):
            left = spec.split(",")[0]
            gathered, kept = ("s", "e") if "s" in left else ("e", "s")
            function(f"gather_{number}", spec, size, gathered, kept, kept)
            number += 1
        for spec in ("bse,ed->bsd", "ed,bse->dbs"):
            function(f"scatter_{number}", spec, size, "e", "e", "s")
            number += 1

# Column parallel, then row parallel, between shards of the sequence: three matmuls of one gathered
# value.
size = {"b": 2, "s": 2 * count, "d": 3, "e": 2 * count}
x, w, v = (tensor(t, size) for t in ("bsd", "de", "ed"))
h = tensor("bse", size)
print(f"""func.func @mlp(%x: {x} {sharding("bsd", 1)}, %w0: {w} {sharding("de", 1)},
    %w1: {w} {sharding("de", 1)}, %v: {v} {sharding("ed", 0)}) -> ({x} {sharding("bsd", 1)}) {{
  %a = nn.einsum "bsd,de->bse" %x, %w0 : {x}, {w} -> {h}
  %b = nn.einsum "bsd,de->bse" %x, %w1 : {x}, {w} -> {h}
  %c = math.exp %a : {h}
  %d = arith.mulf %c, %b : {h}
  %e = nn.einsum "bse,ed->bsd" %d, %v : {h}, {v} -> {x}
  return %e : {x}
}}""")
