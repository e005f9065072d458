"""Prints a program of one long chain of ops: tanh, addf or reshape, and how many."""

import sys

kind, count = sys.argv[1], int(sys.argv[2])
print('dist.mesh @mesh ["x"=2]')
print('func.func @f(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})')
print("    -> tensor<8xf32> {")
print("  %v0 = nn.reduce <sum> %a dims [1] : tensor<8x4xf32> -> tensor<8xf32>")
for i in range(count):
    if kind == "tanh":
        print(f"  %v{i + 1} = math.tanh %v{i} : tensor<8xf32>")
    elif kind == "addf":
        print(f"  %v{i + 1} = arith.addf %v{i}, %v{max(0, i - 1)} : tensor<8xf32>")
    elif i % 2 == 0:
        print(f"  %v{i + 1} = tensor.expand_shape %v{i} [[0, 1]] output_shape [2, 4]"
              " : tensor<8xf32> into tensor<2x4xf32>")
    else:
        print(f"  %v{i + 1} = tensor.collapse_shape %v{i} [[0, 1]]"
              " : tensor<2x4xf32> into tensor<8xf32>")
print(f"  return %v{count} : tensor<8xf32>\n}}")
