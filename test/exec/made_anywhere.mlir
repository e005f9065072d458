// Constants and broadcast scalars take the sharding of each use: no collective
// moves what each device can make.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// A scalar is broadcast for three uses; seven rows are padded to eight.
// CHECK-LABEL: @scalar
// CHECK: yes
// CHECK: no collectives
// CHECK: proven
func.func @scalar(%s: tensor<f32>,
    %a: tensor<7x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %b: tensor<7x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<7x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
        tensor<7x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.broadcast %s dims [] : tensor<f32> -> tensor<7x8xf32>
  %1 = arith.addf %a, %0 : tensor<7x8xf32>
  %2 = arith.mulf %b, %0 : tensor<7x8xf32>
  return %1, %2, %0 : tensor<7x8xf32>, tensor<7x8xf32>, tensor<7x8xf32>
}

// A partial scalar is summed; its broadcast is not gathered.
// CHECK-LABEL: @partial_scalar
// CHECK: yes
// CHECK-NOT: all_gather
// CHECK: all_reduce 1
// CHECK: proven
func.func @partial_scalar(
    %a: tensor<7x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<7x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
        tensor<7x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.reduce <sum> %a dims [0, 1] : tensor<7x8xf32> -> tensor<f32>
  %1 = nn.broadcast %0 dims [] : tensor<f32> -> tensor<7x8xf32>
  %2 = arith.addf %a, %1 : tensor<7x8xf32>
  return %2, %1 : tensor<7x8xf32>, tensor<7x8xf32>
}

// Pinned factors want whole rows, of a splat and of other elements, where
// propagation has sharded them: the ids alone are gathered.
// CHECK-LABEL: @pinned
// CHECK: yes
// CHECK: all_gather 1 24
// CHECK: all_to_all 2
// CHECK: proven
func.func @pinned(
    %i: tensor<4x2xi32> {nn.input = "ids", nn.vocab = 8 : i64, dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
        tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %c = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]> : tensor<4x3xf32>
  %one = arith.constant dense<1.0> : tensor<4x3xf32>
  %0 = nn.expert_rows %c, %i {dist.factors = [#dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"y"}>, #dist.axes<{}>]}
      : tensor<4x3xf32>, tensor<4x2xi32> -> tensor<4x8x3xf32>
  %1 = nn.expert_rows %one, %i {dist.factors = [#dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"y"}>, #dist.axes<{}>]}
      : tensor<4x3xf32>, tensor<4x2xi32> -> tensor<4x8x3xf32>
  %2 = nn.reduce <sum> %0 dims [1] : tensor<4x8x3xf32> -> tensor<4x3xf32>
  %3 = nn.reduce <sum> %1 dims [1] : tensor<4x8x3xf32> -> tensor<4x3xf32>
  return %2, %3 : tensor<4x3xf32>, tensor<4x3xf32>
}
