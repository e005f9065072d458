// RUN: tessera-opt %s --split-input-file --rt-inline-calls --verify-diagnostics | FileCheck %s

// A callee of a callee, called twice; both are erased.
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @nested
// CHECK-NEXT: %[[A:.*]] = arith.mulf %arg0, %arg0
// CHECK-NEXT: %[[B:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK-NEXT: return %[[B]]
func.func private @square(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.mulf %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @fourth(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @square(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @square(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @nested(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @fourth(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @itself(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects calls that end but got @itself, which calls itself}}
  %0 = func.call @itself(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @recursive(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @itself(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
