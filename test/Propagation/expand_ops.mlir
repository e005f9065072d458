// RUN: tessera-opt %s --dist-expand-ops | FileCheck %s

// What Tessera models has a meaning of its own here, whatever it says of itself.
// The ops of other dialects are in test/unit/Partition/ForeignMeaningTest.cpp and
// examples/standalone.
// CHECK-LABEL: func.func @modelled
// CHECK: linalg.softmax
func.func @modelled(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%y : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
