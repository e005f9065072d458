// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// rt.matmul_fused
func.func @C2_outside(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C2) expects a layout within the lhs of 128 elements but it reaches 240}}
  %0 = rt.matmul_fused <bias> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 32, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> bias %v : tensor<4xf32> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C4_init(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C4) expects an init of 'tensor<8x4xf32>' but got 'tensor<4xf32>'}}
  %0 = rt.matmul_fused <none> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> init %v : tensor<4xf32> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C5_batch(%x: tensor<2x8x16xf32>, %w: tensor<16x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C5) expects one batch with rows of 4 elements but got 2 with rows 4 apart}}
  %0 = rt.matmul_fused <bias> %x, %w <batch = 2, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 128, stride_b = 0, stride_c = 32, trans_a = 0, trans_b = 0> bias %v : tensor<4xf32> : tensor<2x8x16xf32>, tensor<16x4xf32> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @C6_none(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C6) expects what none has but got a bias, 0 extras}}
  %0 = rt.matmul_fused <none> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> bias %v : tensor<4xf32> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C6_bias(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C6) expects what bias has but got 0 extras}}
  %0 = rt.matmul_fused <bias> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C6_gelu(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C6) expects what gelu has but got an argument, 0 extras}}
  %0 = rt.matmul_fused <gelu> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> argument %r : tensor<8x4xf32> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C6_gradient(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C6) expects what gelu_gradient has but got an init, an argument, 0 extras}}
  %0 = rt.matmul_fused <gelu_gradient> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> init %r : tensor<8x4xf32> argument %r : tensor<8x4xf32> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C6_sums(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C6) expects what rhs_sums has but got 0 extras}}
  %0 = rt.matmul_fused <rhs_sums> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C7_bias(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C7) expects 4 elements of 'f32' or f32 but got 'tensor<8x4xf32>'}}
  %0 = rt.matmul_fused <bias> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> bias %r : tensor<8x4xf32> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C7_argument(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C7) expects GELU's argument of 'tensor<8x4xf32>' but got 'tensor<4xf32>'}}
  %0 = rt.matmul_fused <gelu_gradient> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> argument %v : tensor<4xf32> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C7_extra(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C7) expects GELU's argument of 'tensor<8x4xf32>' but got 'tensor<8x4xbf16>'}}
  %0:2 = rt.matmul_fused <gelu> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32> extra tensor<8x4xbf16>
  return
}

// -----

func.func @C7_sums(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C7) expects 4 elements of 'f32' or f32 but got 'tensor<8xf32>'}}
  %0:2 = rt.matmul_fused <rhs_sums> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32> extra tensor<8xf32>
  return
}

// -----

func.func @C8_lhs(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %r: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{(C8) expects the lhs to be stored with the contracted dimension first}}
  %0:2 = rt.matmul_fused <lhs_sums> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32> extra tensor<8xf32>
  return
}

// -----

// rt.call_matmul_fused
func.func @call_offsets() {
  // expected-error @+1 {{(C1) expects three offsets but got 2}}
  rt.call_matmul_fused <none> <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> f32 -> f32 at [0, 64]
  return
}
