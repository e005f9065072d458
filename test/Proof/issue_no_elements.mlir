// Dimensions without elements, merged and split.
// RUN: tessera-opt %s --compile-to=partition --split-input-file | FileCheck %s

dist.mesh @mesh ["x"=2]
// CHECK-LABEL: func.func @main(
// CHECK: %[[E:.*]] = math.exp {{.*}} : tensor<0x2xf32>
// CHECK: tensor.collapse_shape %[[E]] {{.*}} into tensor<0xf32>
// CHECK: nn.transpose %[[E]] [1, 0] : {{.*}} -> tensor<2x0xf32>
func.func @main(%a: tensor<0x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<0xf32>, tensor<4x0xf32>) {
  %0 = math.exp %a : tensor<0x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<0x4xf32> into tensor<0xf32>
  %2 = nn.transpose %0 [1, 0] : tensor<0x4xf32> -> tensor<4x0xf32>
  return %1, %2 : tensor<0xf32>, tensor<4x0xf32>
}

// -----

dist.mesh @mesh ["x"=2]
// CHECK-LABEL: func.func @main(
// CHECK: %[[E:.*]] = math.exp {{.*}} : tensor<2x0xf32>
// CHECK: tensor.collapse_shape %[[E]] {{.*}} into tensor<0xf32>
func.func @main(%a: tensor<4x0xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<0xf32>) {
  %0 = math.exp %a : tensor<4x0xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<4x0xf32> into tensor<0xf32>
  return %1 : tensor<0xf32>
}

// -----

dist.mesh @mesh ["x"=2]
// CHECK-LABEL: func.func @main(
// CHECK: tensor.expand_shape {{.*}} : tensor<0xf32> into tensor<0x4xf32>
func.func @main(%a: tensor<0xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<0x4xf32>) {
  %0 = math.exp %a : tensor<0xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [0, 4] : tensor<0xf32> into tensor<0x4xf32>
  return %1 : tensor<0x4xf32>
}

// -----

dist.mesh @mesh ["x"=2]
// CHECK-LABEL: func.func @main(
// CHECK: %[[B:.*]] = nn.broadcast {{.*}} -> tensor<2x0xf32>
// CHECK: tensor.collapse_shape %[[B]] {{.*}} into tensor<0xf32>
func.func @main(%a: tensor<0xf32>) -> (tensor<0xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0 = nn.broadcast %a dims [1] : tensor<0xf32> -> tensor<4x0xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<4x0xf32> into tensor<0xf32>
  return %1 : tensor<0xf32>
}

// -----

dist.mesh @mesh ["x"=2]
// CHECK-LABEL: func.func @main(
// CHECK: %[[B:.*]] = nn.broadcast {{.*}} -> tensor<0x4xf32>
// CHECK: tensor.collapse_shape %[[B]] {{.*}} into tensor<0xf32>
func.func @main(%a: tensor<4xf32>) -> (tensor<0xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0 = nn.broadcast %a dims [1] : tensor<4xf32> -> tensor<0x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<0x4xf32> into tensor<0xf32>
  return %1 : tensor<0xf32>
}

// -----

dist.mesh @mesh ["x"=2]
// CHECK-LABEL: func.func @main(
// CHECK: %[[M:.*]] = nn.reduce <max> {{.*}} : tensor<0x4xf32> -> tensor<4xf32>
// CHECK: dist.all_reduce <max> %[[M]] over <{"x"}>
func.func @main(%a: tensor<0x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4xf32>) {
  %c = arith.constant dense<1.0> : tensor<0x4xf32>
  %0 = nn.reduce <sum> %c dims [0] : tensor<0x4xf32> -> tensor<4xf32>
  %1 = nn.reduce <max> %a dims [0] : tensor<0x4xf32> -> tensor<4xf32>
  %2 = arith.addf %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// An offset into an empty table.
dist.mesh @mesh ["x"=6]
// CHECK-LABEL: func.func @main(
// CHECK: nn.embedding {{.*}} : tensor<0x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
func.func @main(%table: tensor<0x4xf32>) -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = nn.iota : tensor<8xi32>
  %1 = nn.embedding %table, %0 : tensor<0x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
