// Scores with a softcap, a bias or sinks become operands of attention; what depends on a
// parameter stays written out.
// RUN: tessera-opt %s --nn-raise --split-input-file | FileCheck %s

// -----

// CHECK-LABEL: @softcap(
// CHECK: nn.attention causal scale 5.000000e-01 softcap 5.000000e+01 %
// CHECK-NOT: nn.softmax
func.func @softcap(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32>
  %cst_0 = arith.constant dense<5.000000e+01> : tensor<2x3x8x8xf32>
  %cst_1 = arith.constant dense<2.000000e+00> : tensor<2x3x8x8xf32>
  %cst_2 = arith.constant dense<[[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true]]> : tensor<8x8xi1>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = arith.divf %0, %cst_1 : tensor<2x3x8x8xf32>
  %2 = arith.divf %1, %cst_0 : tensor<2x3x8x8xf32>
  %3 = math.tanh %2 : tensor<2x3x8x8xf32>
  %4 = arith.mulf %3, %cst_0 : tensor<2x3x8x8xf32>
  %5 = nn.broadcast %cst_2 dims [2, 3] : tensor<8x8xi1> -> tensor<2x3x8x8xi1>
  %6 = arith.select %5, %4, %cst : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %7 = nn.reduce <max> %6 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %8 = nn.broadcast %7 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %9 = arith.subf %6, %8 : tensor<2x3x8x8xf32>
  %10 = math.exp %9 : tensor<2x3x8x8xf32>
  %11 = nn.reduce <sum> %10 dims [3] : tensor<2x3x8x8xf32> -> tensor<2x3x8xf32>
  %12 = nn.broadcast %11 dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x8xf32>
  %13 = arith.divf %10, %12 : tensor<2x3x8x8xf32>
  %14 = nn.einsum "acbd,abec->aebd" %arg2, %13 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %14 : tensor<2x8x3x4xf32>
}

// -----

// CHECK-LABEL: @mask_of_10(
// CHECK: nn.attention scale 5.000000e-01 %{{.*}} bias %{{[0-9]+}} dims [1, 4] : tensor<8x8xf32>
// CHECK-NOT: nn.softmax
func.func @mask_of_10(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<[[0.000000e+00, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01], [0.000000e+00, 0.000000e+00, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01], [0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+01, -1.000000e+01, -1.000000e+01, -1.000000e+01], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+01, -1.000000e+01, -1.000000e+01], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+01, -1.000000e+01], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, -1.000000e+01], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<8x8xf32>
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

