// RUN: tessera-opt %s --dist-print-sharding-rules -verify-diagnostics -o /dev/null

func.func @einsum(%x: tensor<2x8x16xf32>, %w: tensor<16x4x6xf32>, %v: tensor<2x8x16xf32>) {
  // expected-remark @+1 {{([b,s,d],[d,h,k])->([b,s,h,k]) {b=2, s=8, d=16 sum, h=4, k=6}; partial sum in {0} {1}}}
  %0 = nn.einsum "bsd,dhk->bshk" %x, %w
      : tensor<2x8x16xf32>, tensor<16x4x6xf32> -> tensor<2x8x4x6xf32>
  // A batch factor, and one that contracts two dimensions.
  // expected-remark @+1 {{([b,s,d],[b,s,d])->([b]) {b=2, s=8 sum, d=16 sum}; partial sum in {0} {1}}}
  %1 = nn.einsum "bsd,bsd->b" %x, %v
      : tensor<2x8x16xf32>, tensor<2x8x16xf32> -> tensor<2xf32>
  return
}

func.func @attention(%q: tensor<2x8x4x3x6xf32>, %k: tensor<2x9x4x6xf32>, %v: tensor<2x9x4x5xf32>, %i: index) {
  // expected-remark @+1 {{([i,j,k,l,m],[i,n,k,m],[i,n,k,o])->([i,j,k,l,o]) {i=2, j=8, k=4, l=3, m=6 decomposed, n=9 decomposed, o=5}; partial sum in {2}}}
  %0 = nn.attention scale 0.125 %q, %k, %v
      : tensor<2x8x4x3x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x5xf32> -> tensor<2x8x4x3x5xf32>
  // The query's position matters under a causal mask.
  // expected-remark @+1 {{([i,j,k,l,m],[i,n,k,m],[i,n,k,o],[])->([i,j,k,l,o]) {i=2, j=8 positional, k=4, l=3, m=6 decomposed, n=9 decomposed positional, o=5}; partial sum in {2}}}
  %1 = nn.attention causal scale 0.125 %q, %k, %v q_offset %i
      : tensor<2x8x4x3x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x5xf32> -> tensor<2x8x4x3x5xf32>
  return
}

// Starts of documents are sharded as the queries are.
func.func @documents(%q: tensor<2x8x4x3x6xf32>, %k: tensor<2x9x4x6xf32>, %s: tensor<2x8xi32>) {
  // expected-remark @+1 {{([i,j,k,l,m],[i,n,k,m],[i,n,k,o],[i,j])->([i,j,k,l,o]) {i=2, j=8 positional, k=4, l=3, m=6 decomposed, n=9 decomposed positional, o=6}; partial sum in {2}}}
  %0 = nn.attention scale 0.125 %q, %k, %k starts %s : tensor<2x8xi32>
      : tensor<2x8x4x3x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x6xf32> -> tensor<2x8x4x3x6xf32>
  return
}

func.func @rows(%x: tensor<2x8x16xf32>, %g: tensor<16xf32>) {
  // expected-remark @+1 {{([i,j,k],[k],[k])->([i,j,k]) {i=2, j=8, k=16 decomposed}}}
  %0 = nn.layer_norm %x, %g, %g eps 1.0e-5 : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>
  // expected-remark @+1 {{([i,j,k],[k])->([i,j,k]) {i=2, j=8, k=16 decomposed}}}
  %1 = nn.rms_norm %x, %g eps 1.0e-5 : tensor<2x8x16xf32>, tensor<16xf32>
  // expected-remark @+1 {{([i,j,k])->([i,j,k]) {i=2, j=8 positional, k=16 replicated}; partial sum in {0}}}
  %2 = nn.rope %x dim 1 theta 1.0e4 : tensor<2x8x16xf32>
  // expected-remark @+1 {{([i,j,k])->([i,j,k]) {i=2, j=8 positional, k=16 replicated}; partial sum in {0}}}
  %given = nn.rope %x dim 1 frequencies [1.0] width 2 : tensor<2x8x16xf32>
  // expected-remark @+1 {{([i,j,k])->([i,j,k]) {i=2, j=8, k=16}; partial sum in {0}; partial max in {0}; partial min in {0}}}
  %stopped = nn.stop_gradient %x : tensor<2x8x16xf32>
  // expected-remark @+1 {{([i,j,k])->([i,j,k]) {i=2, j=8 decomposed, k=16}}}
  %3 = nn.softmax %x dim 1 : tensor<2x8x16xf32>
  // expected-remark @+1 {{([i,j,k])->([i,j,k]) {i=2, j=8, k=16}}}
  %4 = nn.gelu <tanh> %x : tensor<2x8x16xf32>
  // expected-remark @+1 {{([i,j,k])->([i,j,k]) {i=2, j=8, k=16}}}
  %5 = nn.silu %x : tensor<2x8x16xf32>
  return
}

