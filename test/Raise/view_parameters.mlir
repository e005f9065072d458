// Views of matmuls move to their weights; a parameter is split if its views
// cover each of its elements once.
// RUN: tessera-opt %s --nn-view-parameters --nn-fold-shapes --cse --split-input-file | FileCheck %s

// A fused weight with a bias: three parts, each split into heads.
// CHECK-LABEL: @fused(
// CHECK-SAME: %[[X:.+]]: tensor<2x8x16xf32>
// CHECK-SAME: %[[WQ:[a-z0-9]+]]: tensor<16x3x4xf32> {nn.param = "w.0", nn.source = #nn.source<"w", [16, 36], offset 0, strides [36, 4, 1]>}
// CHECK-SAME: %[[WK:[a-z0-9]+]]: tensor<16x3x4xf32> {nn.param = "w.1", nn.source = #nn.source<"w", [16, 36], offset 12, strides [36, 4, 1]>}
// CHECK-SAME: %[[WV:[a-z0-9]+]]: tensor<16x12xf32> {nn.param = "w.2", nn.source = #nn.source<"w", [16, 36], offset 24, strides [36, 1]>}
// CHECK-SAME: %[[BQ:[a-z0-9]+]]: tensor<3x4xf32> {nn.param = "b.0", nn.source = #nn.source<"b", [36], offset 0, strides [4, 1]>}
// CHECK-SAME: %[[BK:[a-z0-9]+]]: tensor<3x4xf32> {nn.param = "b.1", nn.source = #nn.source<"b", [36], offset 12, strides [4, 1]>}
// CHECK-SAME: %[[BV:[a-z0-9]+]]: tensor<12xf32> {nn.param = "b.2", nn.source = #nn.source<"b", [36], offset 24, strides [1]>}
// CHECK-DAG: nn.einsum {{.*}} %[[X]], %[[WQ]] {{.*}} -> tensor<2x8x3x4xf32>
// CHECK-DAG: nn.einsum {{.*}} %[[X]], %[[WK]] {{.*}} -> tensor<2x8x3x4xf32>
// CHECK-DAG: nn.einsum {{.*}} %[[X]], %[[WV]] {{.*}} -> tensor<2x8x12xf32>
// CHECK-DAG: nn.broadcast %[[BQ]] dims [2, 3]
// CHECK-NOT: extract_slice
// CHECK: return
func.func @fused(%x: tensor<2x8x16xf32>, %w: tensor<16x36xf32> {nn.param = "w"}, %b: tensor<36xf32> {nn.param = "b"})
    -> (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x12xf32>) {
  %0 = nn.einsum "abc,cd->abd" %x, %w : tensor<2x8x16xf32>, tensor<16x36xf32> -> tensor<2x8x36xf32>
  %1 = nn.broadcast %b dims [2] : tensor<36xf32> -> tensor<2x8x36xf32>
  %2 = arith.addf %0, %1 : tensor<2x8x36xf32>
  %q = tensor.extract_slice %2[0, 0, 0] [2, 8, 12] [1, 1, 1] : tensor<2x8x36xf32> to tensor<2x8x12xf32>
  %k = tensor.extract_slice %2[0, 0, 12] [2, 8, 12] [1, 1, 1] : tensor<2x8x36xf32> to tensor<2x8x12xf32>
  %v = tensor.extract_slice %2[0, 0, 24] [2, 8, 12] [1, 1, 1] : tensor<2x8x36xf32> to tensor<2x8x12xf32>
  %3 = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 8, 3, 4] : tensor<2x8x12xf32> into tensor<2x8x3x4xf32>
  %4 = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 8, 3, 4] : tensor<2x8x12xf32> into tensor<2x8x3x4xf32>
  return %3, %4, %v : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x12xf32>
}

// -----

