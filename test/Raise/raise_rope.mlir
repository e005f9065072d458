// Rows that are rotated by tables of cosines and sines become nn.rope.
// RUN: tessera-opt %s --nn-raise --cse --split-input-file | FileCheck %s

// Separate halves, and tables of half a row.
// CHECK-LABEL: @halves(
// CHECK-NEXT: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] : tensor<2x3x4x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @halves(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x3x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x3x4x2xf32>
  %2 = arith.subf %0, %1 : tensor<2x3x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x3x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x3x4x2xf32>
  %5 = arith.addf %3, %4 : tensor<2x3x4x2xf32>
  %6 = tensor.concat dim(3) %2, %5 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// The row, and the row with exchanged halves; the tables repeat their columns.
// CHECK-LABEL: @rotate_half(
// CHECK-NEXT: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] : tensor<2x3x4x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @rotate_half(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01, 5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01, -4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01, -9.899924994e-01, 9.995500445e-01]]> : tensor<4x4xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00, 0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03, 8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02, 9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02, 1.411200017e-01, 2.999549918e-02]]> : tensor<4x4xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %n = arith.negf %high : tensor<2x3x4x2xf32>
  %r = tensor.concat dim(3) %n, %low : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %0 = arith.mulf %x, %cb : tensor<2x3x4x4xf32>
  %1 = arith.mulf %r, %sb : tensor<2x3x4x4xf32>
  %6 = arith.addf %0, %1 : tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// The sign is in the table of sines.
// CHECK-LABEL: @signed_table(
// CHECK-NEXT: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] : tensor<2x3x4x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @signed_table(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01, 5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01, -4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01, -9.899924994e-01, 9.995500445e-01]]> : tensor<4x4xf32>
  %s = arith.constant dense<[[-0.000000000e+00, -0.000000000e+00, 0.000000000e+00, 0.000000000e+00], [-8.414709568e-01, -9.999833070e-03, 8.414709568e-01, 9.999833070e-03], [-9.092974067e-01, -1.999866590e-02, 9.092974067e-01, 1.999866590e-02], [-1.411200017e-01, -2.999550104e-02, 1.411200017e-01, 2.999550104e-02]]> : tensor<4x4xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %r = tensor.concat dim(3) %high, %low : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %0 = arith.mulf %cb, %x : tensor<2x3x4x4xf32>
  %1 = arith.mulf %sb, %r : tensor<2x3x4x4xf32>
  %6 = arith.addf %1, %0 : tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// The sign is a vector.
// CHECK-LABEL: @sign_vector(
// CHECK-NEXT: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] : tensor<2x3x4x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @sign_vector(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01, 5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01, -4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01, -9.899924994e-01, 9.995500445e-01]]> : tensor<4x4xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00, 0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03, 8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02, 9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02, 1.411200017e-01, 2.999549918e-02]]> : tensor<4x4xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %v = arith.constant dense<[-1.0, -1.0, 1.0, 1.0]> : tensor<4xf32>
  %vb = nn.broadcast %v dims [3] : tensor<4xf32> -> tensor<2x3x4x4xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %r = tensor.concat dim(3) %high, %low : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %q = arith.mulf %r, %vb : tensor<2x3x4x4xf32>
  %0 = arith.mulf %cb, %x : tensor<2x3x4x4xf32>
  %1 = arith.mulf %sb, %q : tensor<2x3x4x4xf32>
  %6 = arith.addf %1, %0 : tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// The last elements are not rotated.
