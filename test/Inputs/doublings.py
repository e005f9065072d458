"""Prints programs in which each op uses the result before it twice, N times in a row.

    doublings.py KIND N [WIDTH] > PROGRAM.mlir

KIND: `values`, `parameters` and `constants` of a training step with two blocks; `sums`,
`exponentials`, `products` and `turns` of rows of WIDTH elements, as in imported graphs; `calls` of
functions."""

import sys

STEP = """func.func @f(%x: tensor<8x16xf32> {{nn.input = "x", nn.dims = ["batch", "embed"]}},
    %w: tensor<16x16xf32> {{nn.param = "blocks.0.w", nn.dims = ["embed", "ffn"]}},
    %u: tensor<16x16xf32> {{nn.param = "blocks.1.w", nn.dims = ["ffn", "embed"]}})
    -> (tensor<f32> {{nn.output = "loss"}}) {{
  %c = arith.constant dense<0.5> : tensor<8x16xf32>
  %v = nn.einsum "bi,ij->bj" %x, %w : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
{lines}
  %a = nn.einsum "bi,ij->bj" {v}, {u} : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
  %b = arith.mulf %a, {c} : tensor<8x16xf32>
  %q = arith.mulf %b, %b : tensor<8x16xf32>
  %l = nn.reduce <sum> %q dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
  return %l : tensor<f32>
}}"""


class Lines:
    """A list of ops, and the name of the last result."""

    def __init__(self, last):
        self.text, self.last, self.before = [], last, last

    def add(self, op):
        name = f"%n{len(self.text)}"
        self.text.append(f"  {name} = {op}")
        self.before, self.last = self.last, name
        return name

    def double(self, count, type, isFibonacci=False):
        for _ in range(count):
            self.add(f"arith.addf {self.last}, "
                     f"{self.before if isFibonacci else self.last} : {type}")


def print_step(kind, count):
    names = {"v": "%v", "u": "%u", "c": "%c"}
    which = {"values": "v", "parameters": "u", "constants": "c"}[kind]
    lines = Lines(names[which])
    lines.double(count, "tensor<16x16xf32>" if which == "u" else "tensor<8x16xf32>",
                 isFibonacci=which == "c")
    names[which] = lines.last
    print(STEP.format(lines="\n".join(lines.text), **names))


def print_rows(kind, count, width):
    whole, half = f"tensor<8x{width}xf32>", f"tensor<8x{width // 2}xf32>"
    lines = Lines("%x")
    if kind == "sums":
        lines.double(count, whole)
    elif kind == "exponentials":
        lines.add(f"math.exp %x : {whole}")
        lines.double(count, whole)
        size = lines.add(f"math.absf {lines.last} : {whole}")
        lines.add(f"arith.mulf {size}, %x : {whole}")
    elif kind == "products":
        for _ in range(count):
            row = lines.last
            lines.add(f"nn.iota : tensor<{width}xi32>")
            lines.add(f"arith.sitofp {lines.last} : tensor<{width}xi32> to tensor<{width}xf32>")
            lines.add(f"nn.broadcast {lines.last} dims [1] : tensor<{width}xf32> -> {whole}")
            lines.add(f"arith.mulf {row}, {lines.last} : {whole}")
    else:
        lines.add("nn.iota : tensor<8xi32>")
        lines.add(f"arith.sitofp {lines.last} : tensor<8xi32> to tensor<8xf32>")
        table = lines.add(f"nn.broadcast {lines.last} dims [0] : tensor<8xf32> -> {whole}")
        row = lines.add(f"arith.mulf %x, {table} : {whole}")
        for _ in range(count):
            first, second = (lines.add(f"tensor.extract_slice {row}[0, {at}] [8, {width // 2}] "
                                       f"[1, 1] : {whole} to {half}") for at in (0, width // 2))
            lines.add(f"tensor.concat dim(1) {second}, {first} : ({half}, {half}) -> {whole}")
            row = lines.add(f"arith.addf {row}, {lines.last} : {whole}")
    print(f'func.func @f(%x: {whole} {{nn.input = "x"}}) -> {whole} {{')
    print("\n".join(lines.text))
    print(f"  return {lines.last} : {whole}\n}}")


def print_calls(count):
    type = "tensor<8x4xf32>"
    for i in range(count + 1):
        name = "main" if i == count else f"f{i}"
        lines = Lines("%x")
        for _ in range(2):
            lines.add(f"func.call @f{i - 1}({lines.last}) : ({type}) -> {type}" if i else
                      f"math.tanh {lines.last} : {type}")
        print(f"func.func {'private ' * (i < count)}@{name}(%x: {type}) -> {type} {{")
        print("\n".join(lines.text) + f"\n  return {lines.last} : {type}\n}}")


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    if kind == "calls":
        print_calls(count)
    elif kind in ("values", "parameters", "constants"):
        print_step(kind, count)
    else:
        print_rows(kind, count, int(sys.argv[3]))


main()
