// RUN: tessera-opt %s --dist-print-sharding-rules -verify-diagnostics -o /dev/null

// Keys are summed in dq and parallel in dk and dv; queries the other way round.
func.func @attention(%q: tensor<2x8x4x3x6xf32>, %k: tensor<2x9x4x6xf32>, %v: tensor<2x9x4x5xf32>,
                     %o: tensor<2x8x4x3x5xf32>, %l: tensor<2x8x4x3xf32>) {
  // expected-remark @+1 {{([i,j,k,l,m],[i,n,k,m],[i,n,k,o])->([i,j,k,l,o],[i,j,k,l]) {i=2, j=8, k=4, l=3, m=6 decomposed, n=9 decomposed, o=5}}}
  %0, %1 = nn.attention scale 0.125 %q, %k, %v
      : tensor<2x8x4x3x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x5xf32>
      -> tensor<2x8x4x3x5xf32> stats tensor<2x8x4x3xf32>
  // expected-remark @+1 {{([i,j,k,l,o],[i,j,k,l,m],[i,n,k,m],[i,n,k,o],[i,j,k,l,o],[i,j,k,l])->([i,j,k,l,m],[i,n,k,m],[i,n,k,o]) {i=2, j=8 sum positional, k=4, l=3 sum, m=6 decomposed, n=9 sum positional, o=5 decomposed}; partial sum in {0}}}
  %2:3 = nn.attention_backward causal scale 0.125 %o, %q, %k, %v, %o, %l
      : tensor<2x8x4x3x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x5xf32>,
        tensor<2x8x4x3x5xf32>, tensor<2x8x4x3xf32>
  return
}

func.func @norms(%x: tensor<2x8x16xf32>, %g: tensor<16xf32>, %s: tensor<2x8xf32>) {
  // expected-remark @+1 {{([i,j,k],[k],[k])->([i,j,k],[i,j],[i,j]) {i=2, j=8, k=16 decomposed}}}
  %0, %1, %2 = nn.layer_norm %x, %g, %g eps 1.0e-5
      : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32> stats tensor<2x8xf32>, tensor<2x8xf32>
  // expected-remark @+1 {{([i,j,k],[i,j,k],[k],[i,j],[i,j])->([i,j,k]) {i=2, j=8, k=16 decomposed}}}
  %3 = nn.layer_norm_backward %x, %x, %g, %s, %s : tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32>
  // expected-remark @+1 {{([i,j,k],[i,j,k],[k],[i,j])->([i,j,k]) {i=2, j=8, k=16 decomposed}}}
  %4 = nn.rms_norm_backward %x, %x, %g, %s : tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf32>
  return
}

func.func @lookups(%x: tensor<2x8x16xf32>, %i: tensor<2x8xi32>, %s: tensor<2x8xf32>) {
  // Each device sums its tokens into the rows it holds.
  // expected-remark @+1 {{([i,j,k],[i,j])->([l,k]) {i=2 sum, j=8 sum, k=16, l=64 positional}; partial sum in {0}}}
  %0 = nn.embedding_backward %x, %i : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xf32>
  // expected-remark @+1 {{([i,j],[i,j,k],[i,j],[i,j],[i,j])->([i,j,k]) {i=2, j=8, k=16 positional}; partial sum in {0}}}
  %1 = nn.cross_entropy_backward %s, %x, %i, %s, %s ignore -100
      : tensor<2x8xf32>, tensor<2x8x16xf32>, tensor<2x8xi32>
  // expected-remark @+1 {{([i,j],[i,j])->([i,j,k]) {i=2, j=8, k=16 positional}; partial sum in {0}}}
  %2 = nn.take_along_axis_backward %s, %i : tensor<2x8xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  return
}

func.func @elementwise(%x: tensor<8x16xf32>, %s: tensor<f32>) {
  // expected-remark @+1 {{([i,j],[i,j])->([i,j]) {i=8, j=16}; partial sum in {0}}}
  %0 = nn.gelu_backward <erf> %x, %x : tensor<8x16xf32>
  // expected-remark @+1 {{([i,j],[i,j])->([i,j]) {i=8, j=16}; partial sum in {0}}}
  %1 = nn.silu_backward %x, %x : tensor<8x16xf32>
  // expected-remark @+1 {{([i,j],[i,j],[i,j],[i,j],[],[],[],[])->([i,j],[i,j],[i,j]) {i=8, j=16}}}
  %2:3 = nn.adamw %x, %x, %x, %x scale %s lr %s corrections %s, %s
      beta1 0.9 beta2 0.95 eps 1.0e-8 weight_decay 0.1
      : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<f32>
  // expected-remark @+1 {{([i,j],[i,j],[],[])->([i,j]) {i=8, j=16}}}
  %3 = nn.sgd %x, %x scale %s lr %s momentum 0.0 weight_decay 0.0
      : tensor<8x16xf32>, tensor<8x16xf32>, tensor<f32>
  return
}
