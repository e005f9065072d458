// A group that is nearly an op stays; an op inside of it is raised.
// RUN: tessera-opt %s --nn-raise --split-input-file | FileCheck %s

// CHECK-LABEL: @quick_gelu(
// CHECK-NOT: nn.gelu
// CHECK-NOT: nn.silu
func.func @quick_gelu(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %cst_0 = arith.constant dense<1.702000e+00> : tensor<2x4x16xf32>
  %0 = arith.mulf %arg0, %cst_0 : tensor<2x4x16xf32>
  %1 = arith.negf %0 : tensor<2x4x16xf32>
  %2 = math.exp %1 : tensor<2x4x16xf32>
  %3 = arith.addf %2, %cst : tensor<2x4x16xf32>
  %4 = arith.divf %cst, %3 : tensor<2x4x16xf32>
  %5 = arith.mulf %arg0, %4 : tensor<2x4x16xf32>
  return %5 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @gelu_of_clamp(
// CHECK: arith.minimumf
// CHECK: nn.gelu <tanh> %{{[0-9]+}}
func.func @gelu_of_clamp(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<5.000000e-01> : tensor<2x4x16xf32>
  %cst_0 = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %cst_1 = arith.constant dense<0.797884583> : tensor<2x4x16xf32>
  %cst_2 = arith.constant dense<4.471500e-02> : tensor<2x4x16xf32>
  %cst_3 = arith.constant dense<1.000000e+02> : tensor<2x4x16xf32>
  %cst_4 = arith.constant dense<-1.000000e+02> : tensor<2x4x16xf32>
  %0 = arith.maximumf %arg0, %cst_4 : tensor<2x4x16xf32>
  %1 = arith.minimumf %0, %cst_3 : tensor<2x4x16xf32>
  %2 = arith.mulf %1, %1 : tensor<2x4x16xf32>
  %3 = arith.mulf %2, %1 : tensor<2x4x16xf32>
  %4 = arith.mulf %3, %cst_2 : tensor<2x4x16xf32>
  %5 = arith.addf %1, %4 : tensor<2x4x16xf32>
  %6 = arith.mulf %5, %cst_1 : tensor<2x4x16xf32>
  %7 = math.tanh %6 : tensor<2x4x16xf32>
  %8 = arith.addf %7, %cst_0 : tensor<2x4x16xf32>
  %9 = arith.mulf %8, %cst : tensor<2x4x16xf32>
  %10 = arith.mulf %1, %9 : tensor<2x4x16xf32>
  return %10 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @silu_of_clamp(
// CHECK: arith.minimumf
// CHECK: nn.silu %{{[0-9]+}}
func.func @silu_of_clamp(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %cst_0 = arith.constant dense<1.000000e+02> : tensor<2x4x16xf32>
  %cst_1 = arith.constant dense<-1.000000e+02> : tensor<2x4x16xf32>
  %0 = arith.maximumf %arg0, %cst_1 : tensor<2x4x16xf32>
  %1 = arith.minimumf %0, %cst_0 : tensor<2x4x16xf32>
  %2 = arith.negf %1 : tensor<2x4x16xf32>
  %3 = math.exp %2 : tensor<2x4x16xf32>
  %4 = arith.addf %3, %cst : tensor<2x4x16xf32>
  %5 = arith.divf %cst, %4 : tensor<2x4x16xf32>
  %6 = arith.mulf %1, %5 : tensor<2x4x16xf32>
  return %6 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @softmax_of_clamp(
// CHECK: arith.minimumf
// CHECK: nn.softmax %{{[0-9]+}}
func.func @softmax_of_clamp(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e+02> : tensor<2x4x16xf32>
  %cst_0 = arith.constant dense<-1.000000e+02> : tensor<2x4x16xf32>
  %0 = arith.maximumf %arg0, %cst_0 : tensor<2x4x16xf32>
  %1 = arith.minimumf %0, %cst : tensor<2x4x16xf32>
  %2 = nn.reduce <max> %1 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %3 = nn.broadcast %2 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %4 = arith.subf %1, %3 : tensor<2x4x16xf32>
  %5 = math.exp %4 : tensor<2x4x16xf32>
  %6 = nn.reduce <sum> %5 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %7 = nn.broadcast %6 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %8 = arith.divf %5, %7 : tensor<2x4x16xf32>
  return %8 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @gelu_or_zero(
// CHECK: nn.gelu <tanh>
// CHECK: arith.select
func.func @gelu_or_zero(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<0.000000e+00> : tensor<2x4x16xf32>
  %cst_0 = arith.constant dense<5.000000e-01> : tensor<2x4x16xf32>
  %cst_1 = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %cst_2 = arith.constant dense<0.797884583> : tensor<2x4x16xf32>
  %cst_3 = arith.constant dense<4.471500e-02> : tensor<2x4x16xf32>
  %cst_4 = arith.constant dense<1.000000e+03> : tensor<2x4x16xf32>
  %0 = arith.cmpf ogt, %arg0, %cst_4 : tensor<2x4x16xf32>
  %1 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %2 = arith.mulf %1, %arg0 : tensor<2x4x16xf32>
  %3 = arith.mulf %2, %cst_3 : tensor<2x4x16xf32>
  %4 = arith.addf %arg0, %3 : tensor<2x4x16xf32>
  %5 = arith.mulf %4, %cst_2 : tensor<2x4x16xf32>
  %6 = math.tanh %5 : tensor<2x4x16xf32>
  %7 = arith.addf %6, %cst_1 : tensor<2x4x16xf32>
  %8 = arith.mulf %7, %cst_0 : tensor<2x4x16xf32>
  %9 = arith.mulf %arg0, %8 : tensor<2x4x16xf32>
  %10 = arith.select %0, %cst, %9 : tensor<2x4x16xi1>, tensor<2x4x16xf32>
  return %10 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @norm_in_f8(
// CHECK: arith.truncf
// CHECK: nn.rms_norm %{{[0-9]+}}
func.func @norm_in_f8(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<16xf32> {nn.param = "g"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<9.99999997E-7> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = arith.truncf %arg0 : tensor<2x4x16xf32> to tensor<2x4x16xf8E4M3FN>
  %1 = arith.extf %0 : tensor<2x4x16xf8E4M3FN> to tensor<2x4x16xf32>
  %2 = arith.mulf %1, %1 : tensor<2x4x16xf32>
  %3 = nn.reduce <sum> %2 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %4 = arith.divf %3, %cst_0 : tensor<2x4xf32>
  %5 = arith.addf %4, %cst : tensor<2x4xf32>
  %6 = math.sqrt %5 : tensor<2x4xf32>
  %7 = nn.broadcast %6 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %8 = arith.divf %1, %7 : tensor<2x4x16xf32>
  %9 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %10 = arith.mulf %8, %9 : tensor<2x4x16xf32>
  return %10 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @eps_outside(
// CHECK-NOT: _norm
func.func @eps_outside(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<16xf32> {nn.param = "g"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e-03> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %1 = nn.reduce <sum> %0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %2 = arith.divf %1, %cst_0 : tensor<2x4xf32>
  %3 = math.sqrt %2 : tensor<2x4xf32>
  %4 = arith.addf %3, %cst : tensor<2x4xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %6 = arith.divf %arg0, %5 : tensor<2x4x16xf32>
  %7 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %8 = arith.mulf %6, %7 : tensor<2x4x16xf32>
  return %8 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @unbiased(
// CHECK-NOT: _norm
func.func @unbiased(%arg0: tensor<2x4x16xf32> {nn.param = "x"}, %arg1: tensor<16xf32> {nn.param = "g"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<9.99999974E-6> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.500000e+01> : tensor<2x4xf32>
  %cst_1 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = nn.reduce <sum> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %1 = arith.divf %0, %cst_1 : tensor<2x4xf32>
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
  return %12 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @other_dimension(
// CHECK-NOT: _norm
func.func @other_dimension(%arg0: tensor<2x16x16xf32> {nn.param = "x"}) -> (tensor<2x16x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<9.99999974E-6> : tensor<2x16xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x16xf32>
  %0 = nn.reduce <sum> %arg0 dims [1] : tensor<2x16x16xf32> -> tensor<2x16xf32>
  %1 = arith.divf %0, %cst_0 : tensor<2x16xf32>
  %2 = nn.broadcast %1 dims [0, 2] : tensor<2x16xf32> -> tensor<2x16x16xf32>
  %3 = arith.subf %arg0, %2 : tensor<2x16x16xf32>
  %4 = arith.mulf %3, %3 : tensor<2x16x16xf32>
  %5 = nn.reduce <sum> %4 dims [1] : tensor<2x16x16xf32> -> tensor<2x16xf32>
  %6 = arith.divf %5, %cst_0 : tensor<2x16xf32>
  %7 = arith.addf %6, %cst : tensor<2x16xf32>
  %8 = math.rsqrt %7 : tensor<2x16xf32>
  %9 = nn.broadcast %8 dims [0, 2] : tensor<2x16xf32> -> tensor<2x16x16xf32>
  %10 = arith.mulf %3, %9 : tensor<2x16x16xf32>
  return %10 : tensor<2x16x16xf32>
}

// -----

// Scores may be below a bound that is not the lowest number.
// CHECK-LABEL: @attention_above_1e9(
// CHECK-NOT: nn.attention
func.func @attention_above_1e9(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<[[0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, 0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<8x8xf32>
  %cst_0 = arith.constant dense<-1.000000e+09> : tensor<2x3x8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = nn.broadcast %cst dims [2, 3] : tensor<8x8xf32> -> tensor<2x3x8x8xf32>
  %2 = arith.addf %0, %1 : tensor<2x3x8x8xf32>
  %3 = arith.maximumf %2, %cst_0 : tensor<2x3x8x8xf32>
  %4 = nn.softmax %3 dim 3 : tensor<2x3x8x8xf32>
  %5 = nn.einsum "acbd,abec->aebd" %arg2, %4 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %5 : tensor<2x8x3x4xf32>
}

// -----

// CHECK-LABEL: @attention_above_1e4(
// CHECK-NOT: nn.attention
func.func @attention_above_1e4(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<[[0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, 0.0, -1.000000e+09, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.000000e+09, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.000000e+09], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<8x8xf32>
  %cst_0 = arith.constant dense<-1.000000e+04> : tensor<2x3x8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = nn.broadcast %cst dims [2, 3] : tensor<8x8xf32> -> tensor<2x3x8x8xf32>
  %2 = arith.addf %0, %1 : tensor<2x3x8x8xf32>
  %3 = arith.maximumf %2, %cst_0 : tensor<2x3x8x8xf32>
  %4 = nn.softmax %3 dim 3 : tensor<2x3x8x8xf32>
  %5 = nn.einsum "acbd,abec->aebd" %arg2, %4 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %5 : tensor<2x8x3x4xf32>
}

// -----

// Rows that see nothing get zeros instead of NaN.
// CHECK-LABEL: @softmax_without_nan(
// CHECK: %[[W:.+]] = nn.softmax %arg0 dim 2
// CHECK: %[[NONE:.+]] = arith.cmpf uno, %[[W]], %[[W]]
// CHECK: arith.select %[[NONE]], %{{.+}}, %[[W]]
func.func @softmax_without_nan(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<0.0> : tensor<2x4x16xf32>
  %2 = nn.reduce <max> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %3 = nn.broadcast %2 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %4 = arith.subf %arg0, %3 : tensor<2x4x16xf32>
  %5 = math.exp %4 : tensor<2x4x16xf32>
  %6 = nn.reduce <sum> %5 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %7 = nn.broadcast %6 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %8 = arith.divf %5, %7 : tensor<2x4x16xf32>
  %9 = arith.cmpf uno, %8, %8 : tensor<2x4x16xf32>
  %10 = arith.select %9, %cst, %8 : tensor<2x4x16xi1>, tensor<2x4x16xf32>
  return %10 : tensor<2x4x16xf32>
}

// -----

// A loss that omits rows of minus infinity.
// CHECK-LABEL: @loss_of_seen_rows(
// CHECK: %[[LOSS:.+]] = nn.cross_entropy
// CHECK: arith.select %{{.+}}, %{{.+}}, %[[LOSS]]
func.func @loss_of_seen_rows(%arg0: tensor<8x16xf32> {nn.param = "x"}, %arg1: tensor<8xi32> {nn.input = "labels"}) -> (tensor<8xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<0xFF800000> : tensor<8xf32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %0 = nn.reduce <max> %arg0 dims [1] : tensor<8x16xf32> -> tensor<8xf32>
  %1 = nn.broadcast %0 dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  %2 = arith.subf %arg0, %1 : tensor<8x16xf32>
  %3 = math.exp %2 : tensor<8x16xf32>
  %4 = nn.reduce <sum> %3 dims [1] : tensor<8x16xf32> -> tensor<8xf32>
  %5 = math.log %4 : tensor<8xf32>
  %6 = nn.take_along_axis %2, %arg1 : tensor<8x16xf32>, tensor<8xi32> -> tensor<8xf32>
  %7 = arith.subf %5, %6 : tensor<8xf32>
  %8 = arith.cmpf oeq, %0, %cst : tensor<8xf32>
  %9 = arith.select %8, %zero, %7 : tensor<8xi1>, tensor<8xf32>
  return %9 : tensor<8xf32>
}

// -----

// A remainder larger than any number of the scale, and steps that are too small.
// CHECK-LABEL: @silu_of_remainder(
// CHECK-NOT: nn.silu %arg0
// CHECK: arith.remf
func.func @silu_of_remainder(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %big = arith.constant dense<1.000000e+06> : tensor<2x4x16xf32>
  %1 = arith.remf %arg0, %big : tensor<2x4x16xf32>
  %2 = arith.negf %1 : tensor<2x4x16xf32>
  %3 = math.exp %2 : tensor<2x4x16xf32>
  %4 = arith.addf %3, %cst : tensor<2x4x16xf32>
  %5 = arith.divf %cst, %4 : tensor<2x4x16xf32>
  %6 = arith.mulf %arg0, %5 : tensor<2x4x16xf32>
  return %6 : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: @silu_and_steps(
// CHECK: %[[S:.+]] = nn.silu %arg0
// CHECK: %[[R:.+]] = math.roundeven
// CHECK: arith.addf %[[S]], %[[R]]
func.func @silu_and_steps(%arg0: tensor<2x4x16xf32> {nn.param = "x"}) -> (tensor<2x4x16xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %small = arith.constant dense<1.000000e-06> : tensor<2x4x16xf32>
  %2 = arith.negf %arg0 : tensor<2x4x16xf32>
  %3 = math.exp %2 : tensor<2x4x16xf32>
  %4 = arith.addf %3, %cst : tensor<2x4x16xf32>
  %5 = arith.divf %cst, %4 : tensor<2x4x16xf32>
  %6 = arith.mulf %arg0, %5 : tensor<2x4x16xf32>
  %7 = arith.mulf %arg0, %small : tensor<2x4x16xf32>
  %8 = math.roundeven %7 : tensor<2x4x16xf32>
  %9 = arith.addf %6, %8 : tensor<2x4x16xf32>
  return %9 : tensor<2x4x16xf32>
}

// -----

// Rows without elements, and rows of unknown size.
// CHECK-LABEL: @empty_rows(
// CHECK: math.exp
// CHECK: arith.divf
func.func @empty_rows(%x: tensor<4x0xf32>) -> tensor<4x0xf32> {
  %0 = math.exp %x : tensor<4x0xf32>
  %1 = nn.reduce <sum> %0 dims [1] : tensor<4x0xf32> -> tensor<4xf32>
  %2 = nn.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x0xf32>
  %3 = arith.divf %0, %2 : tensor<4x0xf32>
  return %3 : tensor<4x0xf32>
}

// -----

// CHECK-LABEL: @dynamic_rows(
// CHECK: math.exp
// CHECK: arith.divf
func.func @dynamic_rows(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %0 = math.exp %x : tensor<4x?xf32>
  %1 = arith.addf %0, %0 : tensor<4x?xf32>
  %2 = arith.divf %0, %1 : tensor<4x?xf32>
  %3 = arith.negf %2 : tensor<4x?xf32>
  return %3 : tensor<4x?xf32>
}