// CHECK-LABEL: @partial(
// CHECK-NEXT: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] width 4 : tensor<2x3x4x6xf32>
// CHECK-NEXT: return %[[Y]]
func.func @partial(%x: tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01, 5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01, -4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01, -9.899924994e-01, 9.995500445e-01]]> : tensor<4x4xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00, 0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03, 8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02, 9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02, 1.411200017e-01, 2.999549918e-02]]> : tensor<4x4xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %y = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 4] [1, 1, 1, 1] : tensor<2x3x4x6xf32> to tensor<2x3x4x4xf32>
  %rest = tensor.extract_slice %x[0, 0, 0, 4] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x6xf32> to tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %y[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %y[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %n = arith.negf %high : tensor<2x3x4x2xf32>
  %r = tensor.concat dim(3) %n, %low : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %0 = arith.mulf %y, %cb : tensor<2x3x4x4xf32>
  %1 = arith.mulf %r, %sb : tensor<2x3x4x4xf32>
  %6 = arith.addf %0, %1 : tensor<2x3x4x4xf32>
  %7 = tensor.concat dim(3) %6, %rest : (tensor<2x3x4x4xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x6xf32>
  return %7 : tensor<2x3x4x6xf32>
}

// -----

// Pairs have their own dimension.
// CHECK-LABEL: @pairs(
// CHECK-NEXT: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] : tensor<2x3x4x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @pairs(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %p = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [2, 3, 4, 2, 2] : tensor<2x3x4x4xf32> into tensor<2x3x4x2x2xf32>
  %a = tensor.extract_slice %p[0, 0, 0, 0, 0] [2, 3, 4, 1, 2] [1, 1, 1, 1, 1] : tensor<2x3x4x2x2xf32> to tensor<2x3x4x1x2xf32>
  %b = tensor.extract_slice %p[0, 0, 0, 1, 0] [2, 3, 4, 1, 2] [1, 1, 1, 1, 1] : tensor<2x3x4x2x2xf32> to tensor<2x3x4x1x2xf32>
  %low = tensor.collapse_shape %a [[0], [1], [2], [3, 4]] : tensor<2x3x4x1x2xf32> into tensor<2x3x4x2xf32>
  %high = tensor.collapse_shape %b [[0], [1], [2], [3, 4]] : tensor<2x3x4x1x2xf32> into tensor<2x3x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x3x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x3x4x2xf32>
  %2 = arith.subf %0, %1 : tensor<2x3x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x3x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x3x4x2xf32>
  %5 = arith.addf %3, %4 : tensor<2x3x4x2xf32>
  %d = nn.broadcast %2 dims [0, 1, 2, 4] : tensor<2x3x4x2xf32> -> tensor<2x3x4x1x2xf32>
  %e = nn.broadcast %5 dims [0, 1, 2, 4] : tensor<2x3x4x2xf32> -> tensor<2x3x4x1x2xf32>
  %f = tensor.concat dim(3) %d, %e : (tensor<2x3x4x1x2xf32>, tensor<2x3x4x1x2xf32>) -> tensor<2x3x4x2x2xf32>
  %6 = tensor.collapse_shape %f [[0], [1], [2], [3, 4]] : tensor<2x3x4x2x2xf32> into tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// The inverse rotation: negative frequencies.
// CHECK-LABEL: @inverse(
// CHECK-NEXT: nn.rope %arg0 dim 2 frequencies [{{-1.0+e\+00|-0.99999[0-9]+|-1.000000[0-9]+}}, {{-0.00999999[0-9]*|-0.0100000[0-9]*|-1.0+e-02}}] : tensor<2x3x4x4xf32>
func.func @inverse(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x3x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x3x4x2xf32>
  %2 = arith.addf %0, %1 : tensor<2x3x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x3x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x3x4x2xf32>
  %5 = arith.subf %3, %4 : tensor<2x3x4x2xf32>
  %6 = tensor.concat dim(3) %2, %5 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// In f32 between bf16.
// CHECK-LABEL: @wide(
// CHECK-NEXT: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] : tensor<2x3x4x4xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @wide(%x: tensor<2x3x4x4xbf16>) -> tensor<2x3x4x4xbf16> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01, 5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01, -4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01, -9.899924994e-01, 9.995500445e-01]]> : tensor<4x4xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00, 0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03, 8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02, 9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02, 1.411200017e-01, 2.999549918e-02]]> : tensor<4x4xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %w = arith.extf %x : tensor<2x3x4x4xbf16> to tensor<2x3x4x4xf32>
  %low = tensor.extract_slice %w[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %w[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %n = arith.negf %high : tensor<2x3x4x2xf32>
  %r = tensor.concat dim(3) %n, %low : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %0 = arith.mulf %w, %cb : tensor<2x3x4x4xf32>
  %1 = arith.mulf %r, %sb : tensor<2x3x4x4xf32>
  %6 = arith.addf %0, %1 : tensor<2x3x4x4xf32>
  %7 = arith.truncf %6 : tensor<2x3x4x4xf32> to tensor<2x3x4x4xbf16>
  return %7 : tensor<2x3x4x4xbf16>
}

// -----

// Only a row: no heads and no batch.
// CHECK-LABEL: @matrix(
// CHECK-NEXT: nn.rope %arg0 dim 0 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] : tensor<4x4xf32>
func.func @matrix(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01, 5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01, -4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01, -9.899924994e-01, 9.995500445e-01]]> : tensor<4x4xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00, 0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03, 8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02, 9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02, 1.411200017e-01, 2.999549918e-02]]> : tensor<4x4xf32>
  %low = tensor.extract_slice %x[0, 0] [4, 2] [1, 1] : tensor<4x4xf32> to tensor<4x2xf32>
  %high = tensor.extract_slice %x[0, 2] [4, 2] [1, 1] : tensor<4x4xf32> to tensor<4x2xf32>
  %n = arith.negf %high : tensor<4x2xf32>
  %r = tensor.concat dim(1) %n, %low : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %0 = arith.mulf %x, %c : tensor<4x4xf32>
  %1 = arith.mulf %r, %s : tensor<4x4xf32>
  %6 = arith.addf %0, %1 : tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}

