// Sub-axes of an axis of 6 as 2 x 3 become sub-axes as 3 x 2.
// RUN: tessera verify %s --tolerance 0 | FileCheck %s

dist.mesh @mesh ["x"=6, "y"=2]

// CHECK-LABEL: @halves_to_thirds
// CHECK: yes
func.func @halves_to_thirds(%a: tensor<12x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)2}, {}]>})
    -> (tensor<12x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)3}, {}]>}) {
  return %a : tensor<12x12xf32>
}

// CHECK-LABEL: @both_dims
// CHECK: yes
func.func @both_dims(%a: tensor<12x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)2}, {"x":(2)3}]>})
    -> (tensor<12x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)3}, {"x":(3)2}]>}) {
  return %a : tensor<12x12xf32>
}

// CHECK-LABEL: @minor_half
// CHECK: yes
func.func @minor_half(%a: tensor<12x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)2}, {"y"}]>})
    -> (tensor<12x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(3)2, "y"}, {}]>}) {
  return %a : tensor<12x12xf32>
}

// CHECK-LABEL: @reversed
// CHECK: yes
func.func @reversed(%a: tensor<24x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(2)3, "y", "x":(1)2}, {}]>})
    -> (tensor<24x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(3)2}, {"y", "x":(1)3}]>}) {
  return %a : tensor<24x12xf32>
}
