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
