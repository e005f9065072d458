// The list of a function, and functions that are not as they list.
// RUN: tessera-opt %s --dist-list-collectives --split-input-file | FileCheck %s --check-prefix=LIST
// RUN: tessera-opt %s --dist-check-collectives --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

// A loop of three trips, integers that travel wider, and what has no elements.
dist.mesh @mesh ["x"=2]
// LIST: dist.collectives = ["1 of all_gather {axes = #dist.axes<{x}>, dim = 0 : i64} of 4 x i8",
// LIST-SAME: "3 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32"]
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

// -----

dist.mesh @mesh ["x"=2, "y"=2]
// expected-error @below {{the collectives of @group are not those that were proven (dist.collectives): expects 1 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32 but got 0; got 1 of all_reduce {axes = #dist.axes<{y}>, kind = #dist.reduction<sum>} of 8 x f32, which was not proven}}
func.func @group(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dist.local, dist.collectives = ["1 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32"]} {
  %0 = dist.all_reduce <sum> %x over <{"y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh ["x"=2]
// expected-error @below {{expects 1 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32 but got 2}}
func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dist.local, dist.collectives = ["1 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32"]} {
  %0 = dist.all_reduce <sum> %x over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

dist.mesh @mesh ["x"=2]
// expected-error @below {{got 1 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<max>} of 8 x f32, which was not proven}}
func.func @surplus(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dist.local, dist.collectives = []} {
  %0 = dist.all_reduce <max> %x over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
