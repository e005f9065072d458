// RUN: tessera-opt %s --dist-expand-order --verify-diagnostics

// Shards of 9 elements begin within chunks of 4: pieces would have one element each.
func.func @within(%q: tensor<1x9x1x1x2xf32>, %k: tensor<1x18x1x2xf32>, %p: index) -> tensor<1x9x1x1x2xf32> {
  // expected-error @+1 {{expects shards of the sequence that are made of its chunks of 4 elements, as those of 2 devices, but got 9; in plain order a sequence has no chunks}}
  %o = nn.attention causal scale 0.5 keys 16 order <shards = 2, size = 16> %q, %k, %k q_offset %p : tensor<1x9x1x1x2xf32>, tensor<1x18x1x2xf32>, tensor<1x18x1x2xf32> -> tensor<1x9x1x1x2xf32>
  return %o : tensor<1x9x1x1x2xf32>
}
