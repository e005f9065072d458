// Plans depend on the links: a value that is equal along a near axis crosses a
// far axis in shards.
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

// -----

// Eight nodes, 4.5 us apart, with the library's fitted constants.
dist.mesh @mesh ["x"=8] {dist.links = [[array<f64: 8.0, 4.5e-6, 4.75e10>]]}

// A few bytes: seven steps around one ring take longer than two starts and four
// steps.
// CHECK-LABEL: func.func @short_rings
// CHECK-COUNT-2: dist.all_gather
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @short_rings(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}]> to <@mesh, [{}]> : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Many bytes, for which the library starts later: one ring.
// CHECK-LABEL: func.func @one_ring
// CHECK: dist.all_gather %{{.*}} over <{"x"}>
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @one_ring(%a: tensor<16777216xf32>) -> tensor<16777216xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}]> to <@mesh, [{}]> : tensor<16777216xf32>
  return %0 : tensor<16777216xf32>
}
