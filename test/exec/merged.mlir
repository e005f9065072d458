// Adjacent reshards at casts, transposes and reshapes; sums that are scattered
// and gathered. Programs keep their results.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// CHECK-LABEL: @cast_down
// CHECK: yes
// CHECK: all_gather 1 384
func.func @cast_down(%a: tensor<64x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.constraint %a <@mesh, [{}, {}]> : tensor<64x4xf32>
  %1 = arith.truncf %0 : tensor<64x4xf32> to tensor<64x4xbf16>
  return %1 : tensor<64x4xbf16>
}

// CHECK-LABEL: @cast_up
// CHECK: yes
// CHECK: all_gather 1 384
func.func @cast_up(%a: tensor<64x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = arith.extf %a {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<64x4xbf16> to tensor<64x4xf32>
  %1 = dist.constraint %0 <@mesh, [{}, {}]> : tensor<64x4xf32>
  return %1 : tensor<64x4xf32>
}

// CHECK-LABEL: @transposed
// CHECK: yes
// CHECK: no collectives
func.func @transposed(%a: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = dist.constraint %a <@mesh, [{}, {"x"}]> : tensor<64x8xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<64x8xf32> -> tensor<8x64xf32>
  %2 = dist.constraint %1 <@mesh, [{}, {"x"}]> : tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

// CHECK-LABEL: @reshaped
// CHECK: yes
// CHECK: no collectives
func.func @reshaped(%a: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %0 = dist.constraint %a <@mesh, [{}, {}]> : tensor<64x8xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 16, 8] : tensor<64x8xf32> into tensor<4x16x8xf32>
  %2 = dist.constraint %1 <@mesh, [{"x"}, {}, {}]> : tensor<4x16x8xf32>
  return %2 : tensor<4x16x8xf32>
}

// CHECK-LABEL: @scattered_and_gathered
// CHECK: yes
// CHECK: all_reduce 1
// CHECK-NOT: gather
func.func @scattered_and_gathered(%a: tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %w: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %w : tensor<16x64xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
  %1 = dist.constraint %0 <@mesh, [{"x"}, {}]> : tensor<16x16xf32>
  %2 = dist.constraint %1 <@mesh, [{}, {}]> : tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// CHECK-LABEL: @there_and_back
// CHECK: yes
// CHECK: no collectives
func.func @there_and_back(%a: tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %1 = dist.constraint %a <@mesh, [{}, {"x"}]> : tensor<16x64xf32>
  %2 = dist.constraint %1 <@mesh, [{"x"}, {}]> : tensor<16x64xf32>
  return %2 : tensor<16x64xf32>
}
