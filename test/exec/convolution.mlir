// Convolutions sharded over each of their dimensions, of even and uneven sizes.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @batch
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @batch(
    %x: tensor<4x2x6x9xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>},
    %w: tensor<2x8x6x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>})
    -> (tensor<4x2x8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<4x2x6x9xf32>, tensor<2x8x6x3xf32> -> tensor<4x2x8x5xf32>
  return %0 : tensor<4x2x8x5xf32>
}

// CHECK-LABEL: @groups
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @groups(
    %x: tensor<4x2x6x9xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %w: tensor<2x8x6x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>})
    -> (tensor<4x2x8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<4x2x6x9xf32>, tensor<2x8x6x3xf32> -> tensor<4x2x8x5xf32>
  return %0 : tensor<4x2x8x5xf32>
}

// CHECK-LABEL: @results
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @results(
    %x: tensor<4x2x6x9xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %w: tensor<2x8x6x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<4x2x8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<4x2x6x9xf32>, tensor<2x8x6x3xf32> -> tensor<4x2x8x5xf32>
  return %0 : tensor<4x2x8x5xf32>
}

// CHECK-LABEL: @channels
// CHECK: yes
// CHECK: all_reduce
func.func @channels(
    %x: tensor<4x2x6x9xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}, {}]>},
    %w: tensor<2x8x6x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}, {}]>})
    -> (tensor<4x2x8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<4x2x6x9xf32>, tensor<2x8x6x3xf32> -> tensor<4x2x8x5xf32>
  return %0 : tensor<4x2x8x5xf32>
}

// CHECK-LABEL: @batch_and_channels
// CHECK: yes
// CHECK: all_reduce
func.func @batch_and_channels(
    %x: tensor<4x2x6x9xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {"x"}, {}]>},
    %w: tensor<2x8x6x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}, {}]>})
    -> (tensor<4x2x8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<4x2x6x9xf32>, tensor<2x8x6x3xf32> -> tensor<4x2x8x5xf32>
  return %0 : tensor<4x2x8x5xf32>
}

// CHECK-LABEL: @positions
// CHECK: yes
// CHECK: all_gather
func.func @positions(
    %x: tensor<4x2x6x9xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}]>},
    %w: tensor<2x8x6x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>})
    -> (tensor<4x2x8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<4x2x6x9xf32>, tensor<2x8x6x3xf32> -> tensor<4x2x8x5xf32>
  return %0 : tensor<4x2x8x5xf32>
}

// CHECK-LABEL: @batch_uneven
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @batch_uneven(
    %x: tensor<3x1x5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>},
    %w: tensor<1x6x5x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>})
    -> (tensor<3x1x6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}, {}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<3x1x5x7xf32>, tensor<1x6x5x3xf32> -> tensor<3x1x6x4xf32>
  return %0 : tensor<3x1x6x4xf32>
}

// CHECK-LABEL: @channels_uneven
// CHECK: yes
// CHECK: all_reduce
func.func @channels_uneven(
    %x: tensor<3x1x5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}, {}]>},
    %w: tensor<1x6x5x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}, {}]>})
    -> (tensor<3x1x6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<3x1x5x7xf32>, tensor<1x6x5x3xf32> -> tensor<3x1x6x4xf32>
  return %0 : tensor<3x1x6x4xf32>
}

// CHECK-LABEL: @results_uneven
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @results_uneven(
    %x: tensor<3x1x5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %w: tensor<1x6x5x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<3x1x6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<3x1x5x7xf32>, tensor<1x6x5x3xf32> -> tensor<3x1x6x4xf32>
  return %0 : tensor<3x1x6x4xf32>
}

// CHECK-LABEL: @groups_uneven
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @groups_uneven(
    %x: tensor<2x3x2x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %w: tensor<3x2x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>})
    -> (tensor<2x3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %0 = nn.convolution %x, %w strides [2] low [1] high [2] dilation [1] x_dilation [1] : tensor<2x3x2x7xf32>, tensor<3x2x2x3xf32> -> tensor<2x3x2x4xf32>
  return %0 : tensor<2x3x2x4xf32>
}
