// RUN: tessera-opt %s --dist-propagate-shardings --dist-insert-reshards | FileCheck %s
// RUN: tessera-opt %s --dist-propagate-shardings \
// RUN:   | sed -e 's/dist.factors = [^]]*\], //' \
// RUN:   | tessera-opt --dist-insert-reshards | FileCheck %s --check-prefix=FREE

// The weights are so small that gathering the second one, and moving the
// sequence's axis onto the matmul's operand, is cheaper than scattering the
// matmul's sums. A seed of an earlier priority holds nevertheless.

dist.mesh @mesh ["tp"=4]

// CHECK-LABEL: func @mlp
// CHECK-SAME: (%[[X:.*]]: tensor<4x16384x8xf32> {{.*}}, %[[W1:.*]]: tensor<8x8xf32> {{.*}}, %[[W2:.*]]: tensor<8x8xf32> {
// FREE-LABEL: func @mlp
// FREE-SAME: %[[W2:[a-z0-9]*]]: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
func.func @mlp(
    %x: tensor<4x16384x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}p1, {}]>},
    %w1: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w2: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x16384x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}p1, {}]>}) {
  // CHECK: %[[FULL:.*]] = dist.reshard %[[X]]
  // CHECK-SAME: from <@mesh, [{}, {"tp"}, {}]> to <@mesh, [{}, {}, {}]>
  // CHECK: %[[H:.*]] = nn.einsum "bsd,df->bsf" %[[FULL]], %[[W1]]
  // CHECK-NOT: dist.factors
  %0 = nn.einsum "bsd,df->bsf" %x, %w1 : tensor<4x16384x8xf32>, tensor<8x8xf32> -> tensor<4x16384x8xf32>
  // CHECK: %[[Y:.*]] = nn.einsum "bsf,fd->bsd" %[[H]], %[[W2]]
  // CHECK: dist.reshard %[[Y]]
  // CHECK-SAME: from <@mesh, [{}, {}, {}], unreduced={"tp"}> to <@mesh, [{}, {"tp"}, {}]>
  // FREE: dist.reshard %[[W2]] from <@mesh, [{"tp"}, {}]> to <@mesh, [{}, {}]>
  %1 = nn.einsum "bsf,fd->bsd" %0, %w2 : tensor<4x16384x8xf32>, tensor<8x8xf32> -> tensor<4x16384x8xf32>
  return %1 : tensor<4x16384x8xf32>
}
