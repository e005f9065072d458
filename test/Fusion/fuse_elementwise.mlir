// RUN: tessera-opt %s --rt-convert-nn --rt-fuse-elementwise | FileCheck %s

// A chain, and a bias that is read through a map.
// CHECK-LABEL: func.func @chain
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<8xf32>)
// CHECK: arith.addf
// CHECK: math.tanh
// CHECK-NOT: linalg.generic
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = nn.broadcast %b dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %1 = arith.addf %x, %0 : tensor<4x8xf32>
  %2 = nn.gelu <tanh> %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// A value with two readers is computed once, unless it is free.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-1: math.exp
// CHECK-NOT: math.exp
func.func @shared(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = math.exp %x : tensor<4x8xf32>
  %1 = arith.addf %0, %x : tensor<4x8xf32>
  %2 = arith.mulf %0, %x : tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// An exponential is not repeated along the dimension that it is broadcast to.
// CHECK-LABEL: func.func @not_repeated
// CHECK: iterator_types = ["parallel"]
// CHECK: math.exp
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK-NOT: math.exp
func.func @not_repeated(%x: tensor<4xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %x : tensor<4xf32>
  %1 = nn.broadcast %0 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %2 = arith.mulf %1, %y : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// An op that only moves data is a copy.
// CHECK-LABEL: func.func @copies
// CHECK: rt.copy %arg0 strides [1, 8] base 0 : tensor<4x8xf32> -> tensor<8x4xf32>
// CHECK: rt.copy %arg0 strides [0, 8, 1] base 0 : tensor<4x8xf32> -> tensor<2x4x8xf32>
func.func @copies(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<2x4x8xf32>) {
  %0 = nn.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = nn.broadcast %x dims [1, 2] : tensor<4x8xf32> -> tensor<2x4x8xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<2x4x8xf32>
}

// A constant that a call reads gets memory; one that linalg reads does not.
// CHECK-LABEL: func.func @constants
// CHECK: %[[C:.*]] = arith.constant dense<{{.*}}> : tensor<2x2xf32>
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[C]]
// CHECK: rt.matmul %arg0, %[[P]]
func.func @constants(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = nn.einsum "sd,df->sf" %x, %c : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// Zeros that loops start with belong to each loop, and are not a table.
// CHECK-LABEL: func.func @loop_starts
// CHECK: %[[A:.*]] = linalg.generic
// CHECK-NOT: ins
// CHECK: %[[B:.*]] = linalg.generic
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[B]], %{{.*}} = %[[A]])
func.func @loop_starts(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %z, %b = %z) -> (tensor<8xf32>, tensor<8xf32>) {
    %1 = arith.addf %a, %x : tensor<8xf32>
    %2 = arith.subf %b, %x : tensor<8xf32>
    scf.yield %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
