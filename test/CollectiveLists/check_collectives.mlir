// Functions that do not match their lists.
// RUN: tessera-opt %s --dist-check-collectives --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false | FileCheck %s

// An unused collective may be gone; the list is exact then.
dist.mesh @mesh ["x"=2]
// CHECK: func.func @fewer({{.*}}dist.collectives = ["1 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32"]
func.func @fewer(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dist.local, dist.collectives = ["at most 1 of all_gather {axes = #dist.axes<{x}>, dim = 0 : i64} of 8 x f32", "at most 2 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32"]} {
  %0 = dist.all_reduce <sum> %x over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh ["x"=2]
// expected-error @below {{expects 1 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32 but got 0}}
func.func @lost(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dist.local, dist.collectives = ["1 of all_reduce {axes = #dist.axes<{x}>, kind = #dist.reduction<sum>} of 8 x f32"]} {
  return %x : tensor<8xf32>
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
