// RUN: tessera-opt %s --rt-fence-state --split-input-file | FileCheck %s

dist.mesh @mesh ["tp"=2]

func.func private @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64} {
  return %a : tensor<16xf32>
}

// Bytes count: a result that overlaps the argument by one element writes into it,
// one that ends where it begins does not.
// CHECK-LABEL: func.func @overlap
// CHECK-NEXT: rt.kernel
// CHECK-NEXT: rt.state_fence
// CHECK-NEXT: rt.kernel
// CHECK-NEXT: return
func.func @overlap(%x: tensor<16xf32>, %p: tensor<16xf32> {dist.donate = 0 : i64}) -> tensor<16xf32>
    attributes {rt.arena_bytes = 256 : i64, rt.offsets = array<i64: 128, 64>} {
  %0 = rt.kernel @add(%p, %x) {rt.offsets = array<i64: 0>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = rt.kernel @add(%p, %x) {rt.offsets = array<i64: 4>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// Views write nothing, nor does an update that the runtime moves after the step.
// CHECK-LABEL: func.func @moved
// CHECK-NOT: rt.state_fence
// CHECK: return
func.func @moved(%p: tensor<16xf32> {dist.donate = 0 : i64}) -> tensor<16xf32>
    attributes {rt.arena_bytes = 128 : i64, rt.offsets = array<i64: 0>} {
  %0 = tensor.expand_shape %p [[0, 1]] output_shape [4, 4] {rt.offsets = array<i64: 0>} : tensor<16xf32> into tensor<4x4xf32>
  %1 = rt.copy %0 strides [1] base 8 {rt.offsets = array<i64: 32>} : tensor<4x4xf32> -> tensor<4xf32>
  %2 = rt.kernel @add(%p, %p) {rt.offsets = array<i64: 64>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %2 : tensor<16xf32>
}

// A collective writes from its start on.
// CHECK-LABEL: func.func @in_flight
// CHECK-NEXT: rt.state_fence
// CHECK-NEXT: dist.start
// CHECK-NOT: rt.state_fence
// CHECK: return
func.func @in_flight(%p: tensor<32xf32> {dist.donate = 0 : i64}, %x: tensor<16xf32>)
    -> (tensor<32xf32>, tensor<16xf32>)
    attributes {rt.arena_bytes = 256 : i64, rt.offsets = array<i64: 0, 128>} {
  %f = dist.start %x {rt.offsets = array<i64: 0>, rt.slot = 0 : i64} : tensor<16xf32> -> !dist.future<tensor<32xf32>> {
  ^bb0(%a: tensor<16xf32>):
    %g = dist.all_gather %a dim 0 over <{"tp"}> on @mesh : tensor<16xf32> -> tensor<32xf32>
    dist.yield %g : tensor<32xf32>
  }
  %0 = rt.kernel @add(%x, %x) {rt.offsets = array<i64: 192>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = dist.wait %f, %x {rt.offsets = array<i64: 0>, rt.slot = 0 : i64} : !dist.future<tensor<32xf32>>, tensor<16xf32> -> tensor<32xf32>
  return %1, %0 : tensor<32xf32>, tensor<16xf32>
}

// An op in a loop counts as the loop.
// CHECK-LABEL: func.func @loop
// CHECK: rt.kernel
// CHECK-NEXT: rt.state_fence
// CHECK-NEXT: scf.for
// CHECK-NOT: rt.state_fence
// CHECK: return
func.func @loop(%p: tensor<16xf32> {dist.donate = 0 : i64}, %x: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.arena_bytes = 192 : i64, rt.offsets = array<i64: 0, 64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %g = rt.kernel @add(%p, %x) {rt.offsets = array<i64: 128>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  scf.for %i = %c0 to %c2 step %c1 {
    %1 = rt.kernel @add(%g, %x) {rt.offsets = array<i64: 0>} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  }
  return %g : tensor<16xf32>
}

// -----

dist.mesh @mesh ["pp"=2] stage "pp"

// The list of a pipeline writes its sum, whose offset in the arena the task knows,
// and scratch at an offset that stands for no byte of the arena.
// CHECK-LABEL: func.func @step
// CHECK: rt.pipeline
// CHECK-NEXT: rt.state_fence
// CHECK-NEXT: rt.copy
func.func private @step_F0(%t: tensor<16xf32> {rt.place = #rt.place<captured 0>},
    %s: tensor<16xf32> {rt.place = #rt.place<sum 0>, dist.donate = 0 : i64}) -> tensor<16xf32>
    attributes {rt.arena_bytes = 128 : i64, rt.offsets = array<i64: 64, 128>, rt.segments = array<i64: 192>, rt.task = #rt.task<0 0>} {
  %0 = rt.copy %t strides [1] base 0 {rt.offsets = array<i64: 192>} : tensor<16xf32> -> tensor<16xf32>
  %1 = rt.copy %0 strides [1] base 0 {rt.offsets = array<i64: 128>} : tensor<16xf32> -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
func.func @step(%p: tensor<16xf32> {dist.donate = 0 : i64}, %t: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.arena_bytes = 256 : i64, rt.offsets = array<i64: 192, 64>} {
  %c = rt.copy %t strides [1] base 0 {rt.offsets = array<i64: 128>} : tensor<16xf32> -> tensor<16xf32>
  %s = rt.pipeline paths [[0]] micro_batches 1 list "F0.0" tasks [@step_F0]
      batch() captured(%t) init(%c) {rt.offsets = array<i64: 128>}
      : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = rt.copy %s strides [1] base 0 {rt.offsets = array<i64: 192>} : tensor<16xf32> -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
