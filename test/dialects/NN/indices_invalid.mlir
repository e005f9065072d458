// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @scatter_c1(%x: tensor<64xf32>, %i: tensor<8xi32>, %u: tensor<8x1xf32>) {
  // expected-error@+1 {{(C1) expects x of rank 2 but got 'tensor<64xf32>'}}
  %0 = nn.scatter <add> %x, %i, %u : tensor<64xf32>, tensor<8xi32>, tensor<8x1xf32>
  return
}

// -----

func.func @scatter_c2(%x: tensor<64x16xf32>, %i: tensor<2x7xi32>, %u: tensor<2x8x16xf32>) {
  // expected-error@+1 {{(C2) expects updates of shape [2, 7, 16] but got 'tensor<2x8x16xf32>'}}
  %0 = nn.scatter <set> %x, %i, %u : tensor<64x16xf32>, tensor<2x7xi32>, tensor<2x8x16xf32>
  return
}

// -----

func.func @scatter_c3(%x: tensor<64x16xf32>, %i: tensor<8xi32>, %u: tensor<8x16xbf16>) {
  // expected-error@+1 {{(C3) expects one element type but got}}
  %0 = nn.scatter <add> %x, %i, %u : tensor<64x16xf32>, tensor<8xi32>, tensor<8x16xbf16>
  return
}

// -----

func.func @scatter_c4(%x: tensor<64x16xf32>, %i: tensor<8xi32>, %u: tensor<8x16xf32>) {
  // expected-error@+1 {{(C4) expects rows of at least 0 but got -1}}
  %0 = nn.scatter <add> %x, %i, %u rows -1 : tensor<64x16xf32>, tensor<8xi32>, tensor<8x16xf32>
  return
}
