// A dimension that an op cannot pad gets no axes that do not divide it.
// RUN: tessera-opt %s --split-input-file --dist-propagate-shardings | FileCheck %s

// 6 on 8 devices: 2 divide it. The rest of the axis stays at its origin.
// CHECK-LABEL: func.func @prefix
// CHECK: math.exp %{{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"x":(1)2}, {}]>]} : tensor<6x4xf32>
dist.mesh @mesh ["x"=8]
func.func @prefix(%x: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<3x4xf32> {
  %0 = math.exp %x : tensor<6x4xf32>
  %1 = tensor.extract_slice %0[1, 0] [3, 4] [1, 1] : tensor<6x4xf32> to tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// -----

// None divides 5; the other user, which can pad it, has it from the argument.
// CHECK-LABEL: func.func @none
// CHECK: math.exp %{{.*}} {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<5x4xf32>
// CHECK: math.tanh %{{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<5x4xf32>
dist.mesh @mesh ["x"=2]
func.func @none(%x: tensor<5x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<3x4xf32>, tensor<5x4xf32>) {
  %0 = math.exp %x : tensor<5x4xf32>
  %1 = tensor.extract_slice %0[1, 0] [3, 4] [1, 1] : tensor<5x4xf32> to tensor<3x4xf32>
  %2 = math.tanh %x : tensor<5x4xf32>
  return %1, %2 : tensor<3x4xf32>, tensor<5x4xf32>
}

// -----

// The minor side of a reshape.
// CHECK-LABEL: func.func @reshape
// CHECK: math.exp %{{.*}} {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<4x5xf32>
dist.mesh @mesh ["x"=2]
func.func @reshape(%x: tensor<4x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<20xf32> {
  %0 = math.exp %x : tensor<4x5xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<4x5xf32> into tensor<20xf32>
  return %1 : tensor<20xf32>
}

// -----

// A seed is kept, whatever it costs.
// CHECK-LABEL: func.func @demanded
// CHECK: dist.constraint %{{.*}} <@mesh, [{"x"}, {}]>
dist.mesh @mesh ["x"=2]
func.func @demanded(%x: tensor<5x4xf32>) -> tensor<3x4xf32> {
  %0 = dist.constraint %x <@mesh, [{"x"}, {}]> : tensor<5x4xf32>
  %1 = tensor.extract_slice %0[1, 0] [3, 4] [1, 1] : tensor<5x4xf32> to tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