// A mask of the lowest number that is not causal.
// CHECK-LABEL: @anticausal(
// CHECK-NOT: nn.attention
func.func @anticausal(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32>
  %cst_0 = arith.constant dense<[[true, true, true, true, true, true, true, true], [false, true, true, true, true, true, true, true], [false, false, true, true, true, true, true, true], [false, false, false, true, true, true, true, true], [false, false, false, false, true, true, true, true], [false, false, false, false, false, true, true, true], [false, false, false, false, false, false, true, true], [false, false, false, false, false, false, false, true]]> : tensor<8x8xi1>
  %cst_1 = arith.constant dense<2.000000e+00> : tensor<2x3x8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = arith.divf %0, %cst_1 : tensor<2x3x8x8xf32>
  %2 = nn.broadcast %cst_0 dims [2, 3] : tensor<8x8xi1> -> tensor<2x3x8x8xi1>
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

// A mask of the lowest number, which replaces scores: they have no gradient.
// CHECK-LABEL: @input_mask(
// CHECK-NOT: nn.attention
func.func @input_mask(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}, %arg3: tensor<8x8xi1> {nn.input = "m"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32>
  %cst_0 = arith.constant dense<2.000000e+00> : tensor<2x3x8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = arith.divf %0, %cst_0 : tensor<2x3x8x8xf32>
  %2 = nn.broadcast %arg3 dims [2, 3] : tensor<8x8xi1> -> tensor<2x3x8x8xi1>
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

// Two masks whose combination is not a window.
// CHECK-LABEL: @attention_two_masks(
// CHECK-NOT: nn.attention
func.func @attention_two_masks(%arg0: tensor<2x8x3x4xf32> {nn.param = "q"}, %arg1: tensor<2x8x3x4xf32> {nn.param = "k"}, %arg2: tensor<2x8x3x4xf32> {nn.param = "v"}) -> (tensor<2x8x3x4xf32> {nn.output = "result"}) {
  %cst = arith.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32>
  %cst_0 = arith.constant dense<[[true, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false], [true, true, true, false, false, false, false, false], [true, true, true, true, false, false, false, false], [true, true, true, true, true, false, false, false], [true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true]]> : tensor<8x8xi1>
  %cst_1 = arith.constant dense<[[0.0, 0.0, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0xFF800000, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %1 = nn.broadcast %cst_0 dims [2, 3] : tensor<8x8xi1> -> tensor<2x3x8x8xi1>
  %2 = arith.select %1, %0, %cst : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %3 = nn.broadcast %cst_1 dims [2, 3] : tensor<8x8xf32> -> tensor<2x3x8x8xf32>
  %4 = arith.addf %2, %3 : tensor<2x3x8x8xf32>
  %5 = nn.softmax %4 dim 3 : tensor<2x3x8x8xf32>
  %6 = nn.einsum "acbd,abec->aebd" %arg2, %5 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %6 : tensor<2x8x3x4xf32>
}

// -----

// A number for each head and pair, and one for each key of a sequence.
// CHECK-LABEL: @padding_and_distance(
// CHECK: %[[BIAS:[0-9]+]] = nn.transpose %{{.*}} : tensor<2x3x8x8xf32> -> tensor<2x8x3x8xf32>
// CHECK: nn.attention {{.*}} bias %[[BIAS]] dims [0, 1, 2, 4] : tensor<2x8x3x8xf32>
func.func @padding_and_distance(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %d: tensor<3x8x8xf32>, %m: tensor<2x8xf32>) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %a = nn.broadcast %d dims [1, 2, 3] : tensor<3x8x8xf32> -> tensor<2x3x8x8xf32>
  %b = nn.broadcast %m dims [0, 3] : tensor<2x8xf32> -> tensor<2x3x8x8xf32>
  %x = arith.addf %s, %a : tensor<2x3x8x8xf32>
  %y = arith.addf %b, %x : tensor<2x3x8x8xf32>
  %w = nn.softmax %y dim 3 : tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}

// -----

// A column of scores without values, after the largest score is subtracted.
// CHECK-LABEL: @sinks(
// CHECK: nn.attention scale 1.000000e+00 {{.*}} sinks %{{.*}} : tensor<3x1xf32>
// CHECK-NOT: nn.softmax
func.func @sinks(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %sink: tensor<3xf32> {nn.param = "sinks"}) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %c = nn.broadcast %sink dims [1] : tensor<3xf32> -> tensor<2x3x8x1xf32>
  %x = tensor.concat dim(3) %s, %c : (tensor<2x3x8x8xf32>, tensor<2x3x8x1xf32>) -> tensor<2x3x8x9xf32>
  %m = nn.reduce <max> %x dims [3] : tensor<2x3x8x9xf32> -> tensor<2x3x8xf32>
  %n = nn.broadcast %m dims [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8x9xf32>
  %y = arith.subf %x, %n : tensor<2x3x8x9xf32>
  %z = nn.softmax %y dim 3 : tensor<2x3x8x9xf32>
  %w = tensor.extract_slice %z[0, 0, 0, 0] [2, 3, 8, 8] [1, 1, 1, 1] : tensor<2x3x8x9xf32> to tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}

// -----

// Queries whose keys are all hidden have zeros: minus infinity hides the keys.
// CHECK-LABEL: @zero_rows(
// CHECK: %[[LOW:.*]] = arith.constant dense<0xFF800000> : tensor<2x8xf32>
// CHECK: %[[BIAS:[0-9]+]] = arith.select %arg3, %{{.*}}, %[[LOW]] : tensor<2x8xi1>, tensor<2x8xf32>
// CHECK: nn.attention {{.*}} bias %[[BIAS]] dims [0, 4]
func.func @zero_rows(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %m: tensor<2x8xi1>) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %low = arith.constant dense<-1.000000e+30> : tensor<2x3x8x8xf32>
  %zero = arith.constant dense<0.000000e+00> : tensor<2x3x8x8xf32>
  %shown = nn.broadcast %m dims [0, 3] : tensor<2x8xi1> -> tensor<2x3x8x8xi1>
  %x = arith.select %shown, %s, %low : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %y = nn.softmax %x dim 3 : tensor<2x3x8x8xf32>
  %w = arith.select %shown, %y, %zero : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}

// -----

// A bias that has a gradient.
// CHECK-LABEL: @trained(
// CHECK-NOT: nn.attention
func.func @trained(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %t: tensor<3x8x8xf32> {nn.param = "table"}) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %b = nn.broadcast %t dims [1, 2, 3] : tensor<3x8x8xf32> -> tensor<2x3x8x8xf32>
  %y = arith.addf %s, %b : tensor<2x3x8x8xf32>
  %w = nn.softmax %y dim 3 : tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}

// -----

// A number that is added after a mask of -1e9.
// CHECK-LABEL: @added_to_a_mask(
// CHECK-NOT: nn.attention
func.func @added_to_a_mask(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %m: tensor<2x8xi1>, %d: tensor<2x8xf32>) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %low = arith.constant dense<-1.000000e+09> : tensor<2x3x8x8xf32>
  %shown = nn.broadcast %m dims [0, 3] : tensor<2x8xi1> -> tensor<2x3x8x8xi1>
  %b = nn.broadcast %d dims [0, 3] : tensor<2x8xf32> -> tensor<2x3x8x8xf32>
  %x = arith.select %shown, %s, %low : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %y = arith.addf %x, %b : tensor<2x3x8x8xf32>
  %w = nn.softmax %y dim 3 : tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}

