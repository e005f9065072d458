// RUN: tessera-opt %s --rt-start-collectives | FileCheck %s

dist.mesh @mesh ["dp"=2, "tp"=2]

// The waits stand before the first use; slots are used again.
// CHECK-LABEL: func.func @two_in_flight
// CHECK: %[[A:.*]] = dist.start %arg0 {rt.slot = 0 : i64}
// CHECK: dist.all_reduce <sum>
// CHECK: %[[B:.*]] = dist.start %arg1 {rt.slot = 1 : i64}
// CHECK: dist.all_gather
// CHECK: dist.wait %[[A]], %arg0 {rt.slot = 0 : i64}
// CHECK-NEXT: arith.addf
// CHECK: dist.start %{{.*}} {rt.slot = 0 : i64}
// CHECK: dist.wait %[[B]], %arg1 {rt.slot = 1 : i64}
// CHECK-NEXT: dist.wait %{{.*}} {rt.slot = 0 : i64}
// CHECK-NEXT: return
func.func @two_in_flight(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = dist.all_reduce <sum> %x over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %1 = dist.all_gather %y dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  %2 = arith.addf %0, %x : tensor<4xf32>
  %3 = dist.all_reduce <sum> %2 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %1, %3 : tensor<8xf32>, tensor<4xf32>
}

// What is in flight around a loop keeps its slot there.
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
  %0 = dist.all_gather %y dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  %1 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %x) -> tensor<4xf32> {
    %2 = dist.all_reduce <sum> %sum over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %0, %1 : tensor<8xf32>, tensor<4xf32>
}

// One that a loop reads is waited for before it.
// CHECK-LABEL: func.func @read_in_a_loop
// CHECK: dist.start
// CHECK: %[[G:.*]] = dist.wait
// CHECK-NEXT: scf.for
// CHECK: arith.addf %{{.*}}, %[[G]]
func.func @read_in_a_loop(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = dist.all_gather %y dim 0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  %1 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %x) -> tensor<8xf32> {
    %2 = arith.addf %sum, %0 : tensor<8xf32>
    scf.yield %2 : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}

// Operands that nothing else needs are not kept beyond 8 MiB: the first is waited
// for before the third starts. One that is read later is kept anyway.
// CHECK-LABEL: func.func @held
// CHECK: %[[A:.*]] = dist.start %arg0 {rt.slot = 0
// CHECK: %[[B:.*]] = dist.start %arg1 {rt.slot = 1
// CHECK: dist.wait %[[A]], %arg0 {rt.slot = 0
// CHECK-NEXT: %[[C:.*]] = dist.start %arg2 {rt.slot = 0
// CHECK: %[[D:.*]] = dist.start %arg3 {rt.slot = 2
// CHECK: dist.wait %[[B]], %arg1 {rt.slot = 1
// CHECK: dist.wait %[[C]], %arg2 {rt.slot = 0
// CHECK: dist.wait %[[D]], %arg3 {rt.slot = 2
func.func @held(%a: tensor<2097152xf32>, %b: tensor<2097152xf32>, %c: tensor<2097152xf32>, %d: tensor<2097152xf32>)
    -> (tensor<1048576xf32>, tensor<1048576xf32>, tensor<1048576xf32>, tensor<1048576xf32>, tensor<2097152xf32>) {
  %0 = dist.reduce_scatter <sum> %a dim 0 over <{"tp"}> on @mesh : tensor<2097152xf32> -> tensor<1048576xf32>
  %1 = dist.reduce_scatter <sum> %b dim 0 over <{"tp"}> on @mesh : tensor<2097152xf32> -> tensor<1048576xf32>
  %2 = dist.reduce_scatter <sum> %c dim 0 over <{"tp"}> on @mesh : tensor<2097152xf32> -> tensor<1048576xf32>
  %3 = dist.reduce_scatter <sum> %d dim 0 over <{"tp"}> on @mesh : tensor<2097152xf32> -> tensor<1048576xf32>
  return %0, %1, %2, %3, %d : tensor<1048576xf32>, tensor<1048576xf32>, tensor<1048576xf32>, tensor<1048576xf32>, tensor<2097152xf32>
}
