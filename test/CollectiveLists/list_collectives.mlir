// The list of a function.
// RUN: tessera-opt %s --dist-list-collectives | FileCheck %s

// A loop of three trips, integers in a wider type, and an empty tensor.
dist.mesh @mesh ["x"=2]
// CHECK: dist.collectives = ["at most 1 of all_gather {axes = #dist.axes<{x}>, dim = 0 : i64} of 4 x i8",
// CHECK-SAME: "at most 3 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32"]
func.func @listed(%x: tensor<8xf32>, %y: tensor<4xi4>, %z: tensor<0xf32>) -> (tensor<8xf32>, tensor<8xi4>, tensor<0xf32>) attributes {dist.local} {
  %lo = arith.constant 0 : index
  %hi = arith.constant 3 : index
  %by = arith.constant 1 : index
  %0 = scf.for %i = %lo to %hi step %by iter_args(%a = %x) -> tensor<8xf32> {
    %r = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    scf.yield %r : tensor<8xf32>
  }
  %1 = dist.all_gather %y dim 0 over <{"x"}> on @mesh : tensor<4xi4> -> tensor<8xi4>
  %2 = dist.all_reduce <sum> %z over <{"x"}> on @mesh : tensor<0xf32> -> tensor<0xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xi4>, tensor<0xf32>
}
