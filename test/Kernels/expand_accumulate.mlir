// RUN: tessera-opt %s --dist-expand-accumulate | FileCheck %s

// A single micro-batch needs no loop, and its slice no copy.
// CHECK-LABEL: func.func @one
// CHECK: %[[X:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2]] : tensor<1x4x8xf32> into tensor<4x8xf32>
// CHECK: %[[G:.*]] = nn.reduce <sum> %[[X]] dims [0]
// CHECK: return %[[G]] : tensor<8xf32>
func.func @one(%x: tensor<1x4x8xf32>) -> tensor<8xf32> {
  %0 = dist.accumulate 1 (%x) : (tensor<1x4x8xf32>) -> tensor<8xf32> {
  ^bb0(%part: tensor<4x8xf32>):
    %g = nn.reduce <sum> %part dims [0] : tensor<4x8xf32> -> tensor<8xf32>
    dist.yield %g : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// Three of four micro-batches are a loop that adds to zeros; the last one is
// after it. A vector's slice is a scalar.
// CHECK-LABEL: func.func @four
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0> : tensor<i32>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK: %[[L:.*]]:2 = scf.for %[[I:.*]] = %[[C0]] to %[[C3]] {{.*}} iter_args(%[[A:.*]] = %[[ZEROS]], %[[B:.*]] = %[[ZERO]])
// CHECK:   %[[S:.*]] = tensor.extract_slice %arg0[%[[I]], 0, 0] [1, 4, 8] [1, 1, 1]
// CHECK:   tensor.collapse_shape %[[S]]
// CHECK:   %[[T:.*]] = tensor.extract_slice %arg1[%[[I]]] [1] [1]
// CHECK:   %[[N:.*]] = tensor.collapse_shape %[[T]] [] : tensor<1xi32> into tensor<i32>
// CHECK:   %[[B1:.*]] = arith.addi %[[B]], %[[N]]
// CHECK:   %[[G:.*]] = nn.reduce
// CHECK:   %[[A1:.*]] = arith.addf %[[A]], %[[G]]
// CHECK:   scf.yield %[[A1]], %[[B1]]
// CHECK: tensor.extract_slice %arg0[3, 0, 0]
// CHECK: %[[B2:.*]] = arith.addi %[[L]]#1
// CHECK: %[[H:.*]] = nn.reduce
// CHECK: %[[A2:.*]] = arith.addf %[[L]]#0, %[[H]]
// CHECK: return %[[A2]], %[[B2]]
func.func @four(%x: tensor<4x4x8xf32>, %n: tensor<4xi32>) -> (tensor<8xf32>, tensor<i32>) {
  %0:2 = dist.accumulate 4 (%x, %n) : (tensor<4x4x8xf32>, tensor<4xi32>) -> (tensor<8xf32>, tensor<i32>) {
  ^bb0(%part: tensor<4x8xf32>, %count: tensor<i32>):
    %g = nn.reduce <sum> %part dims [0] : tensor<4x8xf32> -> tensor<8xf32>
    dist.yield %g, %count : tensor<8xf32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<i32>
}

// Each gradient is added where it is computed: %g is free before %h is
// computed.
// CHECK-LABEL: func.func @where_made
// CHECK: scf.for
// CHECK: %[[G:.*]] = nn.reduce <sum>
// CHECK-NEXT: arith.addf %{{.*}}, %[[G]]
// CHECK: %[[H:.*]] = math.exp
// CHECK-NEXT: arith.addf %{{.*}}, %[[H]]
// CHECK-NEXT: scf.yield
func.func @where_made(%x: tensor<3x4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %0:2 = dist.accumulate 3 (%x) : (tensor<3x4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  ^bb0(%part: tensor<4x8xf32>):
    %g = nn.reduce <sum> %part dims [0] : tensor<4x8xf32> -> tensor<8xf32>
    %h = math.exp %part : tensor<4x8xf32>
    dist.yield %h, %g : tensor<4x8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<8xf32>
}