func.func @convolution(%x: tensor<2x4x3x8xf32>, %w: tensor<4x5x3x2xf32>) {
  // expected-remark @+1 {{([i,j,k,m],[j,l,k,n])->([i,j,l,o]) {i=2, j=4, k=3 sum, l=5, m=8 replicated, n=2 replicated, o=7 replicated}; partial sum in {0} {1}}}
  %0 = nn.convolution %x, %w strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x4x3x8xf32>, tensor<4x5x3x2xf32> -> tensor<2x4x5x7xf32>
  return
}

func.func @lookups(%t: tensor<64x16xf32>, %ids: tensor<2x8xi32>, %x: tensor<2x8x64xf32>) {
  // Lookups are sums over rows: a device gives zeros for rows it does not have.
  // expected-remark @+1 {{([l,k],[i,j])->([i,j,k]) {i=2, j=8, k=16, l=64 sum positional}}}
  %0 = nn.embedding %t, %ids : tensor<64x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  // expected-remark @+1 {{([i,j,k],[i,j])->([i,j]) {i=2, j=8, k=64 decomposed}}}
  %1 = nn.cross_entropy %x, %ids ignore -100 : tensor<2x8x64xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
  // expected-remark @+1 {{([i,j,k],[i,j])->([i,j]) {i=2, j=8, k=64 sum positional}; partial sum in {0}}}
  %2 = nn.take_along_axis %x, %ids : tensor<2x8x64xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
  return
}

func.func @shapes(%x: tensor<8x16xf32>) {
  // expected-remark @+1 {{([i,j])->([i]) {i=8, j=16 max}; partial max in {0}}}
  %0 = nn.reduce <max> %x dims [1] : tensor<8x16xf32> -> tensor<8xf32>
  // expected-remark @+1 {{([i,j])->([]) {i=8 sum, j=16 sum}; partial sum in {0}}}
  %1 = nn.reduce <sum> %x dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
  // expected-remark @+1 {{([i,j])->([j],[j]) {i=8 decomposed, j=16}}}
  %value, %index = nn.arg_reduce <min> %x dim 0 : tensor<8x16xf32> -> tensor<16xf32>, tensor<16xi32>
  // expected-remark @+1 {{([i])->([i,j]) {i=8, j=16}; partial sum in {0}; partial max in {0}; partial min in {0}}}
  %2 = nn.broadcast %0 dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  // expected-remark @+1 {{([i,j])->([j,i]) {i=8, j=16}; partial sum in {0}; partial max in {0}; partial min in {0}}}
  %3 = nn.transpose %x [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  // expected-remark @+1 {{()->([i]) {i=8 positional}}}
  %4 = nn.iota : tensor<8xi32>
  // expected-remark @+1 {{([i,j])->([i,j]) {i=8 positional, j=16}}}
  %5 = nn.mask_padding %x dim 0 size 7 value 0.0 : f32 : tensor<8x16xf32>
  return
}

// The scale is one number on each device; products do not reduce it.
func.func @quantized(%x: tensor<2x16xbf16>, %w: tensor<16x8xf8E4M3FN>, %amax: tensor<bf16>) {
  // expected-remark @+1 {{([i,j],[])->([i,j],[]) {i=2, j=16}}}
  %q, %s = nn.quantize %x by %amax : tensor<2x16xbf16>, tensor<bf16> -> tensor<2x16xf8E4M3FN>
  // expected-remark @+1 {{([b,d],[d,f],[],[])->([b,f]) {b=2, d=16 sum, f=8}}}
  %0 = nn.einsum "bd,df->bf" %q, %w scales %s, %s
      : tensor<2x16xf8E4M3FN>, tensor<16x8xf8E4M3FN> -> tensor<2x8xbf16>
  return
}
