// layer_norm, rms_norm, softmax: over rows, over the dimension they reduce, and
// with sizes that do not divide.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @layer_norm_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @layer_norm_rows(
    %x: tensor<7x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %g: tensor<12xf32>, %b: tensor<12xf32>)
    -> (tensor<7x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.layer_norm %x, %g, %b eps 1.0e-5 : tensor<7x12xf32>, tensor<12xf32>, tensor<12xf32>
  return %0 : tensor<7x12xf32>
}

// CHECK-LABEL: @layer_norm_hidden
// CHECK: yes
// CHECK: all_reduce
func.func @layer_norm_hidden(
    %x: tensor<6x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %g: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %b: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<6x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.layer_norm %x, %g, %b eps 1.0e-5 : tensor<6x12xf32>, tensor<12xf32>, tensor<12xf32>
  return %0 : tensor<6x12xf32>
}

// The mean divides by the true size, and the variance counts no padding.
// CHECK-LABEL: @layer_norm_uneven
// CHECK: yes
// CHECK: all_reduce
func.func @layer_norm_uneven(
    %x: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %g: tensor<10xf32>, %b: tensor<10xf32>)
    -> (tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = nn.layer_norm %x, %g, %b eps 1.0e-5 : tensor<6x10xf32>, tensor<10xf32>, tensor<10xf32>
  return %0 : tensor<6x10xf32>
}

// CHECK-LABEL: @rms_norm_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @rms_norm_rows(
    %x: tensor<2x8x12xbf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>},
    %g: tensor<12xbf16>)
    -> (tensor<2x8x12xbf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>}) {
  %0 = nn.rms_norm %x, %g eps 1.0e-5 : tensor<2x8x12xbf16>, tensor<12xbf16>
  return %0 : tensor<2x8x12xbf16>
}

// CHECK-LABEL: @rms_norm_hidden
// CHECK: yes
// CHECK: all_reduce
func.func @rms_norm_hidden(
    %x: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %g: tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = nn.rms_norm %x, %g eps 1.0e-5 : tensor<6x10xf32>, tensor<10xf32>
  return %0 : tensor<6x10xf32>
}

// CHECK-LABEL: @softmax_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @softmax_rows(
    %x: tensor<5x12x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {"x"}]>})
    -> (tensor<5x12x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {"x"}]>}) {
  %0 = nn.softmax %x dim 1 : tensor<5x12x3xf32>
  return %0 : tensor<5x12x3xf32>
}

// One maximum and one sum.
// CHECK-LABEL: @softmax_along
// CHECK: yes
// CHECK: all_reduce 2
func.func @softmax_along(
    %x: tensor<5x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<5x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = nn.softmax %x dim 1 : tensor<5x12xf32>
  return %0 : tensor<5x12xf32>
}

// The padding counts neither in the maximum nor in the sum.
// CHECK-LABEL: @softmax_uneven
// CHECK: yes
// CHECK: all_reduce 2
func.func @softmax_uneven(
    %x: tensor<5x11xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<5x11xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.softmax %x dim 1 : tensor<5x11xf32>
  return %0 : tensor<5x11xf32>
}
