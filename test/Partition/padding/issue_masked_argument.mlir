// RUN: tessera-opt %s --dist-propagate-shardings --dist-pad-factors | FileCheck %s

// The mask before a reduction applies to a padded argument and has its
// sharding.

dist.mesh @mesh ["x"=4]

// CHECK-LABEL: func @smallest
// CHECK-SAME: (%[[A:.*]]: tensor<8x3xf32> {
func.func @smallest(
    %a: tensor<7x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %unused: tensor<4xf32>) -> tensor<3xf32> {
  // CHECK: %[[MASKED:.*]] = nn.mask_padding %[[A]] dim 0 size 7
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]
  // CHECK: nn.reduce <min> %[[MASKED]]
  %0 = nn.reduce <min> %a dims [0] : tensor<7x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
