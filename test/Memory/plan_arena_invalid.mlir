// RUN: tessera-opt %s --rt-plan-arena --split-input-file --verify-diagnostics

func.func private @over(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64: 0, 0>} {
  return %x : tensor<16xf32>
}

// The argument is read after its result has overwritten it.
func.func @read_after_write(%p: tensor<16xf32> {nn.param = "p", dist.donate = 0 : i64}) -> (tensor<16xf32>, tensor<16xf32>) {
  // expected-note @+1 {{written here}}
  %0 = rt.kernel @over(%p) : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @+1 {{expects argument 0 to be read before result 0 is written in its place}}
  %1 = rt.kernel @over(%p) : (tensor<16xf32>) -> tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// -----

func.func private @apart(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {rt.kernel, rt.rows = 16 : i64, rt.reuse = array<i64>} {
  return %x : tensor<16xf32>
}

// The op that writes the result cannot do so in place, nor through a view.
func.func @not_in_place(%p: tensor<16xf32> {nn.param = "p", dist.donate = 0 : i64}) -> tensor<16xf32> {
  // expected-error @+2 {{expects argument 0 to be read before result 0 is written in its place}}
  // expected-note @+1 {{written here}}
  %0 = rt.kernel @apart(%p) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// expected-error @+1 {{expects argument 0 and the result that takes its place to have one type but got 'tensor<16xf32>' and 'tensor<8xf32>'}}
func.func @types(%p: tensor<16xf32> {nn.param = "p", dist.donate = 0 : i64}, %x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// Two arguments that exchange their memory.
func.func @swap(%p: tensor<16xf32> {nn.param = "p", dist.donate = 1 : i64}, %q: tensor<16xf32> {nn.param = "q", dist.donate = 0 : i64}) -> (tensor<16xf32>, tensor<16xf32>) {
  // expected-error @+2 {{expects argument 0 to be read before result 1 is written in its place}}
  // expected-note @+1 {{written here}}
  return %p, %q : tensor<16xf32>, tensor<16xf32>
}

// -----

// expected-error @+1 {{expects tensors as arguments and results but got 'index'}}
func.func @scalar(%a: index, %x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{expects tensors as arguments and results but got 'f32'}}
func.func @scalar_result(%x: tensor<8xf32>) -> f32 {
  %0 = arith.constant 1.0 : f32
  return %0 : f32
}

// -----

// expected-error @+1 {{expects tensors of static shape with elements that are numbers but got 'tensor<?xf32>'}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

func.func @vectors(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'tensor.empty' op expects tensors of static shape with elements that are numbers but got 'tensor<4xvector<2xf32>>'}}
  %0 = tensor.empty() : tensor<4xvector<2xf32>>
  return %x : tensor<4xf32>
}
