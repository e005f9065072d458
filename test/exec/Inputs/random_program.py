"""Prints a random program of annotated tensor ops, the same for the same seed.

usage: random_program.py SEED NUMBER_OF_OPS [even]

Dimensions are letters, each with one size; axes do not divide some, unless `even` is given: then
every sharding divides every dimension except dimensions of size 1, which are not sharded, and
nothing has to be rejected. Arguments, some intermediate values (by dist.constraint) and results get
random shardings over the axes of a mesh and their halves. Everything is f64, so that a comparison
may be strict."""

import random
import sys

SIZES = {"a": 4, "b": 6, "c": 8, "d": 5, "e": 3, "f": 12, "g": 1}
EVEN_SIZES = {"a": 8, "b": 16, "c": 8, "d": 8, "e": 16, "f": 8, "g": 1}
MESHES = [
    {"x": 2, "y": 2},
    {"x": 2, "y": 4},
    {"x": 4, "y": 2},
    {"x": 3, "y": 2},
    {"x": 8},
    {"x": 2, "y": 2, "z": 2},
]


class Program:
    def __init__(self, seed, even):
        self.random = random.Random(seed)
        self.even = even
        meshes = [m for m in MESHES if not even or 3 not in m.values()]
        self.mesh = self.random.choice(meshes)
        self.lines, self.arguments = [], []
        self.values = []  # (name, letters)
        self.count = 0

    def type(self, letters, element="f64"):
        return "tensor<" + "".join(f"{SIZES[l]}x" for l in letters) + element + ">"

    def atoms(self):
        """Axes to distribute: whole axes, or both halves of one of 4."""
        atoms = []
        for axis, size in self.mesh.items():
            if size in (4, 8) and self.random.random() < 0.3:
                atoms += [f'"{axis}":(1)2', f'"{axis}":(2){size // 2}']
            else:
                atoms.append(f'"{axis}"')
        self.random.shuffle(atoms)
        return atoms

    def sharding(self, letters, openness):
        dims = [[] for _ in letters]
        for atom in self.atoms():
            if letters and self.random.random() < 0.6:
                dim = self.random.randrange(len(letters))
                if self.even and SIZES[letters[dim]] == 1:
                    continue
                # Adjacent halves would have to be merged.
                before = dims[dim][-1] if dims[dim] else ""
                if ":(1)2" in before and atom.startswith(before[:3] + ":(2)"):
                    continue
                dims[dim].append(atom)
        texts = []
        for dim in dims:
            open_ = ["?"] if self.random.random() < openness else []
            texts.append("{" + ", ".join(dim + open_) + "}")
        return f"<@mesh, [{', '.join(texts)}]>"

    def argument(self, letters, element="f64", attributes=""):
        name = f"%arg{len(self.arguments)}"
        entries = [attributes] if attributes else []
        if self.random.random() < 0.7:
            entries.append(
                f"dist.sharding = #dist.sharding{self.sharding(letters, 0.3)}"
            )
        self.arguments.append(
            f"{name}: {self.type(letters, element)} {{{', '.join(entries)}}}"
        )
        return name

    def emit(self, text, letters):
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text}")
        self.values.append((name, letters))
        return name

    def value(self, rank=None):
        """A value of at least this rank, an existing one if possible."""
        known = [v for v in self.values if rank is None or len(v[1]) >= rank]
        if known and self.random.random() < 0.8:
            return self.random.choice(known[-4:])
        count = max(rank or 1, self.random.randint(1, 3))
        letters = "".join(self.random.sample(sorted(SIZES), count))
        value = (self.argument(letters), letters)
        self.values.append(value)
        return value

    def like(self, letters):
        """A value of exactly these letters."""
        known = [v for v, l in self.values if l == letters]
        if known and self.random.random() < 0.6:
            return self.random.choice(known)
        return self.argument(letters)

    # One method per op.

    def unary(self):
        v, l = self.value()
        op = self.random.choice(
            ["math.tanh", "nn.gelu <tanh>", "nn.silu", "arith.negf", "math.cos"]
        )
        self.emit(f"{op} {v} : {self.type(l)}", l)

    def binary(self):
        v, l = self.value()
        op = self.random.choice(
            ["arith.addf", "arith.subf", "arith.mulf", "arith.maximumf"]
        )
        self.emit(f"{op} {v}, {self.like(l)} : {self.type(l)}", l)

    def einsum(self):
        v, l = self.value()
        shared = [c for c in l if self.random.random() < 0.6]
        fresh = [c for c in sorted(SIZES) if c not in l]
        other = shared + self.random.sample(fresh, self.random.randint(0, 2))
        self.random.shuffle(other)
        if not other or len(set(l) | set(other)) > 6:
            return
        result = [c for c in l if c not in shared or self.random.random() < 0.4]
        result += [c for c in other if c not in l]
        self.random.shuffle(result)
        result = "".join(result[:5])
        # Every dropped letter must be shared.
        if any(c not in shared for c in set(l + "".join(other)) - set(result)):
            return
        other = "".join(other)
        self.emit(
            f'nn.einsum "{l},{other}->{result}" {v}, {self.like(other)} : '
            f"{self.type(l)}, {self.type(other)} -> {self.type(result)}",
            result,
        )

    def reduce(self):
        v, l = self.value()
        dims = [d for d in range(len(l)) if self.random.random() < 0.5]
        result = "".join(c for d, c in enumerate(l) if d not in dims)
        kind = self.random.choice(["sum", "max", "min"])
        self.emit(
            f"nn.reduce <{kind}> {v} dims {dims} : {self.type(l)} -> "
            f"{self.type(result)}",
            result,
        )

    def norm(self):
        v, l = self.value(1)
        if not l:
            return
        w = [self.like(l[-1]) for _ in range(2)]
        t, tw = self.type(l), self.type(l[-1])
        self.emit(
            self.random.choice(
                [
                    f"nn.layer_norm {v}, {w[0]}, {w[1]} eps 1.0e-1 : {t}, {tw}, {tw}",
                    f"nn.rms_norm {v}, {w[0]} eps 1.0e-1 : {t}, {tw}",
                    f"nn.softmax {v} dim {self.random.randrange(len(l))} : {t}",
                ]
            ),
            l,
        )

    def transpose(self):
        v, l = self.value()
        order = list(range(len(l)))
        self.random.shuffle(order)
        result = "".join(l[d] for d in order)
        self.emit(
            f"nn.transpose {v} {order} : {self.type(l)} -> {self.type(result)}",
            result,
        )

    def broadcast(self):
        v, l = self.value()
        fresh = [c for c in sorted(SIZES) if c not in l]
        if len(l) > 2:
            return
        position = self.random.randint(0, len(l))
        result = l[:position] + self.random.choice(fresh) + l[position:]
        dims = [d for d in range(len(result)) if d != position]
        self.emit(
            f"nn.broadcast {v} dims {dims} : {self.type(l)} -> {self.type(result)}",
            result,
        )

    def merge_and_split(self):
        v, l = self.value(2)
        if len(l) < 2:
            return
        groups = [[d] for d in range(len(l))]
        at = self.random.randrange(len(l) - 1)
        groups[at : at + 2] = [[at, at + 1]]
        flat = [SIZES[c] for c in l]
        flat[at : at + 2] = [flat[at] * flat[at + 1]]
        merged = "tensor<" + "".join(f"{s}x" for s in flat) + "f64>"
        name = f"%m{self.count}"
        self.lines.append(
            f"  {name} = tensor.collapse_shape {v} {groups} : {self.type(l)} into {merged}"
        )
        self.lines.append(f"  {name}t = math.tanh {name} : {merged}")
        self.emit(
            f"tensor.expand_shape {name}t {groups} output_shape "
            f"{[SIZES[c] for c in l]} : {merged} into {self.type(l)}",
            l,
        )

    def slice(self):
        v, l = self.value()
        if not l:
            return
        d = self.random.randrange(len(l))
        smaller = [c for c in sorted(SIZES) if SIZES[c] < SIZES[l[d]] and c not in l]
        if not smaller:
            return
        result = l[:d] + self.random.choice(smaller) + l[d + 1 :]
        offsets = [0] * len(l)
        offsets[d] = self.random.randint(0, SIZES[l[d]] - SIZES[result[d]])
        sizes = [SIZES[c] for c in result]
        self.emit(
            f"tensor.extract_slice {v}{offsets} {sizes} {[1] * len(l)} : "
            f"{self.type(l)} to {self.type(result)}",
            result,
        )

    def rope(self):
        v, l = self.value(2)
        if len(l) < 2 or SIZES[l[-1]] % 2:
            return
        dim = self.random.randrange(len(l) - 1)
        self.emit(f"nn.rope {v} dim {dim} theta 100.0 : {self.type(l)}", l)

    def embedding(self):
        table = "".join(self.random.sample(sorted(SIZES), 2))
        letters = "".join(self.random.sample(sorted(set(SIZES) - set(table)), 2))
        ids = self.argument(letters, "i32")
        result = letters + table[1]
        self.emit(
            f"nn.embedding {self.like(table)}, {ids} : {self.type(table)}, "
            f"{self.type(letters, 'i32')} -> {self.type(result)}",
            result,
        )

    def cross_entropy(self):
        v, l = self.value(2)
        if len(l) < 2:
            return
        labels = self.argument(l[:-1], "i32")
        self.emit(
            f"nn.cross_entropy {v}, {labels} ignore -100 : {self.type(l)}, "
            f"{self.type(l[:-1], 'i32')} -> {self.type(l[:-1])}",
            l[:-1],
        )

    def attention(self):
        b, s, t, g, r, k = self.random.sample(sorted(SIZES), 6)
        causal = self.random.choice(["causal ", ""])
        if causal:
            t = s
        q, o, kv = b + s + g + r + k, b + s + g + r + k, b + t + g + k
        self.emit(
            f"nn.attention {causal}scale 0.5 {self.like(q)}, {self.argument(kv)}, "
            f"{self.argument(kv)} : {self.type(q)}, {self.type(kv)}, "
            f"{self.type(kv)} -> {self.type(o)}",
            o,
        )

    def constraint(self):
        v, l = self.value()
        self.emit(
            f"dist.constraint {v} {self.sharding(l, 0.3)} : {self.type(l)}", l
        )

    def matmul(self):
        i, j, k = self.random.sample(sorted(SIZES), 3)
        lhs, rhs, init = self.like(i + k), self.like(k + j), self.like(i + j)
        t = [self.type(l) for l in (i + k, k + j, i + j)]
        self.emit(
            f"linalg.matmul ins({lhs}, {rhs} : {t[0]}, {t[1]}) "
            f"outs({init} : {t[2]}) -> {t[2]}",
            i + j,
        )

    def pick(self):
        v, l = self.value(2)
        if len(l) < 2:
            return
        index = self.argument(l[:-1], "i32")
        self.emit(
            f"nn.take_along_axis {v}, {index} : {self.type(l)}, {self.type(l[:-1], 'i32')} "
            f"-> {self.type(l[:-1])}",
            l[:-1],
        )

    def positions(self):
        """Adds to each element its position along the last dimension."""
        v, l = self.value(1)
        if not l:
            return
        i, t = f"%i{self.count}", self.type(l[-1], "i64")
        self.lines.append(f"  {i} = nn.iota : {t}")
        self.lines.append(
            f"  {i}f = arith.sitofp {i} : {t} to {self.type(l[-1])}"
        )
        self.lines.append(
            f"  {i}b = nn.broadcast {i}f dims [{len(l) - 1}] : {self.type(l[-1])} "
            f"-> {self.type(l)}"
        )
        self.emit(f"arith.addf {v}, {i}b : {self.type(l)}", l)

    def mask(self):
        v, l = self.value(1)
        if not l:
            return
        dim = self.random.randrange(len(l))
        size = self.random.randint(1, SIZES[l[dim]])
        self.emit(
            f"nn.mask_padding {v} dim {dim} size {size} value 0.5 : f64 : "
            f"{self.type(l)}",
            l,
        )

    def constant(self):
        v, l = self.value()
        count = 1
        for c in l:
            count *= SIZES[c]
        if not l or count > 200:
            return
        numbers = [f"{self.random.randint(-9, 9)}.0" for _ in range(count)]
        for c in reversed(l[1:]):
            n = SIZES[c]
            numbers = [
                "[" + ", ".join(numbers[i : i + n]) + "]"
                for i in range(0, len(numbers), n)
            ]
        name = f"%c{self.count}"
        self.lines.append(
            f"  {name} = arith.constant dense<[{', '.join(numbers)}]> : {self.type(l)}"
        )
        self.emit(f"arith.mulf {v}, {name} : {self.type(l)}", l)

    def choose(self):
        v, l = self.value()
        other, t = self.like(l), self.type(l)
        name = f"%p{self.count}"
        self.lines.append(f"  {name} = arith.cmpf ogt, {v}, {other} : {t}")
        self.emit(
            f"arith.select {name}, {v}, {other} : {self.type(l, 'i1')}, {t}", l
        )

    def concat(self):
        v, l = self.value(1)
        if not l:
            return
        dim = self.random.randrange(len(l))
        # Two sizes whose sum is a size, too.
        pairs = [
            (c, r)
            for c in sorted(SIZES)
            for r in sorted(SIZES)
            if SIZES[l[dim]] + SIZES[c] == SIZES[r]
            and not set(c + r) & (set(l) - {l[dim]})
        ]
        if not pairs:
            return
        c, r = self.random.choice(pairs)
        other, result = l[:dim] + c + l[dim + 1 :], l[:dim] + r + l[dim + 1 :]
        self.emit(
            f"tensor.concat dim({dim}) {v}, {self.like(other)} : ({self.type(l)}, "
            f"{self.type(other)}) -> {self.type(result)}",
            result,
        )

    def linalg_reduce(self):
        v, l = self.value(1)
        if not l:
            return
        dim = self.random.randrange(len(l))
        result = l[:dim] + l[dim + 1 :]
        op = self.random.choice(["arith.addf", "arith.maximumf", "arith.minimumf"])
        self.emit(
            f"linalg.reduce {{ {op} }} ins({v} : {self.type(l)}) "
            f"outs({self.like(result)} : {self.type(result)}) dimensions = [{dim}]",
            result,
        )

    def print(self, count):
        ops = [self.unary, self.binary, self.einsum, self.einsum, self.einsum]
        ops += [self.reduce, self.norm, self.transpose, self.broadcast]
        ops += [self.merge_and_split, self.slice, self.rope, self.embedding]
        ops += [self.cross_entropy, self.attention, self.constraint]
        ops += [self.constraint, self.matmul, self.binary, self.pick]
        ops += [self.positions, self.mask, self.constant, self.choose]
        ops += [self.concat, self.linalg_reduce]
        while self.count < count:
            self.random.choice(ops)()
        results = self.values[-1:]
        if self.random.random() < 0.5:
            results = self.random.sample(self.values, min(2, len(self.values)))
        mesh = ", ".join(f'"{a}"={n}' for a, n in self.mesh.items())
        print(f"dist.mesh @mesh [{mesh}]")
        types = [self.type(l) for _, l in results]
        shown = [
            f"{t} {{dist.sharding = #dist.sharding{self.sharding(l, 0.3)}}}"
            if self.random.random() < 0.7
            else t
            for t, (_, l) in zip(types, results)
        ]
        print(f"func.func @f({', '.join(self.arguments)}) -> ({', '.join(shown)}) {{")
        print("\n".join(self.lines))
        names = ", ".join(v for v, _ in results)
        print(f"  return {names} : {', '.join(types)}\n}}")


if __name__ == "__main__":
    is_even = sys.argv[3:] == ["even"]
    if is_even:
        SIZES.update(EVEN_SIZES)
    Program(int(sys.argv[1]), is_even).print(int(sys.argv[2]))
