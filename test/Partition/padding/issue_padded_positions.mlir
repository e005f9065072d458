// RUN: tessera-opt %s --dist-propagate-shardings --dist-decompose --dist-pad-factors | FileCheck %s
// RUN: tessera verify %s --passes "builtin.module(dist-propagate-shardings,dist-decompose,dist-pad-factors,dist-insert-reshards,dist-reshard-to-collectives,dist-global-to-local)"

// Eight positions on six devices are padded to twelve, more than the table has
// rows: positions in the padding are row 0, not NaN, which a weight of zero
// would not hide.

dist.mesh @mesh ["x"=6]

// CHECK-LABEL: func @positions
// CHECK: %[[IOTA:.*]] = nn.iota {{.*}}: tensor<12xi32>
// CHECK: %[[IDS:.*]] = nn.mask_padding %[[IOTA]] dim 0 size 8 value 0 : i32
// CHECK: nn.embedding %{{.*}}, %[[IDS]] {{.*}}: tensor<9x4xf32>, tensor<12xi32> -> tensor<12x4xf32>
func.func @positions(%table: tensor<9x4xf32>)
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = nn.iota : tensor<8xi32>
  %1 = nn.embedding %table, %0 : tensor<9x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
