// RUN: tessera-opt %s --rt-lower-to-rt --split-input-file --verify-diagnostics

// No planned arena.
// expected-error @+1 {{expects a function with a planned arena: rt-plan-arena has not run}}
func.func @unplanned(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// A type that the runtime does not have.
// expected-error @+1 {{expects a type that the runtime has for "arg0" but got 'tensor<8xi24>'}}
func.func @type(%x: tensor<8xi24>) -> tensor<8xi24> attributes {rt.offsets = array<i64: 0>, rt.arena_bytes = 64 : i64} {
  return %x : tensor<8xi24>
}

// -----

// Numbers of 8 bits are for the program itself.
// expected-error @+1 {{expects a type that the runtime has for "arg0" but got 'tensor<8xf8E4M3FN>'}}
func.func @eight_bits(%x: tensor<8xf8E4M3FN>) -> tensor<8xf8E4M3FN> attributes {rt.offsets = array<i64: 0>, rt.arena_bytes = 64 : i64} {
  return %x : tensor<8xf8E4M3FN>
}
