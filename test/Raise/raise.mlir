// Each group of ops becomes one op, in all of its spellings.
// RUN: tessera-opt %s --nn-raise --nn-fold-shapes --split-input-file | FileCheck %s

// CHECK-LABEL: @layer_norm(
// CHECK: nn.layer_norm %arg0, %arg1, %arg2 eps 1.0{{0*}}e-05
func.func @layer_norm(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<16xf32> {nn.param = "g"}, %arg2: tensor<16xf32> {nn.param = "b"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<9.99999974E-6> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = nn.reduce <sum> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %1 = arith.divf %0, %cst_0 : tensor<2x4xf32>
  %2 = nn.broadcast %1 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %3 = arith.subf %arg0, %2 : tensor<2x4x16xf32>
  %4 = arith.mulf %3, %3 : tensor<2x4x16xf32>
  %5 = nn.reduce <sum> %4 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %6 = arith.divf %5, %cst_0 : tensor<2x4xf32>
  %7 = arith.addf %6, %cst : tensor<2x4xf32>
  %8 = math.rsqrt %7 : tensor<2x4xf32>
  %9 = nn.broadcast %8 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %10 = arith.mulf %3, %9 : tensor<2x4x16xf32>
  %11 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %12 = arith.mulf %10, %11 : tensor<2x4x16xf32>
  %13 = nn.broadcast %arg2 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %14 = arith.addf %12, %13 : tensor<2x4x16xf32>
  return %14 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @layer_norm_of_flax(
// CHECK: nn.layer_norm %arg0, %arg1, %arg2 eps
func.func @layer_norm_of_flax(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<16xf32> {nn.param = "g"}, %arg2: tensor<16xf32> {nn.param = "b"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<9.99999997E-7> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<2x4xf32>
  %cst_1 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = nn.reduce <sum> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %1 = arith.divf %0, %cst_1 : tensor<2x4xf32>
  %2 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %3 = nn.reduce <sum> %2 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %4 = arith.divf %3, %cst_1 : tensor<2x4xf32>
  %5 = arith.mulf %1, %1 : tensor<2x4xf32>
  %6 = arith.subf %4, %5 : tensor<2x4xf32>
  %7 = arith.maximumf %6, %cst_0 : tensor<2x4xf32>
  %8 = nn.broadcast %1 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %9 = arith.subf %arg0, %8 : tensor<2x4x16xf32>
  %10 = arith.addf %7, %cst : tensor<2x4xf32>
  %11 = math.rsqrt %10 : tensor<2x4xf32>
  %12 = nn.broadcast %11 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %13 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %14 = arith.mulf %12, %13 : tensor<2x4x16xf32>
  %15 = arith.mulf %9, %14 : tensor<2x4x16xf32>
  %16 = nn.broadcast %arg2 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %17 = arith.addf %15, %16 : tensor<2x4x16xf32>
  return %17 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @layer_norm_without_beta(
// CHECK: nn.layer_norm %arg0, %arg1, %{{.+}} eps
func.func @layer_norm_without_beta(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<16xf32> {nn.param = "g"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<9.99999974E-6> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<2x4x16xf32>
  %0 = nn.reduce <sum> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %1 = arith.divf %0, %cst_0 : tensor<2x4xf32>
  %2 = nn.broadcast %1 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %3 = arith.subf %arg0, %2 : tensor<2x4x16xf32>
  %4 = arith.mulf %3, %3 : tensor<2x4x16xf32>
  %5 = nn.reduce <sum> %4 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %6 = arith.divf %5, %cst_0 : tensor<2x4xf32>
  %7 = arith.addf %6, %cst : tensor<2x4xf32>
  %8 = math.rsqrt %7 : tensor<2x4xf32>
  %9 = nn.broadcast %8 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %10 = arith.mulf %3, %9 : tensor<2x4x16xf32>
  %11 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %12 = arith.mulf %10, %11 : tensor<2x4x16xf32>
  %13 = arith.addf %12, %cst_1 : tensor<2x4x16xf32>
  return %13 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @rms_norm(
// CHECK: nn.rms_norm %arg0, %arg1 eps
func.func @rms_norm(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<16xf32> {nn.param = "g"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<9.99999997E-7> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %1 = nn.reduce <sum> %0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %2 = arith.divf %1, %cst_0 : tensor<2x4xf32>
  %3 = arith.addf %2, %cst : tensor<2x4xf32>
  %4 = math.sqrt %3 : tensor<2x4xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %6 = arith.divf %arg0, %5 : tensor<2x4x16xf32>
  %7 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %8 = arith.mulf %6, %7 : tensor<2x4x16xf32>
  return %8 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @rms_norm_in_f32(
// CHECK: nn.rms_norm %arg0, %arg1 eps
func.func @rms_norm_in_f32(%arg0: tensor<2x4x16xbf16> {nn.param = "x"}, %arg1: tensor<16xf32> {nn.param = "g"}) -> (tensor<2x4x16xbf16> {nn.output = "result"}) {
  %cst = arith.constant dense<9.99999997E-7> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = arith.extf %arg0 : tensor<2x4x16xbf16> to tensor<2x4x16xf32>
  %1 = arith.mulf %0, %0 : tensor<2x4x16xf32>
  %2 = nn.reduce <sum> %1 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %3 = arith.divf %2, %cst_0 : tensor<2x4xf32>
  %4 = arith.addf %3, %cst : tensor<2x4xf32>
  %5 = math.sqrt %4 : tensor<2x4xf32>
  %6 = nn.broadcast %5 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %7 = arith.divf %0, %6 : tensor<2x4x16xf32>
  %8 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %9 = arith.mulf %7, %8 : tensor<2x4x16xf32>
  %10 = arith.truncf %9 : tensor<2x4x16xf32> to tensor<2x4x16xbf16>
  return %10 : tensor<2x4x16xbf16>
}

// -----

// CHECK-LABEL: @rms_norm_one_plus(
// CHECK: nn.rms_norm %arg0, %{{.+}} eps
func.func @rms_norm_one_plus(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<16xf32> {nn.param = "g"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<9.99999997E-7> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %cst_1 = arith.constant dense<1.000000e+00> : tensor<16xf32>
  %0 = arith.addf %arg1, %cst_1 : tensor<16xf32>
  %1 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %2 = nn.reduce <sum> %1 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %3 = arith.divf %2, %cst_0 : tensor<2x4xf32>
  %4 = arith.addf %3, %cst : tensor<2x4xf32>
  %5 = math.sqrt %4 : tensor<2x4xf32>
  %6 = nn.broadcast %5 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %7 = arith.divf %arg0, %6 : tensor<2x4x16xf32>
  %8 = nn.broadcast %0 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %9 = arith.mulf %7, %8 : tensor<2x4x16xf32>
  return %9 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @gelu_tanh(
// CHECK: nn.gelu <tanh> %arg0
func.func @gelu_tanh(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<5.000000e-01> : tensor<2x4x16xf32>
  %cst_0 = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %cst_1 = arith.constant dense<0.797884583> : tensor<2x4x16xf32>
  %cst_2 = arith.constant dense<4.471500e-02> : tensor<2x4x16xf32>
  %0 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %1 = arith.mulf %0, %arg0 : tensor<2x4x16xf32>
  %2 = arith.mulf %1, %cst_2 : tensor<2x4x16xf32>
  %3 = arith.addf %arg0, %2 : tensor<2x4x16xf32>
  %4 = arith.mulf %3, %cst_1 : tensor<2x4x16xf32>
  %5 = math.tanh %4 : tensor<2x4x16xf32>
  %6 = arith.addf %5, %cst_0 : tensor<2x4x16xf32>
  %7 = arith.mulf %6, %cst : tensor<2x4x16xf32>
  %8 = arith.mulf %arg0, %7 : tensor<2x4x16xf32>
  return %8 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @gelu_erfc(
// CHECK: nn.gelu <erf> %arg0
func.func @gelu_erfc(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %cst_0 = arith.constant dense<0.707106769> : tensor<2x4x16xf32>
  %cst_1 = arith.constant dense<5.000000e-01> : tensor<2x4x16xf32>
  %0 = arith.mulf %arg0, %cst_1 : tensor<2x4x16xf32>
  %1 = arith.negf %arg0 : tensor<2x4x16xf32>
  %2 = arith.mulf %1, %cst_0 : tensor<2x4x16xf32>
  %3 = math.erf %2 : tensor<2x4x16xf32>
  %4 = arith.subf %cst, %3 : tensor<2x4x16xf32>
  %5 = arith.mulf %0, %4 : tensor<2x4x16xf32>
  return %5 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @gelu_erf(
// CHECK: nn.gelu <erf> %arg0
func.func @gelu_erf(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %cst_0 = arith.constant dense<1.41421354> : tensor<2x4x16xf32>
  %cst_1 = arith.constant dense<5.000000e-01> : tensor<2x4x16xf32>
  %0 = arith.mulf %arg0, %cst_1 : tensor<2x4x16xf32>
  %1 = arith.divf %arg0, %cst_0 : tensor<2x4x16xf32>
  %2 = math.erf %1 : tensor<2x4x16xf32>
  %3 = arith.addf %2, %cst : tensor<2x4x16xf32>
  %4 = arith.mulf %0, %3 : tensor<2x4x16xf32>
  return %4 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @silu(
// CHECK: nn.silu %arg0
func.func @silu(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %0 = arith.negf %arg0 : tensor<2x4x16xf32>
  %1 = math.exp %0 : tensor<2x4x16xf32>
  %2 = arith.addf %1, %cst : tensor<2x4x16xf32>
  %3 = arith.divf %cst, %2 : tensor<2x4x16xf32>
  %4 = arith.mulf %arg0, %3 : tensor<2x4x16xf32>
  return %4 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @silu_by_hand(
// CHECK: nn.silu %arg0
func.func @silu_by_hand(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %0 = arith.negf %arg0 : tensor<2x4x16xf32>
  %1 = math.exp %0 : tensor<2x4x16xf32>
  %2 = arith.addf %1, %cst : tensor<2x4x16xf32>
  %3 = arith.divf %arg0, %2 : tensor<2x4x16xf32>
  return %3 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @softmax(
// CHECK: nn.softmax %arg0 dim 2
func.func @softmax(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %0 = nn.reduce <max> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %1 = nn.broadcast %0 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %2 = arith.subf %arg0, %1 : tensor<2x4x16xf32>
  %3 = math.exp %2 : tensor<2x4x16xf32>
  %4 = nn.reduce <sum> %3 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %6 = arith.divf %3, %5 : tensor<2x4x16xf32>
  return %6 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @softmax_without_maximum(
// CHECK: nn.softmax %arg0 dim 2
func.func @softmax_without_maximum(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %0 = math.exp %arg0 : tensor<2x4x16xf32>
  %1 = nn.reduce <sum> %0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %2 = nn.broadcast %1 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %3 = arith.divf %0, %2 : tensor<2x4x16xf32>
  return %3 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @cross_entropy(
// CHECK: nn.cross_entropy %arg0, %arg1 ignore -100
func.func @cross_entropy(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<2x4xi32> {nn.input = "l", nn.vocab = 16 : i64}) -> (tensor<2x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<0.000000e+00> : tensor<2x4xf32>
  %0 = nn.reduce <max> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %1 = math.isfinite %0 : tensor<2x4xf32>
  %2 = arith.select %1, %0, %cst : tensor<2x4xi1>, tensor<2x4xf32>
  %3 = nn.broadcast %2 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %4 = arith.subf %arg0, %3 : tensor<2x4x16xf32>
  %5 = math.exp %4 : tensor<2x4x16xf32>
  %6 = nn.reduce <sum> %5 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %7 = math.absf %6 : tensor<2x4xf32>
  %8 = math.log %7 : tensor<2x4xf32>
  %9 = arith.addf %8, %2 : tensor<2x4xf32>
  %10 = nn.take_along_axis %arg0, %arg1 : tensor<2x4x16xf32>, tensor<2x4xi32> -> tensor<2x4xf32>
  %11 = arith.subf %9, %10 : tensor<2x4xf32>
  return %11 : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @log_probability(
// CHECK: nn.cross_entropy %arg0, %arg1 ignore -100
func.func @log_probability(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<2x4xi32> {nn.input = "l", nn.vocab = 16 : i64}) -> (tensor<2x4xf32> {nn.output = "result"}) {
  %0 = nn.reduce <max> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %1 = nn.broadcast %0 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %2 = arith.subf %arg0, %1 : tensor<2x4x16xf32>
  %3 = math.exp %2 : tensor<2x4x16xf32>
  %4 = nn.reduce <sum> %3 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %5 = math.log %4 : tensor<2x4xf32>
  %6 = nn.broadcast %5 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %7 = arith.subf %2, %6 : tensor<2x4x16xf32>
  %8 = nn.take_along_axis %7, %arg1 : tensor<2x4x16xf32>, tensor<2x4xi32> -> tensor<2x4xf32>
  return %8 : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @attention(
// CHECK: nn.attention scale 5.0{{0*}}e-01
func.func @attention(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<2.000000e+00> : tensor<2x3x8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = arith.divf %0, %cst : tensor<2x3x8x8xf32>
  %2 = nn.reduce <max> %1 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %3 = nn.broadcast %2 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %4 = arith.subf %1, %3 : tensor<2x3x8x8xf32>
  %5 = math.exp %4 : tensor<2x3x8x8xf32>
  %6 = nn.reduce <sum> %5 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %7 = nn.broadcast %6 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %8 = arith.divf %5, %7 : tensor<2x3x8x8xf32>
  %9 = nn.einsum "acbd,abec->aebd" %arg2, %8 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %9 : tensor<2x8x3x4xf32>
}

// -----

// CHECK-LABEL: @attention_causal(
// CHECK: nn.attention causal scale 5.0{{0*}}e-01
func.func @attention_causal(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32>
  %cst_0 = arith.constant dense<2.000000e+00> : tensor<2x3x8x8xf32>
  %cst_1 = arith.constant dense<[[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true]]> : tensor<8x8xi1>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = arith.divf %0, %cst_0 : tensor<2x3x8x8xf32>
  %2 = nn.broadcast %cst_1 dims [2, 3] : tensor<8x8xi1> -> tensor<2x3x8x8xi1>
  %3 = arith.select %2, %1, %cst : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %4 = nn.reduce <max> %3 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %5 = nn.broadcast %4 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %6 = arith.subf %3, %5 : tensor<2x3x8x8xf32>
  %7 = math.exp %6 : tensor<2x3x8x8xf32>
  %8 = nn.reduce <sum> %7 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %9 = nn.broadcast %8 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %10 = arith.divf %7, %9 : tensor<2x3x8x8xf32>
  %11 = nn.einsum "acbd,abec->aebd" %arg2, %10 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %11 : tensor<2x8x3x4xf32>
}

// -----

// Queries and keys that are scaled before the matmul; keys and values that
// groups of heads share.
// CHECK-LABEL: @attention_shared_heads(
// CHECK: %[[Q:.+]] = tensor.expand_shape %arg0 {{\[\[}}0], [1], [2, 3], [4]] output_shape [2, 8, 2, 2, 4]
// CHECK-NEXT: %[[Y:.+]] = nn.attention scale 5.0{{0*}}e-01 %[[Q]], %arg1, %arg2 : tensor<2x8x2x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>
// CHECK-NEXT: %[[R:.+]] = tensor.collapse_shape %[[Y]] {{\[\[}}0], [1], [2, 3], [4]]
// CHECK-NEXT: return %[[R]]
func.func @attention_shared_heads(%arg0: tensor<2x8x4x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x2x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x2x4xf32> {nn.param = "v"}) -> (tensor<2x8x4x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<2.500000e-01> : tensor<2x8x4x4xf32>
  %cst_0 = arith.constant dense<2.000000e+00> : tensor<2x8x4x4xf32>
  %0 = nn.broadcast %arg1 dims [0, 1, 2, 4] : tensor<2x8x2x4xf32> -> tensor<2x8x2x2x4xf32>
  %1 = tensor.collapse_shape %0 [[0], [1], [2, 3], [4]] : tensor<2x8x2x2x4xf32> into tensor<2x8x4x4xf32>
  %2 = nn.broadcast %arg2 dims [0, 1, 2, 4] : tensor<2x8x2x4xf32> -> tensor<2x8x2x2x4xf32>
  %3 = tensor.collapse_shape %2 [[0], [1], [2, 3], [4]] : tensor<2x8x2x2x4xf32> into tensor<2x8x4x4xf32>
  %4 = arith.mulf %arg0, %cst : tensor<2x8x4x4xf32>
  %5 = arith.mulf %cst_0, %1 : tensor<2x8x4x4xf32>
  %6 = nn.einsum "adbc,aebc->abde" %4, %5 : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32> -> tensor<2x4x8x8xf32>
  %7 = nn.softmax %6 dim 3 : tensor<2x4x8x8xf32>
  %8 = nn.einsum "acbd,abec->aebd" %3, %7 : tensor<2x8x4x4xf32>, tensor<2x4x8x8xf32> -> tensor<2x8x4x4xf32>
  return %8 : tensor<2x8x4x4xf32>
}

// -----

// CHECK-LABEL: @attention_hidden(
// CHECK: nn.attention causal scale 5.0{{0*}}e-01
func.func @attention_hidden(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<-1.000000e+09> : tensor<2x3x8x8xf32>
  %cst_0 = arith.constant dense<[[false, true, true, true, true, true, true, true], [false, false, true, true, true, true, true, true], [false, false, false, true, true, true, true, true], [false, false, false, false, true, true, true, true], [false, false, false, false, false, true, true, true], [false, false, false, false, false, false, true, true], [false, false, false, false, false, false, false, true], [false, false, false, false, false, false, false, false]]> : tensor<8x8xi1>
  %cst_1 = arith.constant dense<2.000000e+00> : tensor<2x3x8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = arith.divf %0, %cst_1 : tensor<2x3x8x8xf32>
  %2 = nn.broadcast %cst_0 dims [2, 3] : tensor<8x8xi1> -> tensor<2x3x8x8xi1>
  %3 = arith.select %2, %cst, %1 : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %4 = nn.reduce <max> %3 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %5 = nn.broadcast %4 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %6 = arith.subf %3, %5 : tensor<2x3x8x8xf32>
  %7 = math.exp %6 : tensor<2x3x8x8xf32>
  %8 = nn.reduce <sum> %7 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %9 = nn.broadcast %8 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %10 = arith.divf %7, %9 : tensor<2x3x8x8xf32>
  %11 = nn.einsum "acbd,abec->aebd" %arg2, %10 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %11 : tensor<2x8x3x4xf32>
}

// -----

// CHECK-LABEL: @attention_added(
// CHECK: nn.attention causal scale 5.0{{0*}}e-01
func.func @attention_added(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<[[0.000000e+00, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.000000e+00, 0.000000e+00, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+09, -1.000000e+09], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+09], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<8x8xf32>
  %cst_0 = arith.constant dense<2.000000e+00> : tensor<2x3x8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = arith.divf %0, %cst_0 : tensor<2x3x8x8xf32>
  %2 = nn.broadcast %cst dims [2, 3] : tensor<8x8xf32> -> tensor<2x3x8x8xf32>
  %3 = arith.addf %1, %2 : tensor<2x3x8x8xf32>
  %4 = nn.reduce <max> %3 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %5 = nn.broadcast %4 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %6 = arith.subf %3, %5 : tensor<2x3x8x8xf32>
  %7 = math.exp %6 : tensor<2x3x8x8xf32>
  %8 = nn.reduce <sum> %7 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %9 = nn.broadcast %8 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %10 = arith.divf %7, %9 : tensor<2x3x8x8xf32>
  %11 = nn.einsum "acbd,abec->aebd" %arg2, %10 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %11 : tensor<2x8x3x4xf32>
}

// -----

// CHECK-LABEL: @attention_window(
// CHECK: nn.attention causal window 3 scale 5.0{{0*}}e-01
func.func @attention_window(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<0xFF800000> : tensor<2x3x8x8xf32>
  %cst_0 = arith.constant dense<2.000000e+00> : tensor<2x3x8x8xf32>
  %cst_1 = arith.constant dense<[[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [false, true, true, true, false, false, false, false], [false, false, true, true, true, false, false, false], [false, false, false, true, true, true, false, false], [false, false, false, false, true, true, true, false], [false, false, false, false, false, true, true, true]]> : tensor<8x8xi1>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = arith.divf %0, %cst_0 : tensor<2x3x8x8xf32>
  %2 = nn.broadcast %cst_1 dims [2, 3] : tensor<8x8xi1> -> tensor<2x3x8x8xi1>
  %3 = arith.select %2, %1, %cst : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %4 = nn.reduce <max> %3 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %5 = nn.broadcast %4 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %6 = arith.subf %3, %5 : tensor<2x3x8x8xf32>
  %7 = math.exp %6 : tensor<2x3x8x8xf32>
  %8 = nn.reduce <sum> %7 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %9 = nn.broadcast %8 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %10 = arith.divf %7, %9 : tensor<2x3x8x8xf32>
  %11 = nn.einsum "acbd,abec->aebd" %arg2, %10 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %11 : tensor<2x8x3x4xf32>
}

// -----

// A maximum with the lowest number of the type changes no score.
// CHECK-LABEL: @attention_above_lowest(
// CHECK-NOT: arith.maximumf
// CHECK: nn.attention causal scale 1.0
func.func @attention_above_lowest(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<[[0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, 0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, 0.0, 0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, 0.0, 0.0, 0.0, -3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -3.40282347E+38], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<8x8xf32>
  %cst_0 = arith.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = nn.broadcast %cst dims [2, 3] : tensor<8x8xf32> -> tensor<2x3x8x8xf32>
  %2 = arith.addf %0, %1 : tensor<2x3x8x8xf32>
  %3 = arith.maximumf %2, %cst_0 : tensor<2x3x8x8xf32>
  %4 = nn.softmax %3 dim 3 : tensor<2x3x8x8xf32>
  %5 = nn.einsum "acbd,abec->aebd" %arg2, %4 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %5 : tensor<2x8x3x4xf32>
}

// -----

// CHECK-LABEL: @attention_above_lowest_f16(
// CHECK-NOT: arith.maximumf
// CHECK: nn.attention causal scale 1.0
func.func @attention_above_lowest_f16(%arg0: tensor<2x8x3x4xf16> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf16> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf16> {nn.param = "v"}) -> (tensor<2x8x3x4xf16> {nn.output = "result"}) {
  %cst = arith.constant dense<[[0.0, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04], [0.0, 0.0, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04], [0.0, 0.0, 0.0, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04], [0.0, 0.0, 0.0, 0.0, -6.550400e+04, -6.550400e+04, -6.550400e+04, -6.550400e+04], [0.0, 0.0, 0.0, 0.0, 0.0, -6.550400e+04, -6.550400e+04, -6.550400e+04], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -6.550400e+04, -6.550400e+04], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -6.550400e+04], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<8x8xf16>
  %cst_0 = arith.constant dense<-6.550400e+04> : tensor<2x3x8x8xf16>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf16>, tensor<2x8x3x4xf16> -> tensor<2x3x8x8xf16>
  %1 = nn.broadcast %cst dims [2, 3] : tensor<8x8xf16> -> tensor<2x3x8x8xf16>
  %2 = arith.addf %0, %1 : tensor<2x3x8x8xf16>
  %3 = arith.maximumf %2, %cst_0 : tensor<2x3x8x8xf16>
  %4 = nn.softmax %3 dim 3 : tensor<2x3x8x8xf16>
  %5 = nn.einsum "acbd,abec->aebd" %arg2, %4 : tensor<2x8x3x4xf16>, tensor<2x3x8x8xf16> -> tensor<2x8x3x4xf16>
  return %5 : tensor<2x8x3x4xf16>
}

// -----

// Queries that are scaled before their heads are split.
// CHECK-LABEL: @attention_scaled_queries(
// CHECK: %[[Q:.+]] = tensor.expand_shape %arg0
// CHECK-NOT: arith.mulf
// CHECK: nn.attention scale 2.5{{0*}}e-01
func.func @attention_scaled_queries(%arg0: tensor<2x8x12xf32> {nn.input = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<0.25> : tensor<2x8x12xf32>
  %0 = arith.mulf %arg0, %cst : tensor<2x8x12xf32>
  %1 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [2, 8, 3, 4] : tensor<2x8x12xf32> into tensor<2x8x3x4xf32>
  %2 = nn.einsum "adbc,aebc->abde" %1, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %3 = nn.softmax %2 dim 3 : tensor<2x3x8x8xf32>
  %4 = nn.einsum "acbd,abec->aebd" %arg2, %3 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %4 : tensor<2x8x3x4xf32>
}

// -----

// Queries that are divided, as flax does.
// CHECK-LABEL: @attention_divided_queries(
// CHECK: %[[Q:.+]] = tensor.expand_shape %arg0
// CHECK-NOT: arith.divf
// CHECK: nn.attention scale 2.5{{0*}}e-01
func.func @attention_divided_queries(%arg0: tensor<2x8x12xf32> {nn.input = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<4.0> : tensor<2x8x12xf32>
  %0 = arith.divf %arg0, %cst : tensor<2x8x12xf32>
  %1 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [2, 8, 3, 4] : tensor<2x8x12xf32> into tensor<2x8x3x4xf32>
  %2 = nn.einsum "adbc,aebc->abde" %1, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %3 = nn.softmax %2 dim 3 : tensor<2x3x8x8xf32>
  %4 = nn.einsum "acbd,abec->aebd" %arg2, %3 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %4 : tensor<2x8x3x4xf32>
}

// -----

// One mask hides later keys, another one those before a window.
// CHECK-LABEL: @attention_two_masks(
// CHECK: nn.attention causal window 3 scale 1.0
func.func @attention_two_masks(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32>
  %cst_0 = arith.constant dense<[[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true]]> : tensor<8x8xi1>
  %cst_1 = arith.constant dense<[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0xFF800000, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0xFF800000, 0xFF800000, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0], [0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0.0, 0.0, 0.0, 0.0], [0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0.0, 0.0, 0.0]]> : tensor<8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = nn.broadcast %cst_0 dims [2, 3] : tensor<8x8xi1> -> tensor<2x3x8x8xi1>
  %2 = arith.select %1, %0, %cst : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %3 = nn.broadcast %cst_1 dims [2, 3] : tensor<8x8xf32> -> tensor<2x3x8x8xf32>
  %4 = arith.addf %2, %3 : tensor<2x3x8x8xf32>
  %5 = nn.softmax %4 dim 3 : tensor<2x3x8x8xf32>
  %6 = nn.einsum "acbd,abec->aebd" %arg2, %5 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %6 : tensor<2x8x3x4xf32>
}
