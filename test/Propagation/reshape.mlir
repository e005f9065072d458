// RUN: tessera-opt %s --dist-propagate-shardings | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2, "a"=8]

// [4|x, 8|y] -> [32|(x,y)].
// CHECK-LABEL: func @merge
// CHECK-SAME: -> (tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}]>})
func.func @merge(
    %t: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<32xf32> {
  %0 = tensor.collapse_shape %t [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  return %0 : tensor<32xf32>
}

// A dimension that is not split fully blocks the minor factors.
// CHECK-LABEL: func @merge_major_not_full
// CHECK-SAME: -> (tensor<64xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
func.func @merge_major_not_full(
    %t: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<64xf32> {
  %0 = tensor.collapse_shape %t [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  return %0 : tensor<64xf32>
}

// One axis over two dimensions, and whole again.
// CHECK-LABEL: func @split_and_merge
// CHECK-SAME: -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>})
func.func @split_and_merge(
    %t: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>})
    -> tensor<16xf32> {
  // CHECK: tensor.expand_shape
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"a":(1)2}, {"a":(2)4}]>]
  %0 = tensor.expand_shape %t [[0, 1]] output_shape [2, 8]
      : tensor<16xf32> into tensor<2x8xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x8xf32> into tensor<16xf32>
  return %1 : tensor<16xf32>
}

// 12 heads on 8 devices: whole heads, to be padded.
// CHECK-LABEL: func @uneven_heads
// CHECK-SAME: -> (tensor<2x12x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a"}, {}]>})
func.func @uneven_heads(
    %t: tensor<2x768xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a"}]>})
    -> tensor<2x12x64xf32> {
  %0 = tensor.expand_shape %t [[0], [1, 2]] output_shape [2, 12, 64]
      : tensor<2x768xf32> into tensor<2x12x64xf32>
  return %0 : tensor<2x12x64xf32>
}

// Unit dimensions are free.
// CHECK-LABEL: func @unit_dims
// CHECK-SAME: -> (tensor<1x8x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}]>})
func.func @unit_dims(
    %t: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> tensor<1x8x1xf32> {
  %0 = tensor.expand_shape %t [[0, 1, 2]] output_shape [1, 8, 1]
      : tensor<8xf32> into tensor<1x8x1xf32>
  return %0 : tensor<1x8x1xf32>
}

// A transpose moves axes with their dimensions; a slice ties dimensions that it
// takes whole.
// CHECK-LABEL: func @transpose_and_slice
// CHECK-SAME: -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
func.func @transpose_and_slice(
    %t: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<4x8xf32> {
  // CHECK: nn.transpose
  // CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{"y"}, {"x"}]>]
  %0 = nn.transpose %t [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  %1 = tensor.extract_slice %0[4, 0] [4, 8] [1, 1] : tensor<16x8xf32> to tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