// -----

// Neighbours are pairs.
// CHECK-LABEL: @interleaved(
// CHECK: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] interleaved : tensor<2x3x4x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @interleaved(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 2] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 1] [2, 3, 4, 2] [1, 1, 1, 2] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x3x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x3x4x2xf32>
  %2 = arith.subf %0, %1 : tensor<2x3x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x3x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x3x4x2xf32>
  %5 = arith.addf %3, %4 : tensor<2x3x4x2xf32>
  %d = tensor.expand_shape %2 [[0], [1], [2], [3, 4]] output_shape [2, 3, 4, 2, 1] : tensor<2x3x4x2xf32> into tensor<2x3x4x2x1xf32>
  %e = tensor.expand_shape %5 [[0], [1], [2], [3, 4]] output_shape [2, 3, 4, 2, 1] : tensor<2x3x4x2xf32> into tensor<2x3x4x2x1xf32>
  %f = tensor.concat dim(4) %d, %e : (tensor<2x3x4x2x1xf32>, tensor<2x3x4x2x1xf32>) -> tensor<2x3x4x2x2xf32>
  %6 = tensor.collapse_shape %f [[0], [1], [2], [3, 4]] : tensor<2x3x4x2x2xf32> into tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// Neighbours that move apart.
// CHECK-LABEL: @separated(
// CHECK: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] interleaved : tensor<2x3x4x4xf32>
// CHECK-NEXT: %[[A:.+]] = tensor.extract_slice %[[Y]][0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 2]
// CHECK-NEXT: %[[B:.+]] = tensor.extract_slice %[[Y]][0, 0, 0, 1] [2, 3, 4, 2] [1, 1, 1, 2]
// CHECK-NEXT: %[[Z:.+]] = tensor.concat dim(3) %[[A]], %[[B]]
// CHECK-NEXT: return %[[Z]]
func.func @separated(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 2] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 1] [2, 3, 4, 2] [1, 1, 1, 2] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x3x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x3x4x2xf32>
  %2 = arith.subf %0, %1 : tensor<2x3x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x3x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x3x4x2xf32>
  %5 = arith.addf %3, %4 : tensor<2x3x4x2xf32>
  %6 = tensor.concat dim(3) %2, %5 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// Neighbours that move apart, before others.
