// Plans follow the links: what is the same along a near axis crosses a far one
// in parts.
// RUN: tessera-opt %s --split-input-file --dist-reshard-to-collectives | FileCheck %s

// Equal links: one collective.
dist.mesh @mesh ["far"=2, "near"=4]
// CHECK-LABEL: func.func @equal_links
// CHECK: %[[R:.*]] = dist.all_reduce <sum> %{{.*}} over <{"far"}>
// CHECK-NEXT: return %[[R]]
func.func @equal_links(%a: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"far"}> to <@mesh, [{}, {}]> : tensor<512x64xf32>
  return %0 : tensor<512x64xf32>
}

// -----

// 100 times slower along one axis: each of four near devices reduces a quarter.
dist.mesh @mesh ["far"=2, "near"=4] {dist.links = [[array<f64: 2.0, 1.0e-6, 1.0e9>], [array<f64: 4.0, 1.0e-6, 1.0e11>]]}
// CHECK-LABEL: func.func @far_reduction
// CHECK: %[[S:.*]] = dist.all_slice %{{.*}} over <{"near"}>
// CHECK-NEXT: %[[R:.*]] = dist.all_reduce <sum> %[[S]] over <{"far"}>
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[R]] dim 0 over <{"near"}>
// CHECK-NEXT: return %[[G]]
func.func @far_reduction(%a: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"far"}> to <@mesh, [{}, {}]> : tensor<512x64xf32>
  return %0 : tensor<512x64xf32>
}
