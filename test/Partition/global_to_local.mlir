// Local shapes, positions, and attributes with facts of the global program.
// RUN: tessera-opt %s --dist-insert-reshards --dist-reshard-to-collectives --dist-global-to-local | FileCheck %s

dist.mesh @mesh ["x"=4]

// CHECK-LABEL: func.func @signature(
// CHECK-SAME: %[[A:.*]]: tensor<2x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
// CHECK-SAME: -> (tensor<8x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
// CHECK-SAME: attributes {dist.local}
// CHECK-NEXT: %[[E:.*]] = math.exp %[[A]] : tensor<2x4xf32>
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[E]] dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
// CHECK-NEXT: return %[[G]] : tensor<8x4xf32>
func.func @signature(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = math.exp %a {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// The padded size of an argument is in its type, the true size in an attribute.
// CHECK-LABEL: func.func @padded(
// CHECK-SAME: tensor<2x4xf32> {dist.global_shape = array<i64: 7, 4>
func.func @padded(%a: tensor<8x4xf32> {dist.global_shape = array<i64: 7, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  return
}

// One offset for each shard size; a splat has any size, another constant is sliced.
// CHECK-LABEL: func.func @positions(
// CHECK: %[[O:.*]] = dist.axis_offset <{"x"}> size 2 on @mesh
// CHECK-NOT: dist.axis_offset
// CHECK-DAG: nn.iota offset %[[O]] : tensor<2xi32>
// CHECK-DAG: nn.iota offset %[[O]] : tensor<2xi32>
// CHECK-DAG: arith.constant dense<3> : tensor<2xi32>
// CHECK-DAG: %[[C:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
// CHECK-DAG: dist.all_slice %[[C]] dim 0 over <{"x"}> on @mesh : tensor<8xi32> -> tensor<2xi32>
func.func @positions() -> (tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0 = nn.iota {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<8xi32>
  %1 = nn.iota {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<8xi32>
  %2 = arith.constant {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} dense<3> : tensor<8xi32>
  %3 = arith.constant {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
  %4 = arith.addi %0, %1 {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<8xi32>
  %5 = arith.addi %4, %2 {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<8xi32>
  %6 = arith.addi %5, %3 {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<8xi32>
  return %6 : tensor<8xi32>
}