// CHECK-LABEL: @separated_part(
// CHECK: %[[Y:.+]] = nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] width 4 interleaved : tensor<2x3x4x6xf32>
// CHECK-NEXT: %[[A:.+]] = tensor.extract_slice %[[Y]][0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 2]
// CHECK-NEXT: %[[B:.+]] = tensor.extract_slice %[[Y]][0, 0, 0, 1] [2, 3, 4, 2] [1, 1, 1, 2]
// CHECK-NEXT: %[[C:.+]] = tensor.extract_slice %[[Y]][0, 0, 0, 4] [2, 3, 4, 2] [1, 1, 1, 1]
// CHECK-NEXT: %[[Z:.+]] = tensor.concat dim(3) %[[A]], %[[B]], %[[C]]
// CHECK-NEXT: return %[[Z]]
func.func @separated_part(%x: tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 2] : tensor<2x3x4x6xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 1] [2, 3, 4, 2] [1, 1, 1, 2] : tensor<2x3x4x6xf32> to tensor<2x3x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x3x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x3x4x2xf32>
  %2 = arith.subf %0, %1 : tensor<2x3x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x3x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x3x4x2xf32>
  %5 = arith.addf %3, %4 : tensor<2x3x4x2xf32>
  %rest = tensor.extract_slice %x[0, 0, 0, 4] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x6xf32> to tensor<2x3x4x2xf32>
  %6 = tensor.concat dim(3) %2, %5, %rest : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x6xf32>
  return %6 : tensor<2x3x4x6xf32>
}

// -----

