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

// Element types that every phase supports.
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

// -----

// The custom form of a named op does not print its body.
func.func @hidden_body(%x: f32, %o: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expects the body of linalg.fill to be its own}}
  %0 = "linalg.fill"(%x, %o) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %in, %out : f32
    linalg.yield %1 : f32
  }) : (f32, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @own_bodies(%x: tensor<4x6xi8>, %w: tensor<6x2xi8>, %o: tensor<4x2xi32>, %f: tensor<4x6xf32>) -> (tensor<4x2xi32>, tensor<4x6xf32>) {
  %0 = linalg.matmul ins(%x, %w : tensor<4x6xi8>, tensor<6x2xi8>) outs(%o : tensor<4x2xi32>) -> tensor<4x2xi32>
  %1 = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%x, %w : tensor<4x6xi8>, tensor<6x2xi8>) outs(%0 : tensor<4x2xi32>) -> tensor<4x2xi32>
  %2 = linalg.exp ins(%f : tensor<4x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = linalg.elementwise kind=#linalg.elementwise_kind<add> ins(%2, %f : tensor<4x6xf32>, tensor<4x6xf32>) outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = linalg.map { math.tanh } ins(%3 : tensor<4x6xf32>) outs(%f : tensor<4x6xf32>)
  return %1, %t : tensor<4x2xi32>, tensor<4x6xf32>
}

// -----

func.func @padding_without_operand(%x: tensor<4xf32>) -> tensor<6xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{expects an operand for each of 1 paddings that are no constants but got 0}}
  %0 = "tensor.pad"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>, static_low = array<i64: -9223372036854775808>, static_high = array<i64: 1>}> ({
  ^bb0(%i: index):
    tensor.yield %zero : f32
  }) : (tensor<4xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// The op's verifier takes 32 bits of a dimension.
func.func @merged(%x: tensor<2x4x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{expects dimension 0 but got -9223372036854775808}}
  %0 = tensor.collapse_shape %x [[-9223372036854775808, 1], [2]] : tensor<2x4x8xf32> into tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @negative_stride(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expects offsets and strides that are not negative}}
  %0 = tensor.extract_slice %x[1] [4] [-7] : tensor<8xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
