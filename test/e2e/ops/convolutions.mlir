// Convolutions whose windows overlap or not, with zeros around and between
// elements, and their gradients' forms: compiled for each target and as plain
// linalg, against the interpreter.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=1 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: sed 's/xf32/xbf16/g' %s > %t/bf16.mlir
// RUN: tessera verify %t/bf16.mlir --partitioned %t/bf16.mlir --dump %t/bf16.data
// RUN: tessera compile %t/bf16.mlir --quiet -o %t/bf16
// RUN: %t/bf16 --inputs %t/bf16.data --compare %t/bf16.data/expected | FileCheck %s
// RUN: tessera verify %s --passes 'builtin.module(tessera-to-linalg)' --no-proof | FileCheck %s --check-prefix=SAME

// CHECK-COUNT-18: {{[a-z_]+}}: largest difference {{(0,|[0-9.]+e-(0[5-9]|[1-9][0-9]),|0.000[0-9]+, largest magnitude [0-9][0-9][0-9])}}
// CHECK-NOT: largest difference
// SAME-COUNT-18: yes

dist.mesh @mesh ["x"=1]
func.func @convolutions(%x_padded: tensor<2x1x5x9x12xf32>, %w_padded: tensor<1x16x5x3x3xf32>,
    %x_strided: tensor<2x1x3x11x10xf32>, %w_strided: tensor<1x9x3x3x4xf32>,
    %x_apart: tensor<1x2x4x13x11xf32>, %w_apart: tensor<2x8x4x3x2xf32>,
    %x_transposed: tensor<2x1x6x4x5xf32>, %w_transposed: tensor<1x10x6x3x3xf32>,
    %x_depthwise: tensor<2x7x1x14x15xf32>, %w_depthwise: tensor<7x1x1x7x7xf32>,
    %x_depthwise_gradient: tensor<1x7x3x14x15xf32>, %w_depthwise_gradient: tensor<7x1x3x12x13xf32>,
    %x_groups: tensor<2x3x2x8x9xf32>, %w_groups: tensor<3x2x2x3x3xf32>,
    %x_patches: tensor<2x1x3x8x12xf32>, %w_patches: tensor<1x10x3x4x3xf32>,
    %x_points: tensor<2x2x5x7x9xf32>, %w_points: tensor<2x8x5x1x1xf32>,
    %x_whole: tensor<3x1x2x6x7xf32>, %w_whole: tensor<1x9x2x5x4xf32>,
    %x_spread: tensor<2x1x4x3x5xf32>, %w_spread: tensor<1x9x4x2x3xf32>,
    %x_cut: tensor<2x1x3x9x9xf32>, %w_cut: tensor<1x8x3x3x3xf32>,
    %x_sequence: tensor<2x1x10x31xf32>, %w_sequence: tensor<1x12x10x3xf32>,
    %x_volume: tensor<1x1x3x4x6x5xf32>, %w_volume: tensor<1x8x3x2x3x3xf32>,
    %x_beside: tensor<1x1x2x5x5xf32>, %w_beside: tensor<1x8x2x2x2xf32>,
    %x_volume_patches: tensor<2x2x3x4x6x4xf32>, %w_volume_patches: tensor<2x8x3x2x3x2xf32>,
    %x_beyond: tensor<2x1x3x3xf32>, %w_beyond: tensor<1x9x3x2xf32>) -> (
    tensor<2x1x16x9x12xf32> {nn.output = "padded"},
    tensor<2x1x9x5x4xf32> {nn.output = "strided"},
    tensor<1x2x8x13x4xf32> {nn.output = "apart"},
    tensor<2x1x10x8x15xf32> {nn.output = "transposed"},
    tensor<2x7x1x14x15xf32> {nn.output = "depthwise"},
    tensor<1x7x1x4x4xf32> {nn.output = "depthwise_gradient"},
    tensor<2x3x2x4x8xf32> {nn.output = "groups"},
    tensor<2x1x10x2x4xf32> {nn.output = "patches"},
    tensor<2x2x8x3x9xf32> {nn.output = "points"},
    tensor<3x1x9x2x1xf32> {nn.output = "whole"},
    tensor<2x1x9x6x15xf32> {nn.output = "spread"},
    tensor<2x1x8x7x6xf32> {nn.output = "cut"},
    tensor<2x1x12x16xf32> {nn.output = "sequence"},
    tensor<1x1x8x2x6x3xf32> {nn.output = "volume"},
    tensor<1x1x8x11x10xf32> {nn.output = "beside"},
    tensor<2x2x8x2x2x2xf32> {nn.output = "volume_patches"},
    tensor<2x1x9x1xf32> {nn.output = "after"},
    tensor<2x1x9x1xf32> {nn.output = "before"}) attributes {dist.local} {
  %padded = nn.convolution %x_padded, %w_padded strides [1, 1] low [1, 1] high [1, 1] dilation [1, 1] x_dilation [1, 1] : tensor<2x1x5x9x12xf32>, tensor<1x16x5x3x3xf32> -> tensor<2x1x16x9x12xf32>
  %strided = nn.convolution %x_strided, %w_strided strides [2, 3] low [0, 1] high [1, 2] dilation [1, 1] x_dilation [1, 1] : tensor<2x1x3x11x10xf32>, tensor<1x9x3x3x4xf32> -> tensor<2x1x9x5x4xf32>
  %apart = nn.convolution %x_apart, %w_apart strides [1, 2] low [2, 0] high [2, 0] dilation [2, 3] x_dilation [1, 1] reversed : tensor<1x2x4x13x11xf32>, tensor<2x8x4x3x2xf32> -> tensor<1x2x8x13x4xf32>
  %transposed = nn.convolution %x_transposed, %w_transposed strides [1, 1] low [1, 2] high [2, 2] dilation [1, 1] x_dilation [2, 3] reversed : tensor<2x1x6x4x5xf32>, tensor<1x10x6x3x3xf32> -> tensor<2x1x10x8x15xf32>
  %depthwise = nn.convolution %x_depthwise, %w_depthwise strides [1, 1] low [3, 3] high [3, 3] dilation [1, 1] x_dilation [1, 1] : tensor<2x7x1x14x15xf32>, tensor<7x1x1x7x7xf32> -> tensor<2x7x1x14x15xf32>
  %depthwise_gradient = nn.convolution %x_depthwise_gradient, %w_depthwise_gradient strides [1, 1] low [0, 1] high [1, 0] dilation [1, 1] x_dilation [1, 1] : tensor<1x7x3x14x15xf32>, tensor<7x1x3x12x13xf32> -> tensor<1x7x1x4x4xf32>
  %groups = nn.convolution %x_groups, %w_groups strides [2, 1] low [1, 0] high [0, 1] dilation [1, 1] x_dilation [1, 1] reversed : tensor<2x3x2x8x9xf32>, tensor<3x2x2x3x3xf32> -> tensor<2x3x2x4x8xf32>
  %patches = nn.convolution %x_patches, %w_patches strides [4, 3] low [0, 0] high [0, 0] dilation [1, 1] x_dilation [1, 1] : tensor<2x1x3x8x12xf32>, tensor<1x10x3x4x3xf32> -> tensor<2x1x10x2x4xf32>
  %points = nn.convolution %x_points, %w_points strides [2, 1] low [-1, 0] high [0, 0] dilation [1, 1] x_dilation [1, 1] : tensor<2x2x5x7x9xf32>, tensor<2x8x5x1x1xf32> -> tensor<2x2x8x3x9xf32>
  %whole = nn.convolution %x_whole, %w_whole strides [1, 1] low [0, 0] high [0, -3] dilation [1, 1] x_dilation [1, 1] : tensor<3x1x2x6x7xf32>, tensor<1x9x2x5x4xf32> -> tensor<3x1x9x2x1xf32>
  %spread = nn.convolution %x_spread, %w_spread strides [1, 1] low [1, 2] high [1, 2] dilation [1, 1] x_dilation [2, 3] reversed : tensor<2x1x4x3x5xf32>, tensor<1x9x4x2x3xf32> -> tensor<2x1x9x6x15xf32>
  %cut = nn.convolution %x_cut, %w_cut strides [1, 1] low [-1, 1] high [1, -2] dilation [1, 1] x_dilation [1, 1] : tensor<2x1x3x9x9xf32>, tensor<1x8x3x3x3xf32> -> tensor<2x1x8x7x6xf32>
  %sequence = nn.convolution %x_sequence, %w_sequence strides [2] low [1] high [1] dilation [1] x_dilation [1] : tensor<2x1x10x31xf32>, tensor<1x12x10x3xf32> -> tensor<2x1x12x16xf32>
  %volume = nn.convolution %x_volume, %w_volume strides [2, 1, 2] low [0, 1, 1] high [0, 1, 1] dilation [1, 1, 1] x_dilation [1, 1, 1] : tensor<1x1x3x4x6x5xf32>, tensor<1x8x3x2x3x3xf32> -> tensor<1x1x8x2x6x3xf32>
  %beside = nn.convolution %x_beside, %w_beside strides [1, 1] low [7, 0] high [0, 6] dilation [1, 1] x_dilation [1, 1] : tensor<1x1x2x5x5xf32>, tensor<1x8x2x2x2xf32> -> tensor<1x1x8x11x10xf32>
  %volume_patches = nn.convolution %x_volume_patches, %w_volume_patches strides [2, 3, 2] low [0, 0, 0] high [0, 0, 0] dilation [1, 1, 1] x_dilation [1, 1, 1] : tensor<2x2x3x4x6x4xf32>, tensor<2x8x3x2x3x2xf32> -> tensor<2x2x8x2x2x2xf32>
  // Windows after all elements of x, and before them.
  %after = nn.convolution %x_beyond, %w_beyond strides [1] low [-5] high [4] dilation [1] x_dilation [1] : tensor<2x1x3x3xf32>, tensor<1x9x3x2xf32> -> tensor<2x1x9x1xf32>
  %before = nn.convolution %x_beyond, %w_beyond strides [5] low [4] high [-1] dilation [1] x_dilation [1] : tensor<2x1x3x3xf32>, tensor<1x9x3x2xf32> -> tensor<2x1x9x1xf32>
  return %padded, %strided, %apart, %transposed, %depthwise, %depthwise_gradient, %groups, %patches, %points, %whole, %spread, %cut, %sequence, %volume, %beside, %volume_patches, %after, %before : tensor<2x1x16x9x12xf32>, tensor<2x1x9x5x4xf32>, tensor<1x2x8x13x4xf32>, tensor<2x1x10x8x15xf32>, tensor<2x7x1x14x15xf32>, tensor<1x7x1x4x4xf32>, tensor<2x3x2x4x8xf32>, tensor<2x1x10x2x4xf32>, tensor<2x2x8x3x9xf32>, tensor<3x1x9x2x1xf32>, tensor<2x1x9x6x15xf32>, tensor<2x1x8x7x6xf32>, tensor<2x1x12x16xf32>, tensor<1x1x8x2x6x3xf32>, tensor<1x1x8x11x10xf32>, tensor<2x2x8x2x2x2xf32>, tensor<2x1x9x1xf32>, tensor<2x1x9x1xf32>
}
