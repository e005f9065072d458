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