// Layers in one tensor; heads that are merged before the next matmul.
// CHECK-LABEL: @stacked(
// CHECK-SAME: tensor<3x4x16xf32> {nn.param = "w.0", nn.source = #nn.source<"w", [2, 12, 16], offset 0, strides [64, 16, 1]>}
// CHECK-SAME: tensor<3x4x16xf32> {nn.param = "w.1", nn.source = #nn.source<"w", [2, 12, 16], offset 192, strides [64, 16, 1]>}
// CHECK-NOT: shape
// CHECK: return
func.func @stacked(%x: tensor<8x3x4xf32>, %w: tensor<2x12x16xf32> {nn.param = "w"}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = tensor.extract_slice %w[0, 0, 0] [1, 12, 16] [1, 1, 1] : tensor<2x12x16xf32> to tensor<12x16xf32>
  %1 = tensor.extract_slice %w[1, 0, 0] [1, 12, 16] [1, 1, 1] : tensor<2x12x16xf32> to tensor<1x12x16xf32>
  %2 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<1x12x16xf32> into tensor<12x16xf32>
  %3 = tensor.collapse_shape %x [[0], [1, 2]] : tensor<8x3x4xf32> into tensor<8x12xf32>
  %4 = nn.einsum "ab,bc->ac" %3, %0 : tensor<8x12xf32>, tensor<12x16xf32> -> tensor<8x16xf32>
  %5 = nn.einsum "ab,bc->ac" %3, %2 : tensor<8x12xf32>, tensor<12x16xf32> -> tensor<8x16xf32>
  return %4, %5 : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// A view of a view of a file; two equal views are one parameter.
// CHECK-LABEL: @source(
// CHECK-SAME: tensor<2x3x4xf32> {nn.param = "w", nn.source = #nn.source<"t", [4, 12], offset 6, strides [3, 1, 12]>}
func.func @source(%x: tensor<8x4xf32>, %w: tensor<6x4xf32> {nn.param = "w", nn.source = #nn.source<"t", [4, 12], offset 6, strides [1, 12]>})
    -> (tensor<8x2x3xf32>, tensor<8x2x3xf32>) {
  %0 = nn.einsum "ac,bc->ab" %x, %w : tensor<8x4xf32>, tensor<6x4xf32> -> tensor<8x6xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [8, 2, 3] : tensor<8x6xf32> into tensor<8x2x3xf32>
  %y = arith.mulf %x, %x : tensor<8x4xf32>
  %2 = nn.einsum "ac,bc->ab" %y, %w : tensor<8x4xf32>, tensor<6x4xf32> -> tensor<8x6xf32>
  %3 = tensor.expand_shape %2 [[0], [1, 2]] output_shape [8, 2, 3] : tensor<8x6xf32> into tensor<8x2x3xf32>
  return %1, %3 : tensor<8x2x3xf32>, tensor<8x2x3xf32>
}

// -----

// Not split: overlapping slices, a table that is read in part, different uses.
// CHECK-LABEL: @whole(
// CHECK-SAME: tensor<16x36xf32> {nn.param = "overlap"}
// CHECK-SAME: tensor<64x16xf32> {nn.param = "positions"}
// CHECK-SAME: tensor<16x12xf32> {nn.param = "tied"}
func.func @whole(%x: tensor<8x16xf32>, %overlap: tensor<16x36xf32> {nn.param = "overlap"},
    %positions: tensor<64x16xf32> {nn.param = "positions"}, %tied: tensor<16x12xf32> {nn.param = "tied"})
    -> (tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x16xf32>, tensor<8x12xf32>, tensor<8x3x4xf32>) {
  %0 = nn.einsum "ab,bc->ac" %x, %overlap : tensor<8x16xf32>, tensor<16x36xf32> -> tensor<8x36xf32>
  %1 = tensor.extract_slice %0[0, 0] [8, 20] [1, 1] : tensor<8x36xf32> to tensor<8x20xf32>
  %2 = tensor.extract_slice %0[0, 16] [8, 20] [1, 1] : tensor<8x36xf32> to tensor<8x20xf32>
  %3 = tensor.extract_slice %positions[0, 0] [8, 16] [1, 1] : tensor<64x16xf32> to tensor<8x16xf32>
  %4 = arith.addf %x, %3 : tensor<8x16xf32>
  %5 = nn.einsum "ab,bc->ac" %x, %tied : tensor<8x16xf32>, tensor<16x12xf32> -> tensor<8x12xf32>
  %6 = nn.einsum "ab,bc->ac" %4, %tied : tensor<8x16xf32>, tensor<16x12xf32> -> tensor<8x12xf32>
  %7 = tensor.expand_shape %6 [[0], [1, 2]] output_shape [8, 3, 4] : tensor<8x12xf32> into tensor<8x3x4xf32>
  return %1, %2, %4, %5, %7 : tensor<8x20xf32>, tensor<8x20xf32>, tensor<8x16xf32>, tensor<8x12xf32>, tensor<8x3x4xf32>
}

// -----

// Halves of a head, which rotary positions take, stay together.
// CHECK-LABEL: @halves(
// CHECK-SAME: tensor<16x3x4xf32> {nn.param = "w", nn.source
// CHECK: nn.einsum
// CHECK-COUNT-2: tensor.extract_slice
func.func @halves(%x: tensor<8x16xf32>, %w: tensor<16x12xf32> {nn.param = "w"}) -> (tensor<8x3x2xf32>, tensor<8x3x2xf32>) {
  %0 = nn.einsum "ab,bc->ac" %x, %w : tensor<8x16xf32>, tensor<16x12xf32> -> tensor<8x12xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [8, 3, 4] : tensor<8x12xf32> into tensor<8x3x4xf32>
  %2 = tensor.extract_slice %1[0, 0, 0] [8, 3, 2] [1, 1, 1] : tensor<8x3x4xf32> to tensor<8x3x2xf32>
  %3 = tensor.extract_slice %1[0, 0, 2] [8, 3, 2] [1, 1, 1] : tensor<8x3x4xf32> to tensor<8x3x2xf32>
  return %2, %3 : tensor<8x3x2xf32>, tensor<8x3x2xf32>
}

// -----

// Queries, keys and values of each head, through the bias and a transpose:
// three parameters of heads.
// CHECK-LABEL: @interleaved(
// CHECK-SAME: tensor<16x2x3xf32> {nn.param = "w.0", nn.source = #nn.source<"w", [16, 18], offset 0, strides [18, 9, 1]>}
// CHECK-SAME: tensor<16x2x3xf32> {nn.param = "w.1", nn.source = #nn.source<"w", [16, 18], offset 3, strides [18, 9, 1]>}
// CHECK-SAME: tensor<16x2x3xf32> {nn.param = "w.2", nn.source = #nn.source<"w", [16, 18], offset 6, strides [18, 9, 1]>}
// CHECK-SAME: tensor<2x3xf32> {nn.param = "b.0", nn.source = #nn.source<"b", [18], offset 0, strides [9, 1]>}
// CHECK-SAME: tensor<2x3xf32> {nn.param = "b.1", nn.source = #nn.source<"b", [18], offset 3, strides [9, 1]>}
// CHECK-SAME: tensor<2x3xf32> {nn.param = "b.2", nn.source = #nn.source<"b", [18], offset 6, strides [9, 1]>}
// CHECK-NOT: tensor.extract_slice
func.func @interleaved(%x: tensor<8x16xf32>, %w: tensor<16x18xf32> {nn.param = "w"},
    %b: tensor<18xf32> {nn.param = "b"}) -> (tensor<2x8x3xf32>, tensor<2x8x3xf32>, tensor<2x8x3xf32>) {
  %0 = nn.einsum "ab,bc->ac" %x, %w : tensor<8x16xf32>, tensor<16x18xf32> -> tensor<8x18xf32>
  %1 = nn.broadcast %b dims [1] : tensor<18xf32> -> tensor<8x18xf32>
  %2 = arith.addf %0, %1 : tensor<8x18xf32>
  %3 = tensor.expand_shape %2 [[0], [1, 2]] output_shape [8, 2, 9] : tensor<8x18xf32> into tensor<8x2x9xf32>
  %4 = nn.transpose %3 [1, 0, 2] : tensor<8x2x9xf32> -> tensor<2x8x9xf32>
  %q = tensor.extract_slice %4[0, 0, 0] [2, 8, 3] [1, 1, 1] : tensor<2x8x9xf32> to tensor<2x8x3xf32>
  %k = tensor.extract_slice %4[0, 0, 3] [2, 8, 3] [1, 1, 1] : tensor<2x8x9xf32> to tensor<2x8x3xf32>
  %v = tensor.extract_slice %4[0, 0, 6] [2, 8, 3] [1, 1, 1] : tensor<2x8x9xf32> to tensor<2x8x3xf32>
  return %q, %k, %v : tensor<2x8x3xf32>, tensor<2x8x3xf32>, tensor<2x8x3xf32>
}

// -----

// The halves of a head stay together.
// CHECK-LABEL: @halves(
// CHECK-SAME: tensor<16x2x8xf32> {nn.param = "w",
// CHECK-COUNT-2: tensor.extract_slice
func.func @halves(%x: tensor<8x16xf32>, %w: tensor<16x16xf32> {nn.param = "w"})
    -> (tensor<8x2x4xf32>, tensor<8x2x4xf32>) {
  %0 = nn.einsum "ab,bc->ac" %x, %w : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [8, 2, 8] : tensor<8x16xf32> into tensor<8x2x8xf32>
  %a = tensor.extract_slice %1[0, 0, 0] [8, 2, 4] [1, 1, 1] : tensor<8x2x8xf32> to tensor<8x2x4xf32>
  %b = tensor.extract_slice %1[0, 0, 4] [8, 2, 4] [1, 1, 1] : tensor<8x2x8xf32> to tensor<8x2x4xf32>
  return %a, %b : tensor<8x2x4xf32>, tensor<8x2x4xf32>
}

// -----

// Three slices that overlap: the weight stays whole.
// CHECK-LABEL: @overlapping(
// CHECK-SAME: nn.param = "w"
// CHECK-COUNT-1: nn.einsum
// CHECK-COUNT-3: tensor.extract_slice
func.func @overlapping(%x: tensor<8x16xf32>, %w: tensor<16x18xf32> {nn.param = "w"})
    -> (tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>) {
  %0 = nn.einsum "ab,bc->ac" %x, %w : tensor<8x16xf32>, tensor<16x18xf32> -> tensor<8x18xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [8, 2, 9] : tensor<8x18xf32> into tensor<8x2x9xf32>
  %a = tensor.extract_slice %1[0, 0, 0] [8, 2, 4] [1, 1, 1] : tensor<8x2x9xf32> to tensor<8x2x4xf32>
  %b = tensor.extract_slice %1[0, 0, 3] [8, 2, 4] [1, 1, 1] : tensor<8x2x9xf32> to tensor<8x2x4xf32>
  %c = tensor.extract_slice %1[0, 0, 5] [8, 2, 4] [1, 1, 1] : tensor<8x2x9xf32> to tensor<8x2x4xf32>
  return %a, %b, %c : tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>
}

// -----

// Shardings apply to the outermost dimensions of a view; over four devices two
// groups of heads have two axes, and a fused dimension's applies to each part.
// CHECK-LABEL: @sharded(
// CHECK-SAME: tensor<16x2x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp":(1)2}, {"tp":(2)2}, {}]>, nn.param = "w"
// CHECK-SAME: tensor<16x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>, nn.param = "fused.0"
// CHECK-SAME: tensor<16x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>, nn.param = "fused.1"
// CHECK-SAME: tensor<16x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {?}, {?}]>, nn.param = "heads"
dist.mesh @mesh ["dp"=2, "tp"=4]
func.func @sharded(%x: tensor<8x16xf32>,
    %w: tensor<16x16xf32> {nn.param = "w", dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
    %fused: tensor<16x24xf32> {nn.param = "fused", dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %heads: tensor<16x12xf32> {nn.param = "heads", dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<8x2x4x2xf32>, tensor<8x12xf32>, tensor<8x12xf32>, tensor<8x3x4xf32>) {
  %0 = nn.einsum "ac,cb->ab" %x, %w : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2, 3]] output_shape [8, 2, 4, 2] : tensor<8x16xf32> into tensor<8x2x4x2xf32>
  %2 = nn.einsum "ac,cb->ab" %x, %fused : tensor<8x16xf32>, tensor<16x24xf32> -> tensor<8x24xf32>
  %3 = tensor.extract_slice %2[0, 0] [8, 12] [1, 1] : tensor<8x24xf32> to tensor<8x12xf32>
  %4 = tensor.extract_slice %2[0, 12] [8, 12] [1, 1] : tensor<8x24xf32> to tensor<8x12xf32>
  %5 = nn.einsum "ac,cb->ab" %x, %heads : tensor<8x16xf32>, tensor<16x12xf32> -> tensor<8x12xf32>
  %6 = tensor.expand_shape %5 [[0], [1, 2]] output_shape [8, 3, 4] : tensor<8x12xf32> into tensor<8x3x4xf32>
  return %1, %3, %4, %6 : tensor<8x2x4x2xf32>, tensor<8x12xf32>, tensor<8x12xf32>, tensor<8x3x4xf32>
}

// -----

// Heads of a matmul with a bias that is scaled before they are split.
// CHECK-LABEL: @scaled_heads(
// CHECK-SAME: tensor<3x4x16xf32> {nn.param = "w", nn.source = #nn.source<"w", [12, 16], offset 0, strides [64, 16, 1]>}
// CHECK-SAME: tensor<3x4xf32> {nn.param = "b"
// CHECK-NOT: shape
// CHECK: arith.mulf {{.*}} : tensor<2x8x3x4xf32>
func.func @scaled_heads(%x: tensor<2x8x16xf32>, %w: tensor<12x16xf32> {nn.param = "w"}, %b: tensor<12xf32> {nn.param = "b"}) -> tensor<2x8x3x4xf32> {
  %cst = arith.constant dense<0.5> : tensor<2x8x12xf32>
  %0 = nn.einsum "abc,dc->abd" %x, %w : tensor<2x8x16xf32>, tensor<12x16xf32> -> tensor<2x8x12xf32>
  %1 = nn.broadcast %b dims [2] : tensor<12xf32> -> tensor<2x8x12xf32>
  %2 = arith.addf %0, %1 : tensor<2x8x12xf32>
  %3 = arith.mulf %2, %cst : tensor<2x8x12xf32>
  %4 = tensor.expand_shape %3 [[0], [1], [2, 3]] output_shape [2, 8, 3, 4] : tensor<2x8x12xf32> into tensor<2x8x3x4xf32>
  return %4 : tensor<2x8x3x4xf32>
}

// -----

// A parameter without elements stays whole.
// CHECK-LABEL: @empty(
// CHECK-SAME: tensor<6x0xf32> {nn.param = "w", nn.source = #nn.source<"t", [0, 12], offset 6, strides [1, 12]>})
func.func @empty(%x: tensor<8x0xf32>, %w: tensor<6x0xf32> {nn.param = "w", nn.source = #nn.source<"t", [0, 12], offset 6, strides [1, 12]>})
    -> (tensor<8x2x3xf32>, tensor<8x2x3xf32>) {
  %0 = nn.einsum "ac,bc->ab" %x, %w : tensor<8x0xf32>, tensor<6x0xf32> -> tensor<8x6xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [8, 2, 3] : tensor<8x6xf32> into tensor<8x2x3xf32>
  %y = arith.mulf %x, %x : tensor<8x0xf32>
  %2 = nn.einsum "ac,bc->ab" %y, %w : tensor<8x0xf32>, tensor<6x0xf32> -> tensor<8x6xf32>
  %3 = tensor.expand_shape %2 [[0], [1, 2]] output_shape [8, 2, 3] : tensor<8x6xf32> into tensor<8x2x3xf32>
  return %1, %3 : tensor<8x2x3xf32>, tensor<8x2x3xf32>
}

// -----

// Halves of matrices that are transposed, as experts read them.
// CHECK-LABEL: @transposed(
// CHECK-SAME: tensor<8x4x3xf32> {nn.param = "w.0", nn.source = #nn.source<"w", [8, 6, 4], offset 0, strides [24, 1, 4]>}
// CHECK-SAME: tensor<8x4x3xf32> {nn.param = "w.1", nn.source = #nn.source<"w", [8, 6, 4], offset 12, strides [24, 1, 4]>}
// CHECK-NEXT: nn.experts <silu> of 8 %{{.*}}, %{{.*}}, %{{.*}}, %arg3, %arg4, %arg5
func.func @transposed(%x: tensor<5x4xf32>, %ids: tensor<5x2xi32>, %gates: tensor<5x2xf32>, %w: tensor<8x6x4xf32> {nn.param = "w"}, %down: tensor<8x3x4xf32>) -> tensor<5x4xf32> {
  %0 = nn.transpose %w [0, 2, 1] : tensor<8x6x4xf32> -> tensor<8x4x6xf32>
  %1 = tensor.extract_slice %0[0, 0, 0] [8, 4, 3] [1, 1, 1] : tensor<8x4x6xf32> to tensor<8x4x3xf32>
  %2 = tensor.extract_slice %0[0, 0, 3] [8, 4, 3] [1, 1, 1] : tensor<8x4x6xf32> to tensor<8x4x3xf32>
  %3 = nn.experts <silu> of 8 %x, %ids, %gates, %1, %2, %down : tensor<5x4xf32>, tensor<5x2xi32>, tensor<5x2xf32>, tensor<8x4x3xf32>, tensor<8x3x4xf32> -> tensor<5x4xf32>
  return %3 : tensor<5x4xf32>
}

// -----

// A fused weight, sliced after a merge of other dimensions: windows of an image.
// CHECK-LABEL: @windows(
// CHECK-SAME: tensor<2x4x16xf32>
// CHECK-SAME: tensor<1x3x4x16xf32> {nn.param = "w.0", nn.source = #nn.source<"w", [36, 16], offset 0, strides [192, 64, 16, 1]>}
// CHECK-SAME: tensor<1x3x4x16xf32> {nn.param = "w.1", nn.source = #nn.source<"w", [36, 16], offset 192, strides [192, 64, 16, 1]>}
// CHECK-SAME: tensor<1x3x4x16xf32> {nn.param = "w.2", nn.source = #nn.source<"w", [36, 16], offset 384, strides [192, 64, 16, 1]>}
// CHECK-SAME: tensor<1x3x4xf32> {nn.param = "b.0",
// CHECK-NOT: extract_slice
// CHECK: return
func.func @windows(%x: tensor<2x4x16xf32>, %w: tensor<36x16xf32> {nn.param = "w"}, %b: tensor<36xf32> {nn.param = "b"})
    -> (tensor<8x3x4xf32>, tensor<8x3x4xf32>, tensor<8x3x4xf32>) {
  %0 = nn.einsum "abc,dc->abd" %x, %w : tensor<2x4x16xf32>, tensor<36x16xf32> -> tensor<2x4x36xf32>
  %1 = nn.broadcast %b dims [2] : tensor<36xf32> -> tensor<2x4x36xf32>
  %2 = arith.addf %0, %1 : tensor<2x4x36xf32>
  %3 = tensor.collapse_shape %2 [[0, 1], [2]] : tensor<2x4x36xf32> into tensor<8x36xf32>
  %4 = tensor.expand_shape %3 [[0], [1, 2, 3]] output_shape [8, 3, 3, 4] : tensor<8x36xf32> into tensor<8x3x3x4xf32>
  %5 = tensor.extract_slice %4[0, 0, 0, 0] [8, 1, 3, 4] [1, 1, 1, 1] : tensor<8x3x3x4xf32> to tensor<8x1x3x4xf32>
  %6 = tensor.extract_slice %4[0, 1, 0, 0] [8, 1, 3, 4] [1, 1, 1, 1] : tensor<8x3x3x4xf32> to tensor<8x1x3x4xf32>
  %7 = tensor.extract_slice %4[0, 2, 0, 0] [8, 1, 3, 4] [1, 1, 1, 1] : tensor<8x3x3x4xf32> to tensor<8x1x3x4xf32>
  %q = tensor.collapse_shape %5 [[0, 1], [2], [3]] : tensor<8x1x3x4xf32> into tensor<8x3x4xf32>
  %k = tensor.collapse_shape %6 [[0, 1], [2], [3]] : tensor<8x1x3x4xf32> into tensor<8x3x4xf32>
  %v = tensor.collapse_shape %7 [[0, 1], [2], [3]] : tensor<8x1x3x4xf32> into tensor<8x3x4xf32>
  return %q, %k, %v : tensor<8x3x4xf32>, tensor<8x3x4xf32>, tensor<8x3x4xf32>
}

// -----

// A slice of the merged dimension itself stays.
// CHECK-LABEL: @window(
// CHECK: extract_slice
func.func @window(%x: tensor<2x4x16xf32>, %w: tensor<16x36xf32> {nn.param = "w"}) -> tensor<5x36xf32> {
  %0 = nn.einsum "abc,cd->abd" %x, %w : tensor<2x4x16xf32>, tensor<16x36xf32> -> tensor<2x4x36xf32>
  %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x4x36xf32> into tensor<8x36xf32>
  %2 = tensor.extract_slice %1[1, 0] [5, 36] [1, 1] : tensor<8x36xf32> to tensor<5x36xf32>
  return %2 : tensor<5x36xf32>
}

// -----

// Halves of a matmul, sliced after an activation.
// CHECK-LABEL: @gate(
// CHECK-SAME: tensor<16x12xf32> {nn.param = "w.0", nn.source = #nn.source<"w", [16, 24], offset 0, strides [24, 1]>}
// CHECK-SAME: tensor<16x12xf32> {nn.param = "w.1", nn.source = #nn.source<"w", [16, 24], offset 12, strides [24, 1]>}
// CHECK-COUNT-2: nn.gelu <erf> {{.*}} : tensor<8x12xf32>
// CHECK-NOT: extract_slice
// CHECK: return
func.func @gate(%x: tensor<8x16xf32>, %w: tensor<16x24xf32> {nn.param = "w"}, %b: tensor<24xf32> {nn.param = "b"}) -> tensor<8x12xf32> {
  %0 = nn.einsum "ac,cd->ad" %x, %w : tensor<8x16xf32>, tensor<16x24xf32> -> tensor<8x24xf32>
  %1 = nn.broadcast %b dims [1] : tensor<24xf32> -> tensor<8x24xf32>
  %2 = arith.addf %0, %1 : tensor<8x24xf32>
  %3 = nn.gelu <erf> %2 : tensor<8x24xf32>
  %4 = tensor.extract_slice %3[0, 0] [8, 12] [1, 1] : tensor<8x24xf32> to tensor<8x12xf32>
  %5 = tensor.extract_slice %3[0, 12] [8, 12] [1, 1] : tensor<8x24xf32> to tensor<8x12xf32>
  %6 = arith.mulf %4, %5 : tensor<8x12xf32>
  return %6 : tensor<8x12xf32>
}
