// embedding, cross_entropy, take_along_axis, iota, mask_padding, rope: ops
// whose value depends on a position or an index.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @embedding_ids
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @embedding_ids(%t: tensor<11x6xf32>,
    %i: tensor<4x3xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %0 = nn.embedding %t, %i : tensor<11x6xf32>, tensor<4x3xi32> -> tensor<4x3x6xf32>
  return %0 : tensor<4x3x6xf32>
}

// CHECK-LABEL: @embedding_width
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @embedding_width(
    %t: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %i: tensor<5xi32>)
    -> (tensor<5x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = nn.embedding %t, %i : tensor<11x6xf32>, tensor<5xi32> -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}

// A vocabulary that does not divide: each rank looks up its rows, and the
// others' are zero.
// CHECK-LABEL: @embedding_rows
// CHECK: yes
// CHECK: all_reduce 1
func.func @embedding_rows(
    %t: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<16xi32>) -> (tensor<16x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.embedding %t, %i : tensor<11x6xf32>, tensor<16xi32> -> tensor<16x6xf32>
  return %0 : tensor<16x6xf32>
}

// CHECK-LABEL: @cross_entropy_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @cross_entropy_rows(
    %x: tensor<5x11xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %l: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %0 = nn.cross_entropy %x, %l ignore -100 : tensor<5x11xf32>, tensor<5xi32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// Reductions of the size of the labels: the maximum; sum and picked logit merged.
// CHECK-LABEL: @cross_entropy_classes
// CHECK: yes
// CHECK: all_reduce 2
// CHECK-NOT: all_gather
func.func @cross_entropy_classes(
    %x: tensor<16x11xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}, %l: tensor<16xi32>)
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = nn.cross_entropy %x, %l ignore -100 : tensor<16x11xf32>, tensor<16xi32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// CHECK-LABEL: @pick_along
// CHECK: yes
// CHECK: all_reduce 1
func.func @pick_along(
    %x: tensor<6x11xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %i: tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0 = nn.take_along_axis %x, %i : tensor<6x11xf32>, tensor<6xi32> -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: @iota
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @iota() -> (tensor<7xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %0 = nn.iota : tensor<7xi32>
  return %0 : tensor<7xi32>
}

// CHECK-LABEL: @mask_padding
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @mask_padding(
    %x: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = nn.mask_padding %x dim 0 size 5 value 1.5 : f32 : tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// The sequence: positions count from each rank's offset.
// CHECK-LABEL: @rope_sequence
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @rope_sequence(
    %x: tensor<2x7x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>})
    -> (tensor<2x7x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>}) {
  %0 = nn.rope %x dim 1 theta 1.0e4 : tensor<2x7x3x4xf32>
  return %0 : tensor<2x7x3x4xf32>
}

// Given frequencies; the last elements stay, and the heads are padded.
// CHECK-LABEL: @rope_frequencies
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @rope_frequencies(
    %x: tensor<2x7x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>})
    -> (tensor<2x7x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>}) {
  %0 = nn.rope %x dim 1 frequencies [1.0, 0.3] width 4 : tensor<2x7x3x6xf32>
  %1 = nn.rope inverse %0 dim 1 frequencies [0.5, 0.25, 2.0] : tensor<2x7x3x6xf32>
  return %1 : tensor<2x7x3x6xf32>
}

// Pairs are neighbours; the last elements stay.
// CHECK-LABEL: @rope_neighbours
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @rope_neighbours(
    %x: tensor<2x7x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>})
    -> (tensor<2x7x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x"}, {}]>}) {
  %0 = nn.rope %x dim 1 theta 1.0e4 width 4 interleaved : tensor<2x7x3x6xf32>
  return %0 : tensor<2x7x3x6xf32>
}

// The identity.
// CHECK-LABEL: @stop_gradient
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @stop_gradient(
    %x: tensor<3x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<3x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.stop_gradient %x : tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// Pairs of elements are half the last dimension apart.
// CHECK-LABEL: @rope_head_dim
// CHECK: yes
func.func @rope_head_dim(
    %x: tensor<3x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<3x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = nn.rope %x dim 0 theta 1.0e4 : tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
