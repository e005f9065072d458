// RUN: tessera-opt %s --split-input-file --verify-diagnostics --dist-verify-input
// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tessera-input

// Shapes are static.
// expected-error @+1 {{argument 0: expects a static shape but got 'tensor<?x16xf32>'}}
func.func @argument(%x: tensor<?x16xf32>) { return }

// -----

func.func @inside(%n: index) {
  // expected-error @+1 {{result 0: expects a static shape but got 'tensor<?xf32>'}}
  %0 = tensor.empty(%n) : tensor<?xf32>
  return
}

// -----

func.func @good(%x: tensor<8x16xf32>, %n: index) -> tensor<8x16xf32> {
  return %x : tensor<8x16xf32>
}

// -----

// Elements that every phase knows.
// expected-error @+1 {{argument 0: expects a tensor or a scalar of floats, of integers of 1 to 64 bits or of index but got 'tensor<4xcomplex<f32>>'}}
func.func @complex(%x: tensor<4xcomplex<f32>>) { return }

// -----

// expected-error @+1 {{result 0: expects a tensor or a scalar of floats, of integers of 1 to 64 bits or of index but got 'i128'}}
func.func private @wide() -> i128

// -----

func.func @unsigned(%x: tensor<4xi8>) {
  // expected-error @+1 {{result 0: expects a tensor or a scalar of floats, of integers of 1 to 64 bits or of index but got 'tensor<4xui8>'}}
  %0 = tensor.bitcast %x : tensor<4xi8> to tensor<4xui8>
  return
}

// -----

// expected-error @+1 {{argument 0: expects a tensor or a scalar of floats, of integers of 1 to 64 bits or of index but got 'memref<4xf32>'}}
func.func @memref(%x: memref<4xf32>) { return }

// -----

// expected-error @+1 {{argument 0: expects a tensor without an encoding but got 'tensor<4xf32, "sparse">'}}
func.func @encoding(%x: tensor<4xf32, "sparse">) { return }

// -----

// expected-error @+1 {{argument 0: expects a tensor of at most 2^48 elements but got 'tensor<4294967296x4294967296xi1>'}}
func.func @huge(%x: tensor<4294967296x4294967296xi1>) { return }

// -----

// expected-error @+1 {{expects calls that end, but @itself calls itself}}
func.func @itself(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = func.call @itself(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error @+1 {{expects calls that end, but @ping calls itself through @pong}}
func.func @ping(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = func.call @pong(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @pong(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = func.call @ping(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
