// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(rt-reduce-boundary))' | FileCheck %s

dist.mesh @mesh ["x"=2]

// Files hold whole values: one device keeps an unreduced argument and the others
// have zeros; an unreduced result is reduced.
// CHECK-LABEL: func.func @both
// CHECK-NOT: unreduced
// CHECK: %[[P:.*]] = dist.to_partial <sum> %arg0 over <{"x"}> on @mesh
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[P]]
// CHECK-NEXT: %[[R:.*]] = dist.all_reduce <sum> %[[N]] over <{"x"}> on @mesh
// CHECK-NEXT: return %[[R]]
func.func @both(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %0 = arith.negf %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @whole
// CHECK-NEXT: %[[N:.*]] = arith.negf %arg0
// CHECK-NEXT: return %[[N]]
func.func @whole(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = arith.negf %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
