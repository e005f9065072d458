// 12 rows move from an axis of 2 to an axis of 3: no device ever has them all.
// RUN: tessera-opt %s --dist-reshard-to-collectives | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=3]

// CHECK-LABEL: func.func @twelve_rows
// CHECK: %[[S:.*]] = dist.all_slice %{{.*}} dim 0 over <{"y"}>
// CHECK-NEXT: %[[P:.*]] = dist.collective_permute %[[S]] targets [0, 3, 1, 4, 2, 5] over <{"x", "y"}>
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[P]] dim 0 over <{"x"}>
// CHECK-NEXT: return %[[G]]
func.func @twelve_rows(%a: tensor<12xf32>) -> tensor<12xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}]> to <@mesh, [{"y"}]> : tensor<12xf32>
  return %0 : tensor<12xf32>
}