// -----

// The softcap of attention comes before the bias.
// CHECK-LABEL: @capped_bias(
// CHECK-NOT: nn.attention
func.func @capped_bias(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %d: tensor<2x8xf32>) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %cap = arith.constant dense<5.000000e+01> : tensor<2x3x8x8xf32>
  %b = nn.broadcast %d dims [0, 3] : tensor<2x8xf32> -> tensor<2x3x8x8xf32>
  %x = arith.addf %s, %b : tensor<2x3x8x8xf32>
  %t = math.tanh %x : tensor<2x3x8x8xf32>
  %y = arith.mulf %t, %cap : tensor<2x3x8x8xf32>
  %w = nn.softmax %y dim 3 : tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}

// -----

// Scores that are also a result.
// CHECK-LABEL: @used_scores(
// CHECK-NOT: nn.attention
func.func @used_scores(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %d: tensor<2x8xf32>) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %b = nn.broadcast %d dims [0, 3] : tensor<2x8xf32> -> tensor<2x3x8x8xf32>
  %x = arith.addf %s, %b : tensor<2x3x8x8xf32>
  %u = nn.softmax %x dim 3 : tensor<2x3x8x8xf32>
  %w = arith.addf %u, %x : tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}

// -----

// A mask of -1e9.
// CHECK-LABEL: @weak_mask(
// CHECK-NOT: nn.attention
func.func @weak_mask(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %m: tensor<2x8xi1>) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %low = arith.constant dense<-1.000000e+09> : tensor<2x3x8x8xf32>
  %shown = nn.broadcast %m dims [0, 3] : tensor<2x8xi1> -> tensor<2x3x8x8xi1>
  %x = arith.select %shown, %s, %low : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %w = nn.softmax %x dim 3 : tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}

// -----

// Scores that are rounded to a narrower type than both ends.
// CHECK-LABEL: @rounded_scores(
// CHECK-NOT: nn.attention
func.func @rounded_scores(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %d: tensor<2x8xbf16>) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %b = nn.broadcast %d dims [0, 3] : tensor<2x8xbf16> -> tensor<2x3x8x8xbf16>
  %n = arith.truncf %s : tensor<2x3x8x8xf32> to tensor<2x3x8x8xbf16>
  %x = arith.addf %n, %b : tensor<2x3x8x8xbf16>
  %y = arith.extf %x : tensor<2x3x8x8xbf16> to tensor<2x3x8x8xf32>
  %w = nn.softmax %y dim 3 : tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}

// -----

// A mask of minus infinity.
// CHECK-LABEL: @infinite_mask(
// CHECK: %[[BIAS:[0-9]+]] = arith.select %arg3, %{{.*}} : tensor<2x8xi1>, tensor<2x8xf32>
// CHECK: nn.attention {{.*}} bias %[[BIAS]] dims [0, 4]
func.func @infinite_mask(%q: tensor<2x8x3x4xf32> {nn.param = "q"}, %k: tensor<2x8x3x4xf32> {nn.param = "k"}, %v: tensor<2x8x3x4xf32> {nn.param = "v"}, %m: tensor<2x8xi1>) -> tensor<2x8x3x4xf32> {
  %s = nn.einsum "adbc,aebc->abde" %q, %k : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %low = arith.constant dense<0xFF800000> : tensor<2x3x8x8xf32>
  %shown = nn.broadcast %m dims [0, 3] : tensor<2x8xi1> -> tensor<2x3x8x8xi1>
  %x = arith.select %shown, %s, %low : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %w = nn.softmax %x dim 3 : tensor<2x3x8x8xf32>
  %r = nn.einsum "acbd,abec->aebd" %v, %w : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %r : tensor<2x8x3x4xf32>
}
