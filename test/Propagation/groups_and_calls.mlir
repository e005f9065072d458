// RUN: tessera-opt %s --dist-propagate-shardings | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// A group ties values with no data flow between them, and is erased.
// CHECK-LABEL: func @group
// CHECK-SAME: : tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}
// CHECK-SAME: : tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}
// CHECK-SAME: : tensor<16xf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}
// CHECK-NOT: dist.group
// CHECK: return
func.func @group(
    %w: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}]>},
    %m: tensor<16xf32>, %v: tensor<16xf16>) {
  dist.group %w, %m : tensor<16xf32>, tensor<16xf32>
  dist.group %v, %m : tensor<16xf16>, tensor<16xf32>
  return
}

// All members get the axes of one member.
// CHECK-LABEL: func @group_gets_axes
// CHECK-SAME: -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
func.func @group_gets_axes(
    %w: tensor<16xf32>, %m: tensor<16xf32>,
    %a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> tensor<16xf32> {
  dist.group %w, %m : tensor<16xf32>, tensor<16xf32>
  %0 = arith.addf %a, %m : tensor<16xf32>
  %1 = math.exp %w : tensor<16xf32>
  return %1 : tensor<16xf32>
}

// Shardings propagate into a called function and out of it.
// CHECK-LABEL: func @caller
func.func @caller(
    %a: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<16x8xf32> {
  // CHECK: call @callee
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]
  %0 = call @callee(%a) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  // CHECK: math.exp
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]
  %1 = math.exp %0 : tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}

// CHECK-LABEL: func private @callee
// CHECK-SAME: : tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}
// CHECK-SAME: -> (tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
func.func private @callee(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = arith.negf %a : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
