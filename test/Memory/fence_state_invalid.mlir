// RUN: tessera-opt %s --rt-fence-state --split-input-file --verify-diagnostics

// expected-error @+1 {{expects a function with a planned arena: rt-plan-arena has not run}}
func.func @step(%p: tensor<16xf32> {dist.donate = 0 : i64}) -> tensor<16xf32> {
  return %p : tensor<16xf32>
}

// -----

// A task that changes a parameter.
func.func private @step_F0(%t: tensor<16xf32> {rt.place = #rt.place<captured 0>})
    attributes {rt.arena_bytes = 64 : i64, rt.offsets = array<i64: 0>, rt.segments = array<i64: 64>, rt.task = #rt.task<0 0>} {
  // expected-error @+1 {{'rt.copy' op expects a task that writes into no donated argument of its step}}
  %0 = rt.copy %t strides [0] base 0 {rt.offsets = array<i64: 0>} : tensor<16xf32> -> tensor<16xf32>
  return
}
func.func @step(%p: tensor<16xf32> {dist.donate = 0 : i64}) -> tensor<16xf32>
    attributes {rt.arena_bytes = 128 : i64, rt.offsets = array<i64: 0>} {
  rt.pipeline paths [[0]] micro_batches 1 list "F0.0" tasks [@step_F0]
      batch() captured(%p) init() : (tensor<16xf32>) -> ()
  return %p : tensor<16xf32>
}

// -----

// A sum in place of a parameter.
func.func private @step_F0() attributes {rt.arena_bytes = 64 : i64, rt.offsets = array<i64>, rt.segments = array<i64: 64>, rt.task = #rt.task<0 0>} {
  return
}
func.func @step(%p: tensor<16xf32> {dist.donate = 0 : i64}) -> tensor<16xf32>
    attributes {rt.arena_bytes = 128 : i64, rt.offsets = array<i64: 0>} {
  // expected-error @+1 {{'rt.pipeline' op expects results outside the blocks of donated arguments}}
  %s = rt.pipeline paths [[0]] micro_batches 1 list "F0.0" tasks [@step_F0]
      batch() captured() init(%p) {rt.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  return %s : tensor<16xf32>
}

// -----

// expected-error @+1 {{expects a task with a planned arena: rt-plan-pipeline has not run}}
func.func private @step_F0() attributes {rt.task = #rt.task<0 0>} {
  return
}
func.func @step(%p: tensor<16xf32> {dist.donate = 0 : i64}) -> tensor<16xf32>
    attributes {rt.arena_bytes = 128 : i64, rt.offsets = array<i64: 0>} {
  rt.pipeline paths [[0]] micro_batches 1 list "F0.0" tasks [@step_F0]
      batch() captured() init() : () -> ()
  return %p : tensor<16xf32>
}
