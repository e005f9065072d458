// RUN: tessera-opt %s --rt-start-collectives | FileCheck %s

dist.mesh @mesh ["dp"=2, "tp"=2]

// A collective without a start is waited for at once; its slot is free again.
// CHECK-LABEL: func.func @at_once
// CHECK: %[[A:.*]] = dist.start %arg0 {rt.slot = 0 : i64}
// CHECK: dist.all_reduce <sum>
// CHECK: dist.wait %[[A]], %arg0 {rt.slot = 0 : i64}
// CHECK: %[[B:.*]] = dist.start %arg1 {rt.slot = 0 : i64}
// CHECK: dist.all_gather
// CHECK: dist.wait %[[B]], %arg1 {rt.slot = 0 : i64}
func.func @at_once(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = dist.all_reduce <sum> %x over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %1 = dist.all_gather %y dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  return %1, %0 : tensor<8xf32>, tensor<4xf32>
}

// Two in flight, and one that reuses the slot of the first.
// CHECK-LABEL: func.func @two_in_flight
// CHECK: %[[A:.*]] = dist.start %arg0 {rt.slot = 0 : i64}
// CHECK: %[[B:.*]] = dist.start %arg1 {rt.slot = 1 : i64}
// CHECK: dist.wait %[[A]], %arg0 {rt.slot = 0 : i64}
// CHECK: %[[C:.*]] = dist.start {{.*}} {rt.slot = 0 : i64}
// CHECK: dist.wait %[[C]], {{.*}} {rt.slot = 0 : i64}
// CHECK: dist.wait %[[B]], %arg1 {rt.slot = 1 : i64}
func.func @two_in_flight(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %f = dist.start %x : tensor<4xf32> -> !dist.future<tensor<4xf32>> {
  ^bb0(%a: tensor<4xf32>):
    %r = dist.all_reduce <sum> %a over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    dist.yield %r : tensor<4xf32>
  }
  %g = dist.start %y : tensor<4xf32> -> !dist.future<tensor<8xf32>> {
  ^bb0(%a: tensor<4xf32>):
    %r = dist.all_gather %a dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
    dist.yield %r : tensor<8xf32>
  }
  %0 = dist.wait %f, %x : !dist.future<tensor<4xf32>>, tensor<4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = dist.wait %g, %y : !dist.future<tensor<8xf32>>, tensor<4xf32> -> tensor<8xf32>
  return %2, %1 : tensor<8xf32>, tensor<4xf32>
}

// A collective in flight around a loop keeps its slot there.
// CHECK-LABEL: func.func @loop
// CHECK: %[[A:.*]] = dist.start %arg1 {rt.slot = 0 : i64}
// CHECK: scf.for
// CHECK:   dist.start {{.*}} {rt.slot = 1 : i64}
// CHECK:   dist.wait {{.*}} {rt.slot = 1 : i64}
// CHECK: }
// CHECK: dist.wait %[[A]], %arg1 {rt.slot = 0 : i64}
// CHECK-NEXT: return
func.func @loop(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f = dist.start %y : tensor<4xf32> -> !dist.future<tensor<8xf32>> {
  ^bb0(%a: tensor<4xf32>):
    %r = dist.all_gather %a dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
    dist.yield %r : tensor<8xf32>
  }
  %1 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %x) -> tensor<4xf32> {
    %2 = dist.all_reduce <sum> %sum over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  %0 = dist.wait %f, %y : !dist.future<tensor<8xf32>>, tensor<4xf32> -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<4xf32>
}

// A sum is scattered where it is computed, not where its part is read; a sum with
// another reader, or whose scatter overlaps with work already, stays.
// CHECK-LABEL: func.func @scatter_early
// CHECK: %[[A:.*]] = arith.negf %arg0
// CHECK-NEXT: %[[S:.*]] = dist.start %[[A]]
// CHECK: dist.reduce_scatter
// CHECK: %[[T:.*]] = dist.wait %[[S]]
// CHECK: %[[B:.*]] = arith.negf %arg1
// CHECK-NEXT: %[[C:.*]] = arith.addf %[[B]], %[[B]]
// CHECK-NEXT: dist.start %[[B]]
// CHECK: return %[[T]]
func.func @scatter_early(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) {
  %0 = arith.negf %x : tensor<4xf32>
  %1 = arith.negf %y : tensor<4xf32>
  %2 = arith.addf %1, %1 : tensor<4xf32>
  %3 = dist.reduce_scatter <sum> %1 dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<2xf32>
  %4 = dist.reduce_scatter <sum> %0 dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<2xf32>
  return %4, %3, %2 : tensor<2xf32>, tensor<2xf32>, tensor<4xf32>
}
