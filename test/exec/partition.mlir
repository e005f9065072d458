// Partitioned equals original: ops and shardings that the models do not have.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// The init of a reduction counts once, not once per device.
// CHECK-LABEL: @linalg_init: 8 ranks
// CHECK: yes
func.func @linalg_init(%x: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}, %i: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.reduce ins(%x : tensor<16x4xf32>) outs(%i : tensor<4xf32>) dimensions = [0] (%a: f32, %b: f32) {
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  }
  return %r : tensor<4xf32>
}

// Positions continue from device to device.
// CHECK-LABEL: @positions: 8 ranks
// CHECK: yes
func.func @positions(%q: tensor<2x16x4x1x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y", "x"}, {}, {}, {}]>},
    %k: tensor<2x16x4x8xf32>, %v: tensor<2x16x4x8xf32>) -> tensor<2x16x4x1x8xf32> {
  %r = nn.rope %q dim 1 theta 1.0e4 : tensor<2x16x4x1x8xf32>
  %o = nn.attention causal scale 0.35 %r, %k, %v : tensor<2x16x4x1x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32> -> tensor<2x16x4x1x8xf32>
  return %o : tensor<2x16x4x1x8xf32>
}

// Keys are sharded and causal: both have offsets.
// CHECK-LABEL: @causal_keys: 8 ranks
// CHECK: yes
func.func @causal_keys(%q: tensor<2x16x4x1x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %k: tensor<2x16x4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %v: tensor<2x16x4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>}) -> tensor<2x16x4x1x8xf32> {
  %o = nn.attention causal scale 0.35 %q, %k, %v : tensor<2x16x4x1x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32> -> tensor<2x16x4x1x8xf32>
  return %o : tensor<2x16x4x1x8xf32>
}

// A constant that is not a splat is sliced by position.
// CHECK-LABEL: @dense_constant: 8 ranks
// CHECK: yes
func.func @dense_constant(%x: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<4x2xf32> {
  %c = arith.constant dense<[[0., 1.], [2., 3.], [4., 5.], [6., 7.]]> : tensor<4x2xf32>
  %0 = arith.addf %x, %c : tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// CHECK-LABEL: @iota: 8 ranks
// CHECK: yes
func.func @iota(%x: tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{"y", "x"}]>}) -> tensor<16xi32> {
  %p = nn.iota : tensor<16xi32>
  %0 = arith.addi %x, %p : tensor<16xi32>
  return %0 : tensor<16xi32>
}

// One axis, two dimensions: a transpose under one sharding moves blocks.
// CHECK-LABEL: @transpose: 8 ranks
// CHECK: yes
func.func @transpose(%x: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %t = nn.transpose %x [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
  return %t : tensor<16x16xf32>
}

// CHECK-LABEL: @merge_and_split: 8 ranks
// CHECK: yes
func.func @merge_and_split(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<2x16xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 16] : tensor<32xf32> into tensor<2x16xf32>
  return %1 : tensor<2x16xf32>
}

// A callee is partitioned with its own shardings.
// CHECK-LABEL: @call: 8 ranks
// CHECK: yes
func.func private @callee(%x: tensor<16x4xf32>) -> tensor<4xf32> {
  %1 = nn.reduce <sum> %x dims [0] : tensor<16x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @call(%x: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<4xf32> {
  %0 = call @callee(%x) : (tensor<16x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A constraint on a value that has another use before it.
// CHECK-LABEL: @constraint: 8 ranks
// CHECK: yes
func.func @constraint(%x: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<16x8xf32> {
  %0 = math.exp %x : tensor<16x8xf32>
  %1 = dist.constraint %0 <@mesh, [{"y"}, {"x"}]> : tensor<16x8xf32>
  %2 = arith.mulf %1, %1 : tensor<16x8xf32>
  %3 = arith.addf %2, %0 : tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

// Partial values pass linear ops, but not a product of two.
// CHECK-LABEL: @linear: 8 ranks
// CHECK: yes
func.func @linear(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %w: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> tensor<8xf32> {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  %1 = nn.einsum "ik,kj->ij" %x, %v : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  %2 = arith.negf %0 : tensor<8x8xf32>
  %3 = arith.subf %2, %1 : tensor<8x8xf32>
  %4 = arith.mulf %3, %3 : tensor<8x8xf32>
  %5 = nn.reduce <sum> %4 dims [0] : tensor<8x8xf32> -> tensor<8xf32>
  return %5 : tensor<8xf32>
}
