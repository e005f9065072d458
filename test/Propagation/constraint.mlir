// RUN: tessera-opt %s --dist-propagate-shardings | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// A closed constraint is a barrier: x does not pass it.
// CHECK-LABEL: func @barrier
// CHECK-SAME: -> (tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
func.func @barrier(
    %a: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<16x8xf32> {
  // CHECK: dist.constraint %{{.*}} <@mesh, [{}, {"y"}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {"y"}]>]}
  %0 = dist.constraint %a <@mesh, [{}, {"y"}]> : tensor<16x8xf32>
  %1 = math.exp %0 : tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}

// Open dimensions of a constraint are extended.
// CHECK-LABEL: func @open_constraint
func.func @open_constraint(
    %a: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<16x8xf32> {
  // CHECK: dist.constraint %{{.*}} <@mesh, [{"x"}, {}]>
  %0 = dist.constraint %a <@mesh, [{?}, {}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// Its axes propagate backward too.
// CHECK-LABEL: func @backward
// CHECK-SAME: : tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}
func.func @backward(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = dist.constraint %a <@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// A parameter that is stored sharded and is gathered where it is used.
// CHECK-LABEL: func @gathered_where_used
func.func @gathered_where_used(
    %t: tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<32x64xf32> {
  %0 = dist.constraint %w <@mesh, [{}, {"y"}]> : tensor<16x64xf32>
  // CHECK: nn.einsum
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"x"}, {"y"}]>]
  %1 = nn.einsum "bk,kn->bn" %t, %0 : tensor<32x16xf32>, tensor<16x64xf32> -> tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}
