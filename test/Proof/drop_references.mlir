// RUN: tessera-opt %s --dist-drop-references | FileCheck %s --implicit-check-not=dist.reference

dist.mesh @mesh ["x"=2]

// CHECK-NOT: @reference
// CHECK: func.func @main
// CHECK-SAME: attributes {dist.local}
func.func private @reference(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.negf %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%a: tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @reference} {
  %0 = arith.negf %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}
