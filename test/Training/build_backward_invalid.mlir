// RUN: tessera-opt %s --dist-build-backward --split-input-file --verify-diagnostics

// The error names an op without a gradient on the path of the gradient.
func.func @unknown(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{cannot differentiate 'arith.bitcast': expects an op that knows its gradient}}
  %0 = arith.bitcast %x : tensor<8xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// There is no error if its result has no use.
func.func @unused(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.bitcast %x : tensor<8xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Statistics are not differentiated again.
func.func @stats(%x: tensor<4x8xf32>, %g: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{cannot be differentiated by its statistics: expects result 1 to be used by no op that the loss depends on}}
  %0, %1 = nn.rms_norm %x, %g eps 1.0e-5 : tensor<4x8xf32>, tensor<8xf32> stats tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// expected-error@+1 {{expects a body of one block but got 2}}
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^next
^next:
  return %x : tensor<8xf32>
}
