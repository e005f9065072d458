// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(dist-expand-buckets))' | FileCheck %s

dist.mesh @mesh ["dp"=2]

// Members are stored one after the other; members of whole 64 bytes come first.
// CHECK-LABEL: func.func @all_reduce
// CHECK-SAME: %[[A:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<8x4xf32>
// CHECK: %[[F:.*]] = tensor.collapse_shape %[[B]] {{\[}}[0, 1]]
// CHECK: %[[C:.*]] = tensor.concat dim(0) %[[F]], %[[A]] : (tensor<32xf32>, tensor<3xf32>) -> tensor<35xf32>
// CHECK: %[[R:.*]] = dist.all_reduce <sum> %[[C]] over <{"dp"}>
// CHECK: %[[FB:.*]] = tensor.extract_slice %[[R]][0] [32] [1]
// CHECK: %[[RB:.*]] = tensor.expand_shape %[[FB]] {{.*}} : tensor<32xf32> into tensor<8x4xf32>
// CHECK: %[[RA:.*]] = tensor.extract_slice %[[R]][32] [3] [1]
// CHECK: return %[[RA]], %[[RB]]
func.func @all_reduce(%a: tensor<3xf32>, %b: tensor<8x4xf32>) -> (tensor<3xf32>, tensor<8x4xf32>) {
  %0:2 = dist.bucket (%a, %b) : (tensor<3xf32>, tensor<8x4xf32>) -> (tensor<3xf32>, tensor<8x4xf32>) {
  ^bb0(%x: tensor<3xf32>, %y: tensor<8x4xf32>):
    %1 = dist.all_reduce <sum> %x over <{"dp"}> on @mesh : tensor<3xf32> -> tensor<3xf32>
    %2 = dist.all_reduce <sum> %y over <{"dp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
    dist.yield %1, %2 : tensor<3xf32>, tensor<8x4xf32>
  }
  return %0#0, %0#1 : tensor<3xf32>, tensor<8x4xf32>
}

// The shards of one device are stored one after the other: row i of the
// scattered buffer has the shards of both members for device i.
// CHECK-LABEL: func.func @reduce_scatter
// CHECK: %[[C:.*]] = tensor.concat dim(1) {{.*}} : (tensor<2x2xf32>, tensor<2x16xf32>) -> tensor<2x18xf32>
// CHECK: %[[R:.*]] = dist.reduce_scatter <sum> %[[C]] dim 0 over <{"dp"}> on @mesh : tensor<2x18xf32> -> tensor<1x18xf32>
// CHECK: %[[F:.*]] = tensor.collapse_shape %[[R]] {{.*}} into tensor<18xf32>
// CHECK: %[[RA:.*]] = tensor.extract_slice %[[F]][0] [2] [1]
// CHECK: %[[FB:.*]] = tensor.extract_slice %[[F]][2] [16] [1]
// CHECK: %[[RB:.*]] = tensor.expand_shape %[[FB]] {{.*}} into tensor<4x4xf32>
// CHECK: return %[[RA]], %[[RB]]
func.func @reduce_scatter(%a: tensor<4xf32>, %b: tensor<8x4xf32>) -> (tensor<2xf32>, tensor<4x4xf32>) {
  %0:2 = dist.bucket (%a, %b) : (tensor<4xf32>, tensor<8x4xf32>) -> (tensor<2xf32>, tensor<4x4xf32>) {
  ^bb0(%x: tensor<4xf32>, %y: tensor<8x4xf32>):
    %1 = dist.reduce_scatter <sum> %x dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<2xf32>
    %2 = dist.reduce_scatter <sum> %y dim 0 over <{"dp"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
    dist.yield %1, %2 : tensor<2xf32>, tensor<4x4xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<4x4xf32>
}

// A tensor without elements, scattered along another dimension.
// CHECK-LABEL: func.func @empty
// CHECK: dist.reduce_scatter <sum> {{.*}} : tensor<2x2xf32> -> tensor<1x2xf32>
// CHECK: tensor.expand_shape {{.*}} into tensor<0x2xf32>
func.func @empty(%a: tensor<4xf32>, %b: tensor<0x4xf32>) -> (tensor<2xf32>, tensor<0x2xf32>) {
  %0:2 = dist.bucket (%a, %b) : (tensor<4xf32>, tensor<0x4xf32>) -> (tensor<2xf32>, tensor<0x2xf32>) {
  ^bb0(%x: tensor<4xf32>, %y: tensor<0x4xf32>):
    %1 = dist.reduce_scatter <sum> %x dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<2xf32>
    %2 = dist.reduce_scatter <sum> %y dim 1 over <{"dp"}> on @mesh : tensor<0x4xf32> -> tensor<0x2xf32>
    dist.yield %1, %2 : tensor<2xf32>, tensor<0x2xf32>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<0x2xf32>
}
