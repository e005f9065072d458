"""Writes programs in which a value ends before the reference's value does.

Each module has a function and a local one, which differs in where a value of eight equal elements
ends (ENDS). A use of the value depends on its last elements (USES). No such program may be proven.
With --right the value does not end early, and each program must be proven."""

import sys

# Ways to compute eight equal elements, %c, and to end them, %m.
ENDS = {
    "mask": ("%c = arith.constant dense<1.0> : tensor<8xf32>",
             "%m = nn.mask_padding %c dim 0 size 3 value 0.0 : f32 : tensor<8xf32>"),
    "last": ("%c = arith.constant dense<1.0> : tensor<8xf32>",
             "%m = nn.mask_padding %c dim 0 size 7 value 0.0 : f32 : tensor<8xf32>"),
    "all": ("%c = arith.constant dense<1.0> : tensor<8xf32>",
            "%m = nn.mask_padding %c dim 0 size 0 value 0.0 : f32 : tensor<8xf32>"),
    "other": ("%c = arith.constant dense<0.0> : tensor<8xf32>",
              "%m = nn.mask_padding %c dim 0 size 3 value 2.0 : f32 : tensor<8xf32>"),
    "twice": ("%c = arith.constant dense<1.0> : tensor<8xf32>",
              """%m0 = nn.mask_padding %c dim 0 size 3 value 0.0 : f32 : tensor<8xf32>
  %m = nn.mask_padding %m0 dim 0 size 8 value 0.0 : f32 : tensor<8xf32>"""),
    "append": ("%c = arith.constant dense<1.0> : tensor<8xf32>",
               """%c3 = arith.constant dense<1.0> : tensor<3xf32>
  %z5 = arith.constant dense<0.0> : tensor<5xf32>
  %m = tensor.concat dim(0) %c3, %z5 : (tensor<3xf32>, tensor<5xf32>) -> tensor<8xf32>"""),
    "broadcast": ("%c = nn.broadcast %s dims [] : tensor<f32> -> tensor<8xf32>",
                  "%m = nn.mask_padding %c dim 0 size 3 value 0.0 : f32 : tensor<8xf32>"),
    "elementwise": ("""%c0 = nn.broadcast %s dims [] : tensor<f32> -> tensor<8xf32>
  %c = math.exp %c0 : tensor<8xf32>""",
                    """%m0 = nn.mask_padding %c0 dim 0 size 3 value 9.0 : f32 : tensor<8xf32>
  %m = math.exp %m0 : tensor<8xf32>"""),
    "sum": ("""%c0 = arith.constant dense<1.0> : tensor<8xf32>
  %c1 = nn.broadcast %s dims [] : tensor<f32> -> tensor<8xf32>
  %c = arith.addf %c0, %c1 : tensor<8xf32>""",
            """%m0 = nn.mask_padding %c1 dim 0 size 3 value 0.0 : f32 : tensor<8xf32>
  %m = arith.addf %c0, %m0 : tensor<8xf32>"""),
    "shards": ("%c = arith.constant dense<1.0> : tensor<8xf32>",
               """%c4 = arith.constant dense<1.0> : tensor<4xf32>
  %at = dist.axis_offset <{"x"}> size 4 on @mesh : index
  %m4 = nn.mask_padding %c4 dim 0 size 3 value 0.0 : f32 offset %at : tensor<4xf32>
  %m = dist.all_gather %m4 dim 0 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<8xf32>"""),
}

