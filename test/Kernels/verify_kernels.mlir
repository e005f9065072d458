// RUN: tessera-opt %s --rt-verify-kernels --split-input-file --verify-diagnostics

// An op outside of a kernel.
func.func @loose(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expects calls of kernels and libraries only in a step function but got math.exp}}
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Arguments and results must be tensors.
// expected-error @+1 {{expects tensors as arguments and results but got 'index'}}
func.func @scalar(%i: index) {
  return
}

// -----

// An unsupported op in a kernel.
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = rt.kernel @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel, rt.rows = 4 : i64} {
  // expected-error @+1 {{expects linalg.generic only in a kernel but got math.exp}}
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Another number of rows than an op has.
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = rt.kernel @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel, rt.rows = 3 : i64} {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{expects an op of 3 rows}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// No rows.
func.func @step() {
  return
}
// expected-error @+1 {{expects rt.rows on a kernel}}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  return %x : tensor<4xf32>
}

// -----

// Two programs.
// expected-note @+1 {{the first, @one}}
func.func @one() {
  return
}
// expected-error @+1 {{expects one public function but got a second, @two}}
func.func @two() {
  return
}

// -----

// None.
// expected-error @+1 {{expects a public function with a body}}
module {
}
