// RUN: tessera-opt %s --rt-lower-to-rt --split-input-file --verify-diagnostics

// No planned arena.
// expected-error @+1 {{expects a function with a planned arena: rt-plan-arena has not run}}
func.func @unplanned(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// A type that the runtime does not support.
// expected-error @+1 {{expects a type that the runtime has for "arg0" but got 'tensor<8xi24>'}}
func.func @type(%x: tensor<8xi24>) -> tensor<8xi24> attributes {rt.offsets = array<i64: 0>, rt.arena_bytes = 64 : i64} {
  return %x : tensor<8xi24>
}

// -----

// 8-bit floats cannot be arguments.
// expected-error @+1 {{expects a type that the runtime has for "arg0" but got 'tensor<8xf8E4M3FN>'}}
func.func @eight_bits(%x: tensor<8xf8E4M3FN>) -> tensor<8xf8E4M3FN> attributes {rt.offsets = array<i64: 0>, rt.arena_bytes = 64 : i64} {
  return %x : tensor<8xf8E4M3FN>
}

// -----

func.func @no_stage_axis() attributes {dist.pp_rank = 0, rt.offsets = array<i64>, rt.arena_bytes = 0 : i64} {
  // expected-error @+1 {{'rt.pipeline' op expects a mesh with a stage axis}}
  rt.pipeline paths [[0, 1]] micro_batches 1 list "F0.0" tasks [] batch() captured() init() {rt.entries = array<i64>} : () -> ()
  return
}

// -----

dist.mesh @mesh ["pp"=2] stage "pp"
func.func @no_rank(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.offsets = array<i64: 0>, rt.arena_bytes = 64 : i64} {
  // expected-error @+1 {{'dist.exchange' op expects a function with dist.pp_rank but got @no_rank}}
  %0 = dist.exchange (%x) from [0] among [0, 1] {rt.offsets = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh ["pp"=2] stage "pp"
func.func @no_slot(%x: tensor<4xf32>) -> tensor<4xf32> attributes {dist.pp_rank = 0 : i64, rt.offsets = array<i64: 0>, rt.arena_bytes = 64 : i64} {
  // expected-error @+1 {{'dist.exchange' op expects rt.slot, which rt-start-collectives sets}}
  %0 = dist.exchange (%x) from [0] among [0, 1] {rt.offsets = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
