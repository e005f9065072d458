// RUN: tessera-opt %s --rt-plan-pipeline --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tessera-opt %s --rt-plan-pipeline=check --split-input-file | FileCheck %s --check-prefix=WATCH

// Two stages, two micro-batches, forward and backward in one. Pp rank 0 keeps the
// slice that it reads, in a separate frame for each micro-batch; its arena has
// frames, boundaries and scratch after the values that live for the whole step.
dist.mesh @mesh ["pp"=2] stage "pp"

// Scratch begins where the arena ends, then come the segments of arguments, in
// their order: batch, sent values, the frame.
// CHECK-LABEL: func.func private @step_0_F0
// CHECK-SAME: rt.arena_bytes = 64
// CHECK-SAME: rt.offsets = array<i64: [[#A:]]
// CHECK-SAME: rt.segments = array<i64: [[#A-64]], [[#A]], [[#A+64]], [[#A+128]]>
// CHECK: rt.copy {{.*}} {rt.offsets = array<i64: [[#A-64]]>}
// CHECK: rt.copy {{.*}} {rt.offsets = array<i64: [[#A+64]]>}
// CHECK: rt.copy {{.*}} {rt.offsets = array<i64: [[#A+128]]>}
func.func private @step_0_F0(
    %t: tensor<16xf32> {rt.place = #rt.place<batch 0>},
    %y: tensor<16xf32> {rt.place = #rt.place<send 0>, dist.donate = 0 : i64},
    %k: tensor<16xf32> {rt.place = #rt.place<f_to_b 0>, dist.donate = 1 : i64})
    -> (tensor<16xf32>, tensor<16xf32>) attributes {rt.task = #rt.task<0 0>} {
  %0 = rt.copy %t strides [1] base 0 : tensor<16xf32> -> tensor<16xf32>
  %1 = rt.copy %0 strides [1] base 0 : tensor<16xf32> -> tensor<16xf32>
  %2 = rt.copy %0 strides [1] base 0 : tensor<16xf32> -> tensor<16xf32>
  return %1, %2 : tensor<16xf32>, tensor<16xf32>
}
func.func private @step_0_BW0(
    %g: tensor<16xf32> {rt.place = #rt.place<gradient 0>},
    %k: tensor<16xf32> {rt.place = #rt.place<f_to_b 0>},
    %s: tensor<16xf32> {rt.place = #rt.place<sum 0>, dist.donate = 0 : i64})
    -> tensor<16xf32> attributes {rt.task = #rt.task<3 0>} {
  %0 = rt.copy %g strides [1] base 0 : tensor<16xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
// Entries: receives are posted, then F of each micro-batch runs with its own
// bases: 0 is RUN, 1 SEND, 2 RECV, 3 WAIT.
// CHECK-LABEL: func.func @step_0
// CHECK: rt.pipeline
// CHECK-SAME: rt.entries = array<i64: 0, 0, 0, 0, 0, 4, {{[0-9]+, [0-9]+, [0-9]+, [0-9]+}}, 2, [[RECV:[0-9]+]], 0, 1, 1, 64, {{[0-9]+}}, 1, [[SEND:[0-9]+]], 0, 1, 0, 64, {{[0-9]+}},
// CHECK-SAME: 3, [[RECV]], 0, 1, 3, 0, 0, 3,
// WATCH: rt.entries = array<i64: 4, {{[0-9]+}}, 64, 1,
// WATCH-SAME: 5, {{[0-9]+}}, 64, 1>
func.func @step_0(%t: tensor<2x16xf32>) -> tensor<16xf32> attributes {dist.pp_rank = 0} {
  %c = rt.copy %t strides [1] base 0 : tensor<2x16xf32> -> tensor<16xf32>
  %s = rt.pipeline paths [[0, 1]] micro_batches 2
      list "F0.0 rG0.0 sA0.0 F0.1 rG0.1 sA0.1 BW0.0 BW0.1"
      tasks [@step_0_F0, @step_0_BW0] batch(%t) captured() init(%c)
      : (tensor<2x16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %s : tensor<16xf32>
}

func.func private @step_1_F0(
    %x: tensor<16xf32> {rt.place = #rt.place<activation 0>},
    %k: tensor<16xf32> {rt.place = #rt.place<f_to_b 0>, dist.donate = 0 : i64})
    -> tensor<16xf32> attributes {rt.task = #rt.task<0 0>} {
  %0 = rt.copy %x strides [1] base 0 : tensor<16xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
// A value that is passed on unchanged is copied to the segment that is sent.
// CHECK-LABEL: func.func private @step_1_BW0
// CHECK: %[[COPY:.*]] = rt.copy
// CHECK: return %[[COPY]]
func.func private @step_1_BW0(
    %k: tensor<16xf32> {rt.place = #rt.place<f_to_b 0>},
    %y: tensor<16xf32> {rt.place = #rt.place<send 0>, dist.donate = 0 : i64})
    -> tensor<16xf32> attributes {rt.task = #rt.task<3 0>} {
  return %k : tensor<16xf32>
}
func.func @step_1(%t: tensor<16xf32>) -> tensor<16xf32> attributes {dist.pp_rank = 1} {
  rt.pipeline paths [[0, 1]] micro_batches 2
      list "rA0.0 F0.0 rA0.1 BW0.0 sG0.0 F0.1 BW0.1 sG0.1"
      tasks [@step_1_F0, @step_1_BW0] batch() captured() init() : () -> ()
  return %t : tensor<16xf32>
}

// -----

// A frame without bytes has no offset.
// CHECK-LABEL: func.func @empty
// CHECK: rt.entries = array<i64: 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 3, 0, 0, 2, 0, 0>
func.func private @empty_F0(
    %k: tensor<0xf32> {rt.place = #rt.place<f_to_b 0>, dist.donate = 0 : i64})
    -> tensor<0xf32> attributes {rt.task = #rt.task<0 0>} {
  %0 = tensor.empty() : tensor<0xf32>
  return %0 : tensor<0xf32>
}
func.func private @empty_BW0(%k: tensor<0xf32> {rt.place = #rt.place<f_to_b 0>})
    attributes {rt.task = #rt.task<3 0>} {
  return
}
func.func @empty(%t: tensor<16xf32>) -> tensor<16xf32> {
  rt.pipeline paths [[0]] micro_batches 1 list "F0.0 BW0.0"
      tasks [@empty_F0, @empty_BW0] batch() captured() init() : () -> ()
  return %t : tensor<16xf32>
}
