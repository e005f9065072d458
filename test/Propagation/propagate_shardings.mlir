// RUN: tessera-opt %s --dist-propagate-shardings | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// Both kept dimensions reach the result and the function's result.
// CHECK-LABEL: func @kept_dims
// CHECK-SAME: -> (tensor<8x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
func.func @kept_dims(
    %x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> tensor<8x32xf32> {
  // CHECK: nn.einsum
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x"}, {"y"}]>]
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// A contracted dimension ties the operands and gives the result nothing.
// CHECK-LABEL: func @contracted
// CHECK-SAME: : tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}
// CHECK-SAME: : tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}
// CHECK-SAME: -> (tensor<8x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
func.func @contracted(
    %x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// Contracting over two axes.
// CHECK-LABEL: func @contracted_over_two_axes
// CHECK-SAME: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>}
// CHECK-SAME: -> (tensor<8x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
func.func @contracted_over_two_axes(
    %x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>},
    %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// The result's seed reaches the operands; a batch dimension reaches all three.
// CHECK-LABEL: func @backward
// CHECK-SAME: tensor<4x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}, {}]>}
// CHECK-SAME: tensor<4x16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>}
func.func @backward(%x: tensor<4x8x16xf32>, %w: tensor<4x16x32xf32>)
    -> (tensor<4x8x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
  %0 = nn.einsum "abk,akn->abn" %x, %w
      : tensor<4x8x16xf32>, tensor<4x16x32xf32> -> tensor<4x8x32xf32>
  return %0 : tensor<4x8x32xf32>
}

// One tensor as two operands: an axis that two factors request stays unchanged.
// CHECK-LABEL: func @square
// CHECK-SAME: -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
func.func @square(
    %a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // CHECK: nn.einsum
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x"}, {"y"}]>]
  %0 = nn.einsum "ik,kj->ij" %a, %a : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Everything is replicated if there are no seeds, with a remark.
// CHECK-LABEL: func @unreached
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}
func.func @unreached(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: math.exp
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{}]>]
  %0 = math.exp %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// linalg by its indexing maps: only the first of two weights has a seed, the
// second gets the axis on its contracted dimension.
// CHECK-LABEL: func @mlp_in_linalg
// CHECK-SAME: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}
// CHECK-SAME: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}
// CHECK-SAME: tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}
// CHECK-SAME: -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
func.func @mlp_in_linalg(
    %x: tensor<8x16xf32>,
    %w1: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %w2: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<8x32xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  // CHECK: linalg.matmul
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]
  %h = linalg.matmul ins(%x, %w1 : tensor<8x16xf32>, tensor<16x32xf32>)
                     outs(%i1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x32xf32>
  // CHECK: linalg.generic
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x32xf32>) outs(%e2 : tensor<8x32xf32>) {
  ^bb0(%a: f32, %out: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x32xf32>
  %e3 = tensor.empty() : tensor<8x16xf32>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.matmul ins(%r, %w2 : tensor<8x32xf32>, tensor<32x16xf32>)
                     outs(%i3 : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
