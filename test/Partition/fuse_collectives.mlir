// Neighbouring collectives of a local program.
// RUN: tessera-opt %s --dist-fuse-collectives | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// CHECK-LABEL: func.func @reduce_and_slice(
// CHECK: %[[R:.*]] = dist.reduce_scatter <sum> %{{.*}} dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: return %[[R]], %[[R]]
func.func @reduce_and_slice(%a: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  %2 = dist.slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>
}

// The whole value has another use.
// CHECK-LABEL: func.func @reduced_value_used(
// CHECK: dist.all_reduce
// CHECK: dist.slice
func.func @reduced_value_used(%a: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  return %1, %0 : tensor<2x4xf32>, tensor<8x4xf32>
}

// Reduced over x, sliced over y: the devices of a slice need the whole sum.
// CHECK-LABEL: func.func @other_axes(
// CHECK: dist.all_reduce
// CHECK: dist.slice
func.func @other_axes(%a: tensor<8x4xf32>) -> tensor<4x4xf32> attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.slice %0 dim 0 over <{"y"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @gather_and_slice(
// CHECK-SAME: %[[A:.*]]: tensor<2x4xf32>
// CHECK-NEXT: return %[[A]]
func.func @gather_and_slice(%a: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = dist.slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @equal(
// CHECK-COUNT-1: dist.all_gather
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @equal(%a: tensor<2x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {dist.local} {
  %e = math.exp %a : tensor<2x4xf32>
  %0 = dist.all_gather %e dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_gather %e dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// A parameter is gathered for each use on purpose.
// CHECK-LABEL: func.func @argument(
// CHECK-COUNT-2: dist.all_gather
func.func @argument(%a: tensor<2x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}