// The last elements are doubled: the rotated part becomes an op.
// CHECK-LABEL: @rest(
// CHECK: nn.rope %{{.+}} dim 2 frequencies [{{1.0+e\+00|0.99999[0-9]+|1.000000[0-9]+}}, {{0.00999999[0-9]*|0.0100000[0-9]*|1.0+e-02}}] : tensor<2x3x4x4xf32>
// CHECK-NEXT: tensor.concat
func.func @rest(%x: tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01, 5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01, -4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01, -9.899924994e-01, 9.995500445e-01]]> : tensor<4x4xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00, 0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03, 8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02, 9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02, 1.411200017e-01, 2.999549918e-02]]> : tensor<4x4xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %two = arith.constant dense<2.0> : tensor<2x3x4x2xf32>
  %y = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 4] [1, 1, 1, 1] : tensor<2x3x4x6xf32> to tensor<2x3x4x4xf32>
  %z = tensor.extract_slice %x[0, 0, 0, 4] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x6xf32> to tensor<2x3x4x2xf32>
  %rest = arith.mulf %z, %two : tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %y[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %y[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %n = arith.negf %high : tensor<2x3x4x2xf32>
  %r = tensor.concat dim(3) %n, %low : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %0 = arith.mulf %y, %cb : tensor<2x3x4x4xf32>
  %1 = arith.mulf %r, %sb : tensor<2x3x4x4xf32>
  %6 = arith.addf %0, %1 : tensor<2x3x4x4xf32>
  %7 = tensor.concat dim(3) %6, %rest : (tensor<2x3x4x4xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x6xf32>
  return %7 : tensor<2x3x4x6xf32>
}

// -----

// 8,192 rows of computed f32 tables: theta is 5e5.
// CHECK-LABEL: @long_f32(
// CHECK: nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.9999999[0-9]+|1.0000000[0-9]+}}, 0.8146{{.*}}] : tensor<1x2x8192x128xf32>
func.func @long_f32(%x: tensor<1x2x8192x128xf32>) -> tensor<1x2x8192x128xf32> {
  %i = nn.iota : tensor<8192xi32>
  %p = arith.sitofp %i : tensor<8192xi32> to tensor<8192xf32>
  %j = nn.iota : tensor<64xi32>
  %jf = arith.sitofp %j : tensor<64xi32> to tensor<64xf32>
  %scale = arith.constant dense<-0.2050373> : tensor<64xf32>
  %log = arith.mulf %jf, %scale : tensor<64xf32>
  %f = math.exp %log : tensor<64xf32>
  %pb = nn.broadcast %p dims [0] : tensor<8192xf32> -> tensor<8192x64xf32>
  %fb = nn.broadcast %f dims [1] : tensor<64xf32> -> tensor<8192x64xf32>
  %angle = arith.mulf %pb, %fb : tensor<8192x64xf32>
  %c0 = math.cos %angle : tensor<8192x64xf32>
  %s0 = math.sin %angle : tensor<8192x64xf32>
  %cb = nn.broadcast %c0 dims [2, 3] : tensor<8192x64xf32> -> tensor<1x2x8192x64xf32>
  %sb = nn.broadcast %s0 dims [2, 3] : tensor<8192x64xf32> -> tensor<1x2x8192x64xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [1, 2, 8192, 64] [1, 1, 1, 1] : tensor<1x2x8192x128xf32> to tensor<1x2x8192x64xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 64] [1, 2, 8192, 64] [1, 1, 1, 1] : tensor<1x2x8192x128xf32> to tensor<1x2x8192x64xf32>
  %0 = arith.mulf %low, %cb : tensor<1x2x8192x64xf32>
  %1 = arith.mulf %high, %sb : tensor<1x2x8192x64xf32>
  %2 = arith.subf %0, %1 : tensor<1x2x8192x64xf32>
  %3 = arith.mulf %high, %cb : tensor<1x2x8192x64xf32>
  %4 = arith.mulf %low, %sb : tensor<1x2x8192x64xf32>
  %5 = arith.addf %3, %4 : tensor<1x2x8192x64xf32>
  %6 = tensor.concat dim(3) %2, %5 : (tensor<1x2x8192x64xf32>, tensor<1x2x8192x64xf32>) -> tensor<1x2x8192x128xf32>
  return %6 : tensor<1x2x8192x128xf32>
}

// -----

// 8,192 rows of computed bf16 tables: theta is 5e5.
// CHECK-LABEL: @long_bf16(
// CHECK: nn.rope %arg0 dim 2 frequencies [{{1.0+e\+00|0.9999999[0-9]+|1.0000000[0-9]+}}, 0.8146{{.*}}] : tensor<1x2x8192x128xbf16>
func.func @long_bf16(%x: tensor<1x2x8192x128xbf16>) -> tensor<1x2x8192x128xbf16> {
  %i = nn.iota : tensor<8192xi32>
  %p = arith.sitofp %i : tensor<8192xi32> to tensor<8192xf32>
  %j = nn.iota : tensor<64xi32>
  %jf = arith.sitofp %j : tensor<64xi32> to tensor<64xf32>
  %scale = arith.constant dense<-0.2050373> : tensor<64xf32>
  %log = arith.mulf %jf, %scale : tensor<64xf32>
  %f = math.exp %log : tensor<64xf32>
  %pb = nn.broadcast %p dims [0] : tensor<8192xf32> -> tensor<8192x64xf32>
  %fb = nn.broadcast %f dims [1] : tensor<64xf32> -> tensor<8192x64xf32>
  %angle = arith.mulf %pb, %fb : tensor<8192x64xf32>
  %c0 = math.cos %angle : tensor<8192x64xf32>
  %s0 = math.sin %angle : tensor<8192x64xf32>
  %c1 = arith.truncf %c0 : tensor<8192x64xf32> to tensor<8192x64xbf16>
  %s1 = arith.truncf %s0 : tensor<8192x64xf32> to tensor<8192x64xbf16>
  %cb = nn.broadcast %c1 dims [2, 3] : tensor<8192x64xbf16> -> tensor<1x2x8192x64xbf16>
  %sb = nn.broadcast %s1 dims [2, 3] : tensor<8192x64xbf16> -> tensor<1x2x8192x64xbf16>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [1, 2, 8192, 64] [1, 1, 1, 1] : tensor<1x2x8192x128xbf16> to tensor<1x2x8192x64xbf16>
  %high = tensor.extract_slice %x[0, 0, 0, 64] [1, 2, 8192, 64] [1, 1, 1, 1] : tensor<1x2x8192x128xbf16> to tensor<1x2x8192x64xbf16>
  %0 = arith.mulf %low, %cb : tensor<1x2x8192x64xbf16>
  %1 = arith.mulf %high, %sb : tensor<1x2x8192x64xbf16>
  %2 = arith.subf %0, %1 : tensor<1x2x8192x64xbf16>
  %3 = arith.mulf %high, %cb : tensor<1x2x8192x64xbf16>
  %4 = arith.mulf %low, %sb : tensor<1x2x8192x64xbf16>
  %5 = arith.addf %3, %4 : tensor<1x2x8192x64xbf16>
  %6 = tensor.concat dim(3) %2, %5 : (tensor<1x2x8192x64xbf16>, tensor<1x2x8192x64xbf16>) -> tensor<1x2x8192x128xbf16>
  return %6 : tensor<1x2x8192x128xbf16>
}
