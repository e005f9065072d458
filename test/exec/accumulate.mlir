// Partitioned equals original: sums over micro-batches.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["dp"=2, "tp"=2]

// The gradient is partial over dp in each micro-batch and reduced once.
// CHECK-LABEL: @reduced_once: 4 ranks
// CHECK: yes
// CHECK: all_reduce 1
func.func @reduced_once(%x: tensor<3x4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>},
    %w: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"} ]>}) -> tensor<6x8xf32> {
  %g = dist.accumulate 3 (%x) : (tensor<3x4x6xf32>) -> tensor<6x8xf32> {
  ^bb0(%part: tensor<4x6xf32>):
    %y = nn.einsum "bk,kn->bn" %part, %w : tensor<4x6xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
    %1 = nn.einsum "bk,bn->kn" %part, %y : tensor<4x6xf32>, tensor<4x8xf32> -> tensor<6x8xf32>
    dist.yield %1 : tensor<6x8xf32>
  }
  return %g : tensor<6x8xf32>
}

// The result is sharded: scattered once, or in each micro-batch.
// CHECK-LABEL: @scattered_once: 4 ranks
// CHECK: yes
// CHECK: reduce_scatter 1
func.func @scattered_once(%x: tensor<3x4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>})
    -> (tensor<6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {} ]>}) {
  %g = dist.accumulate 3 (%x) : (tensor<3x4x6xf32>) -> tensor<6x6xf32> {
  ^bb0(%part: tensor<4x6xf32>):
    %1 = nn.einsum "bk,bn->kn" %part, %part {dist.factors = [#dist.axes<{"dp"}>, #dist.axes<{}>, #dist.axes<{}>]} : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<6x6xf32>
    dist.yield %1 : tensor<6x6xf32>
  }
  return %g : tensor<6x6xf32>
}

// CHECK-LABEL: @scattered_each: 4 ranks
// CHECK: yes
// CHECK: reduce_scatter 3
func.func @scattered_each(%x: tensor<3x4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>})
    -> (tensor<6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {} ]>}) {
  %g = dist.accumulate 3 reduce_each (%x) : (tensor<3x4x6xf32>) -> tensor<6x6xf32> {
  ^bb0(%part: tensor<4x6xf32>):
    %1 = nn.einsum "bk,bn->kn" %part, %part {dist.factors = [#dist.axes<{"dp"}>, #dist.axes<{}>, #dist.axes<{}>]} : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<6x6xf32>
    dist.yield %1 : tensor<6x6xf32>
  }
  return %g : tensor<6x6xf32>
}

// Partial over both axes: the axis without a shard waits for the last
// micro-batch, and a sum with a whole result waits altogether.
// CHECK-LABEL: @scattered_in_part: 4 ranks
// CHECK: yes
// CHECK: yes
// CHECK-DAG: reduce_scatter 3
// CHECK-DAG: all_reduce 2
func.func @scattered_in_part(%x: tensor<3x4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {"tp"}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"} ]>}, tensor<f32>) {
  %g:2 = dist.accumulate 3 reduce_each (%x) : (tensor<3x4x8xf32>) -> (tensor<4xf32>, tensor<f32>) {
  ^bb0(%part: tensor<4x8xf32>):
    %y = tensor.expand_shape %part [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
    %1 = nn.reduce <sum> %y dims [0, 1] : tensor<4x2x4xf32> -> tensor<4xf32>
    %2 = nn.reduce <sum> %y dims [0, 1, 2] : tensor<4x2x4xf32> -> tensor<f32>
    dist.yield %1, %2 : tensor<4xf32>, tensor<f32>
  }
  return %g#0, %g#1 : tensor<4xf32>, tensor<f32>
}

// 5 rows on 2 ranks, and a state of 7 rows that keeps zeros in its padding.
// CHECK-LABEL: @uneven: 4 ranks
// CHECK: yes
// CHECK: yes
func.func @uneven(%x: tensor<3x5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {"tp"}]>},
    %m: tensor<7xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"} ]>, dist.donate = 0 : i64})
    -> (tensor<7xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"} ]>}, tensor<f32>) {
  %g:2 = dist.accumulate 3 (%x) : (tensor<3x5x7xf32>) -> (tensor<7xf32>, tensor<f32>) {
  ^bb0(%part: tensor<5x7xf32>):
    %e = math.exp %part : tensor<5x7xf32>
    %1 = nn.reduce <sum> %e dims [0] : tensor<5x7xf32> -> tensor<7xf32>
    %2 = nn.reduce <sum> %e dims [0, 1] : tensor<5x7xf32> -> tensor<f32>
    dist.yield %1, %2 : tensor<7xf32>, tensor<f32>
  }
  %n = arith.addf %m, %g#0 : tensor<7xf32>
  return %n, %g#1 : tensor<7xf32>, tensor<f32>
}

// Slices are taken from values with all micro-batches; a value from outside is
// resharded where it is used.
// CHECK-LABEL: @whole_first_dimension: 4 ranks
// CHECK: yes
func.func @whole_first_dimension(%x: tensor<2x4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}, {}]>},
    %w: tensor<6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {"dp"}]>}) -> tensor<4x6xf32> {
  %g = dist.accumulate 2 (%x) : (tensor<2x4x6xf32>) -> tensor<4x6xf32> {
  ^bb0(%part: tensor<4x6xf32>):
    %1 = nn.einsum "bk,kn->bn" %part, %w : tensor<4x6xf32>, tensor<6x6xf32> -> tensor<4x6xf32>
    dist.yield %1 : tensor<4x6xf32>
  }
  %r = nn.einsum "bk,kn->bn" %g, %w : tensor<4x6xf32>, tensor<6x6xf32> -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
