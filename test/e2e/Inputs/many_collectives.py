"""Prints a local program with 70 collectives that are all in flight."""

COUNT = 70

print('dist.mesh @mesh ["x"=2]')
print('func.func @many(%x: tensor<4xf32> {nn.param = "x", nn.init = #nn.init<ones>, '
      'dist.sharding = #dist.sharding<@mesh, [{"x"}]>, dist.global_shape = array<i64: 8>})')
print('    -> (tensor<8xf32> {nn.output = "y", '
      'dist.sharding = #dist.sharding<@mesh, [{}]>, dist.global_shape = array<i64: 8>})')
print("    attributes {dist.local} {")
for i in range(COUNT):
    print(f"  %f{i} = dist.start %x : tensor<4xf32> -> !dist.future<tensor<8xf32>> {{\n"
          "  ^bb0(%a: tensor<4xf32>):\n"
          '    %r = dist.all_gather %a dim 0 over <{"x"}> on @mesh '
          ": tensor<4xf32> -> tensor<8xf32>\n"
          "    dist.yield %r : tensor<8xf32>\n  }")
for i in range(COUNT):
    print(f"  %g{i} = dist.wait %f{i}, %x : !dist.future<tensor<8xf32>>, tensor<4xf32> "
          "-> tensor<8xf32>")
total = "%g0"
for i in range(1, COUNT):
    print(f"  %s{i} = arith.addf {total}, %g{i} : tensor<8xf32>")
    total = f"%s{i}"
print(f"  return {total} : tensor<8xf32>\n}}")
