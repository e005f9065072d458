// RUN: tessera-opt %s --dist-propagate-shardings | FileCheck %s

// The two halves of an MLP with the sequence sharded between them: the weights'
// seeds go first and are pinned at the matmuls, even if the later seed of the
// residual stream would be cheaper otherwise.

dist.mesh @mesh ["dp"=2, "tp"=4]

// CHECK-LABEL: func @mlp
func.func @mlp(
    %x: tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}p1, {}]>},
    %w1: tensor<8x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w2: tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4x16x8xf32> {
  // CHECK: nn.einsum "bsd,df->bsf"
  // CHECK-SAME: dist.factors = [#dist.axes<{"dp"}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"tp"}>]
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {}, {"tp"}]>]
  %0 = nn.einsum "bsd,df->bsf" %x, %w1 : tensor<4x16x8xf32>, tensor<8x32xf32> -> tensor<4x16x32xf32>
  // CHECK: nn.silu
  // CHECK-NOT: dist.factors
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {}, {"tp"}]>]
  %1 = nn.silu %0 : tensor<4x16x32xf32>
  // The matmul's result is scattered over the axis of its reduction.
  // CHECK: nn.einsum "bsf,fd->bsd"
  // CHECK-SAME: dist.factors = [#dist.axes<{"dp"}>, #dist.axes<{}>, #dist.axes<{"tp"}>, #dist.axes<{}>]
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {"tp"}, {}]>]
  %2 = nn.einsum "bsf,fd->bsd" %1, %w2 : tensor<4x16x32xf32>, tensor<32x8xf32> -> tensor<4x16x8xf32>
  // CHECK: arith.addf
  // CHECK-NOT: dist.factors
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {"tp"}, {}]>]
  %3 = arith.addf %x, %2 {dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {"tp"}p1, {}]>]} : tensor<4x16x8xf32>
  return %3 : tensor<4x16x8xf32>
}
