// Sums of values that are partial over different axes.
// RUN: tessera-opt %s --dist-propagate-shardings --dist-insert-reshards --dist-place-reductions | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// A scalar that is whole, or partial over fewer axes, becomes partial over all:
// one reduction for a sum of sums.
// CHECK-LABEL: @mixed_scalars
// CHECK: %[[A:.*]] = nn.reduce <sum>
// CHECK: %[[B:.*]] = nn.reduce <sum>
// CHECK: %[[C:.*]] = nn.reduce <sum>
// CHECK: %[[AP:.*]] = dist.reshard %[[A]] from <@mesh, [], unreduced={"x"}> to <@mesh, [], unreduced={"x", "y"}>
// CHECK: %[[AB:.*]] = arith.addf %[[AP]], %[[B]]
// CHECK: %[[CP:.*]] = dist.reshard %[[C]] from <@mesh, []> to <@mesh, [], unreduced={"x", "y"}>
// CHECK: %[[ABC:.*]] = arith.addf %[[AB]], %[[CP]]
// CHECK: %[[R:.*]] = dist.reshard %[[ABC]] from <@mesh, [], unreduced={"x", "y"}> to <@mesh, []>
// CHECK: return %[[R]]
func.func @mixed_scalars(%a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %b: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %c: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) -> tensor<f32> {
  %0 = nn.reduce <sum> %a dims [0] : tensor<16xf32> -> tensor<f32>
  %1 = nn.reduce <sum> %b dims [0, 1] : tensor<16x8xf32> -> tensor<f32>
  %2 = nn.reduce <sum> %c dims [0] : tensor<16xf32> -> tensor<f32>
  %3 = arith.addf %0, %1 : tensor<f32>
  %4 = arith.addf %3, %2 : tensor<f32>
  return %4 : tensor<f32>
}

// For whole tensors it is not worth it: the sum would move as many bytes.
// CHECK-LABEL: @mixed_tensors
// CHECK: %[[P:.*]] = nn.einsum
// CHECK: %[[R:.*]] = dist.reshard %[[P]] from <@mesh, [{}, {}], unreduced={"x"}>
// CHECK: arith.addf %[[R]],
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @mixed_tensors(%a: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %c: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) -> tensor<16x4xf32> {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<16x8xf32>, tensor<8x4xf32> -> tensor<16x4xf32>
  %1 = arith.addf %0, %c : tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}