# Uses of %v, eight elements; %x and %y are arguments, %r is the result.
USES = {
    "returned": ("8xf32", "%r = arith.addf %v, %v : tensor<8xf32>"),
    "multiplied": ("8xf32", "%r = arith.mulf %v, %x : tensor<8xf32>"),
    "sliced": ("4xf32", """%q = tensor.extract_slice %v[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %r = arith.mulf %q, %y : tensor<4xf32>"""),
    "first": ("12xf32", "%r = tensor.concat dim(0) %v, %y : (tensor<8xf32>, tensor<4xf32>) -> tensor<12xf32>"),
    "second": ("12xf32", "%r = tensor.concat dim(0) %y, %v : (tensor<4xf32>, tensor<8xf32>) -> tensor<12xf32>"),
    "padded": ("9xf32", """%z = arith.constant 0.0 : f32
  %r = tensor.pad %v low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<8xf32> to tensor<9xf32>"""),
    "extracted": ("4xf32", """%i = arith.constant 7 : index
  %e = tensor.extract %v[%i] : tensor<8xf32>
  %q = tensor.splat %e : tensor<4xf32>
  %r = arith.mulf %q, %y : tensor<4xf32>"""),
    "softmax": ("4xf32", """%t = arith.mulf %v, %v : tensor<8xf32>
  %p = nn.softmax %t dim 0 : tensor<8xf32>
  %q = tensor.extract_slice %p[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %r = arith.mulf %q, %y : tensor<4xf32>"""),
    "summed": ("f32", "%r = nn.reduce <sum> %v dims [0] : tensor<8xf32> -> tensor<f32>"),
    "contracted": ("f32", '%r = nn.einsum "i,i->" %v, %x : tensor<8xf32>, tensor<8xf32> -> tensor<f32>'),
    "looked_up": ("4xf32", """%ids = arith.constant dense<7> : tensor<4xi32>
  %t = nn.broadcast %v dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %q = nn.take_along_axis %t, %ids : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf32>
  %r = arith.mulf %q, %y : tensor<4xf32>"""),
    "reshaped": ("4xf32", """%t = tensor.expand_shape %v [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %q = tensor.extract_slice %t[1, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
  %r = arith.mulf %q, %y : tensor<4xf32>"""),
    "branch": ("4xf32", """%t = arith.constant true
  %b = scf.if %t -> tensor<8xf32> {
    scf.yield %v : tensor<8xf32>
  } else {
    scf.yield %v : tensor<8xf32>
  }
  %q = tensor.extract_slice %b[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %r = arith.mulf %q, %y : tensor<4xf32>"""),
    "loop": ("4xf32", """%lo = arith.constant 0 : index
  %hi = arith.constant 2 : index
  %by = arith.constant 1 : index
  %b = scf.for %i = %lo to %hi step %by iter_args(%a = %v) -> tensor<8xf32> {
    %n = arith.addf %a, %v : tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  %q = tensor.extract_slice %b[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %r = arith.mulf %q, %y : tensor<4xf32>"""),
    "in_loop": ("4xf32", """%lo = arith.constant 0 : index
  %hi = arith.constant 2 : index
  %by = arith.constant 1 : index
  %r = scf.for %i = %lo to %hi step %by iter_args(%a = %y) -> tensor<4xf32> {
    %q = tensor.extract_slice %v[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %n = arith.addf %a, %q : tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }"""),
    "while": ("4xf32", """%lo = arith.constant 0 : index
  %hi = arith.constant 7 : index
  %by = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %w:2 = scf.while (%i = %lo, %a = %z) : (index, f32) -> (index, f32) {
    %t = arith.cmpi slt, %i, %hi : index
    scf.condition(%t) %i, %a : index, f32
  } do {
  ^bb0(%i: index, %a: f32):
    %j = arith.addi %i, %by : index
    %e = tensor.extract %v[%j] : tensor<8xf32>
    scf.yield %j, %e : index, f32
  }
  %q = tensor.splat %w#1 : tensor<4xf32>
  %r = arith.mulf %q, %y : tensor<4xf32>"""),
    "body": ("8xf32", """%e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %u = tensor.extract %v[%i] : tensor<8xf32>
    %w = arith.mulf %u, %p : f32
    linalg.yield %w : f32
  } -> tensor<8xf32>"""),
    "generic": ("8xf32", """%e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %v : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %w = arith.mulf %p, %q : f32
    linalg.yield %w : f32
  } -> tensor<8xf32>"""),
    "micro_batches": ("4xf32", """%t = nn.broadcast %v dims [0] : tensor<8xf32> -> tensor<8x4xf32>
  %r = dist.accumulate 8 (%t) : (tensor<8x4xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<4xf32>):
    %n = arith.mulf %p, %y : tensor<4xf32>
    dist.yield %n : tensor<4xf32>
  }"""),
    "keys": ("1x1x1x1x1xf32", """%k3 = tensor.expand_shape %v [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
  %q0 = tensor.extract_slice %x[0] [1] [1] : tensor<8xf32> to tensor<1xf32>
  %q1 = tensor.expand_shape %q0 [[0, 1, 2, 3, 4]] output_shape [1, 1, 1, 1, 1] : tensor<1xf32> into tensor<1x1x1x1x1xf32>
  %x3 = tensor.expand_shape %x [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
  %r = nn.attention scale 0.5 %q1, %k3, %x3 : tensor<1x1x1x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32> -> tensor<1x1x1x1x1xf32>"""),
    "called": ("8xf32", "%r = func.call @g(%v, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>"),
}


def sharded(text):
    rank = text.split("tensor<")[1].count("x")
    dims = ", ".join(["{}"] * rank)
    return f"{text} {{dist.sharding = #dist.sharding<@mesh, [{dims}]>}}"


def module(end, use, right):
    start, ending = ENDS[end]
    if right:
        ending = "// %m is %c."
    result, body = USES[use]
    arguments = ["%x: tensor<8xf32>", "%y: tensor<4xf32>", "%s: tensor<f32>"]
    callee = ["%c: tensor<8xf32>", "%x: tensor<8xf32>"]
    inside = "%r = arith.mulf %c, %x : tensor<8xf32>\n  return %r : tensor<8xf32>"
    calls = use == "called"
    text = [f"// {end}, {use}", 'dist.mesh @mesh ["x"=2]']
    if calls:
        text.append(f"func.func private @g({', '.join(callee)}) -> tensor<8xf32> {{\n  {inside}\n}}")
        text.append(f"func.func private @l({', '.join(map(sharded, callee))}) -> "
                    f"({sharded('tensor<8xf32>')}) attributes {{dist.local, dist.reference = @g}} {{\n  {inside}\n}}")
    text.append(f"""func.func @f({', '.join(arguments)}) -> tensor<{result}> {{
  {start}
  {body.replace('%v', '%c')}
  return %r : tensor<{result}>
}}""")
    mine = body.replace("%v", "%c" if right else "%m").replace("@g", "@l")
    text.append(f"""func.func @local({', '.join(map(sharded, arguments))}) -> ({sharded(f'tensor<{result}>')})
    attributes {{dist.local, dist.reference = @f}} {{
  {start}
  {ending}
  {mine}
  return %r : tensor<{result}>
}}""")
    return "\n".join(text) + "\n"


def main():
    right = sys.argv[1:] == ["--right"]
    cases = [module(end, use, right) for end in ENDS for use in USES]
    print("\n// -----\n\n".join(cases))


if __name__ == "__main__":
    main()
