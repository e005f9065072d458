// RUN: tessera-opt %s --rt-convert-nn --split-input-file --verify-diagnostics

// No element, no row.
// expected-error @+1 {{expects tensors with elements but got 'tensor<0x4xf32>'}}
func.func @empty(%x: tensor<0x4xf32>) {
  return
}

// -----

func.func @empty_inside(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expects tensors with elements but got 'tensor<0x4xf32>'}}
  %0 = tensor.extract_slice %x[0, 0] [0, 4] [1, 1] : tensor<2x4xf32> to tensor<0x4xf32>
  return
}
