// RUN: tessera-opt %s --dist-print-sharding-rules -verify-diagnostics -o /dev/null

func.func @scatter(%x: tensor<64x16xf32>, %i: tensor<2x8xi32>, %u: tensor<2x8x16xf32>) {
  // Devices may add updates of their own, once x is apart from their sum.
  // expected-remark @+1 {{([i,j],[k,l],[k,l,j])->([i,j]) {i=64 positional, j=16, k=2 decomposed, l=8 decomposed}; partial sum in {0, 2}}}
  %0 = nn.scatter <add> %x, %i, %u : tensor<64x16xf32>, tensor<2x8xi32>, tensor<2x8x16xf32>
  // The last update of a row needs all of them.
  // expected-remark @+1 {{([i,j],[k,l],[k,l,j])->([i,j]) {i=64 positional, j=16, k=2 replicated, l=8 replicated}; partial sum in {0, 2}; partial max in {0, 2}; partial min in {0, 2}}}
  %1 = nn.scatter <set> %x, %i, %u : tensor<64x16xf32>, tensor<2x8xi32>, tensor<2x8x16xf32>
  return
}
