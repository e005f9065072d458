// An axis of 6 split as 2 x 3 by one sharding and as 3 x 2 by another: a reshard
// goes by the whole axis. No dimension is gathered whole.
// RUN: tessera-opt %s --dist-reshard-to-collectives | FileCheck %s

dist.mesh @mesh ["x"=6]

// CHECK-LABEL: func.func @halves_to_thirds
// CHECK: %[[S:.*]] = dist.all_slice %{{.*}} dim 0 over <{"x":(2)3}> on @mesh from <@mesh, [{"x":(1)2}, {}]> to <@mesh, [{"x"}, {}]>
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[S]] dim 0 over <{"x":(3)2}> on @mesh from <@mesh, [{"x"}, {}]> to <@mesh, [{"x":(1)3}, {}]>
// CHECK-NEXT: return %[[G]]
func.func @halves_to_thirds(%a: tensor<12x12xf32>) -> tensor<12x12xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x":(1)2}, {}]> to <@mesh, [{"x":(1)3}, {}]> : tensor<12x12xf32>
  return %0 : tensor<12x12xf32>
}

// CHECK-LABEL: func.func @both_dims
// CHECK: %[[A:.*]] = dist.all_to_all %{{.*}} gather 1 split 0 over <{"x":(2)3}>
// CHECK-NEXT: %[[B:.*]] = dist.all_to_all %[[A]] gather 0 split 1 over <{"x":(3)2}>
// CHECK-NEXT: return %[[B]]
func.func @both_dims(%a: tensor<12x12xf32>) -> tensor<12x12xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x":(1)2}, {"x":(2)3}]> to <@mesh, [{"x":(1)3}, {"x":(3)2}]> : tensor<12x12xf32>
  return %0 : tensor<12x12xf32>
}

// The same number of shards: one permute.
// CHECK-LABEL: func.func @minor_half
// CHECK: %[[P:.*]] = dist.collective_permute %{{.*}} targets [0, 4, 2, 3, 1, 5] over <{"x"}>
// CHECK-NEXT: return %[[P]]
func.func @minor_half(%a: tensor<12x12xf32>) -> tensor<12x12xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x":(1)2}, {}]> to <@mesh, [{"x":(3)2}, {}]> : tensor<12x12xf32>
  return %0 : tensor<12x12xf32>
}
