// One plan per reshard, on global types with the shardings before and after.
// RUN: tessera-opt %s --dist-reshard-to-collectives | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=2, "z"=2]

// Several minor axes are gathered at once.
// CHECK-LABEL: func.func @gather_two
// CHECK: %[[R:.*]] = dist.all_gather %{{.*}} dim 0 over <{"y", "z"}> on @mesh from <@mesh, [{"x", "y", "z"}, {}]> to <@mesh, [{"x"}, {}]>
// CHECK-NEXT: return %[[R]]
func.func @gather_two(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x", "y", "z"}, {}]> to <@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @slices_only
// CHECK: dist.all_slice %{{.*}} dim 0 over <{"x"}>
// CHECK-NEXT: dist.all_slice %{{.*}} dim 1 over <{"y", "z"}>
// CHECK-NEXT: return
func.func @slices_only(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{}, {}]> to <@mesh, [{"x"}, {"y", "z"}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @one_all_to_all
// CHECK: %[[R:.*]] = dist.all_to_all %{{.*}} gather 0 split 2 over <{"x"}>
// CHECK-NEXT: return %[[R]]
func.func @one_all_to_all(%a: tensor<16x8x8xf32>) -> tensor<16x8x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}, {"y"}, {}]> to <@mesh, [{}, {"y"}, {"x"}]> : tensor<16x8x8xf32>
  return %0 : tensor<16x8x8xf32>
}

// Slicing first halves the bytes of the gather.
// CHECK-LABEL: func.func @slice_then_gather
// CHECK: %[[S:.*]] = dist.all_slice %{{.*}} dim 1 over <{"y"}>
// CHECK-NEXT: dist.all_gather %[[S]] dim 0 over <{"x"}>
// CHECK-NEXT: return
func.func @slice_then_gather(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"y"}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @swap_dims
// CHECK: %[[R:.*]] = dist.collective_permute %{{.*}} targets [0, 2, 1, 3] over <{"x", "y"}>
// CHECK-NEXT: return %[[R]]
func.func @swap_dims(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}, {"y"}]> to <@mesh, [{"y"}, {"x"}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @swap_order
// CHECK: %[[R:.*]] = dist.collective_permute %{{.*}} targets [0, 2, 1, 3] over <{"x", "y"}>
// CHECK-NEXT: return %[[R]]
func.func @swap_order(%a: tensor<16xf32>) -> tensor<16xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x", "y"}]> to <@mesh, [{"y", "x"}]> : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// A partial value that becomes sharded is scattered, never reduced whole.
// CHECK-LABEL: func.func @reduce_scatter
// CHECK: %[[R:.*]] = dist.reduce_scatter <max> %{{.*}} dim 1 over <{"y"}>
// CHECK-NEXT: return %[[R]]
func.func @reduce_scatter(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}, {}], unreduced={"y"} max> to <@mesh, [{"x"}, {"y"}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// Reduced on half the bytes.
// CHECK-LABEL: func.func @slice_then_reduce
// CHECK: %[[S:.*]] = dist.all_slice %{{.*}} dim 0 over <{"x"}>
// CHECK-NEXT: dist.all_reduce <sum> %[[S]] over <{"y"}>
// CHECK-NEXT: return
func.func @slice_then_reduce(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"y"}> to <@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// A whole value becomes partial.
// CHECK-LABEL: func.func @to_partial
// CHECK: %[[R:.*]] = dist.to_partial <sum> %{{.*}} over <{"y"}>
// CHECK-NEXT: return %[[R]]
func.func @to_partial(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{"x"}, {}], unreduced={"y"}> : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
