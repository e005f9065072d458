// Ops that are nearly a rotation of rows stay.
// RUN: tessera-opt %s --nn-raise --split-input-file | FileCheck %s

// Halves become neighbours.
// CHECK-LABEL: @joined(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @joined(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
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
  %d = tensor.expand_shape %2 [[0], [1], [2], [3, 4]] output_shape [2, 3, 4, 2, 1] : tensor<2x3x4x2xf32> into tensor<2x3x4x2x1xf32>
  %e = tensor.expand_shape %5 [[0], [1], [2], [3, 4]] output_shape [2, 3, 4, 2, 1] : tensor<2x3x4x2xf32> into tensor<2x3x4x2x1xf32>
  %f = tensor.concat dim(4) %d, %e : (tensor<2x3x4x2x1xf32>, tensor<2x3x4x2x1xf32>) -> tensor<2x3x4x2x2xf32>
  %6 = tensor.collapse_shape %f [[0], [1], [2], [3, 4]] : tensor<2x3x4x2x2xf32> into tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// Neighbours, the second ones first.
// CHECK-LABEL: @swapped_neighbours(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @swapped_neighbours(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
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
  %6 = tensor.concat dim(3) %5, %2 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// The halves are exchanged.
// CHECK-LABEL: @swapped(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @swapped(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
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
  %6 = tensor.concat dim(3) %5, %2 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// Both signs are plus: a reflection.
// CHECK-LABEL: @reflected(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @reflected(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
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
  %5 = arith.addf %3, %4 : tensor<2x3x4x2xf32>
  %6 = tensor.concat dim(3) %2, %5 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// Cosines and sines are exchanged.
// CHECK-LABEL: @exchanged(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @exchanged(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
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

// One entry is a few units off.
// CHECK-LABEL: @entry(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @entry(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995506406e-01]]> : tensor<4x2xf32>
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

// Tables are scaled: cosines times 1.1.
// CHECK-LABEL: @scaled(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @scaled(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.100000024e+00, 1.100000024e+00], [5.943325162e-01, 1.099944949e+00], [-4.577615261e-01, 1.099779963e+00], [-1.088991761e+00, 1.099505067e+00]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [9.256181121e-01, 1.099981647e-02], [1.000227213e+00, 2.199853212e-02], [1.552320123e-01, 3.299504891e-02]]> : tensor<4x2xf32>
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

// Positions begin at 1.
// CHECK-LABEL: @from_one(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @from_one(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01], [-6.536436081e-01, 9.992001057e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999550104e-02], [-7.568024993e-01, 3.998933360e-02]]> : tensor<4x2xf32>
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

// A position occurs twice.
// CHECK-LABEL: @twice(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @twice(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-4.161468446e-01, 9.998000264e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [9.092974067e-01, 1.999866590e-02]]> : tensor<4x2xf32>
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

// The halves have other frequencies.
// CHECK-LABEL: @two_tables(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @two_tables(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01, 5.403022766e-01, 9.998000264e-01], [-4.161468446e-01, 9.998000264e-01, -4.161468446e-01, 9.992001057e-01], [-9.899924994e-01, 9.995500445e-01, -9.899924994e-01, 9.982005358e-01]]> : tensor<4x4xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00, 0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03, 8.414709568e-01, 1.999866590e-02], [9.092974067e-01, 1.999866590e-02, 9.092974067e-01, 3.998933360e-02], [1.411200017e-01, 2.999549918e-02, 1.411200017e-01, 5.996400490e-02]]> : tensor<4x4xf32>
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

// The tables are an input.
// CHECK-LABEL: @input(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @input(%x: tensor<2x3x4x4xf32>, %c: tensor<4x2xf32>, %s: tensor<4x2xf32>) -> tensor<2x3x4x4xf32> {
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

// Two dimensions of positions: cosines of the one, sines of the other.
// CHECK-LABEL: @two_dims(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @two_dims(%x: tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %cb = nn.broadcast %c dims [1, 3] : tensor<4x2xf32> -> tensor<2x4x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x4x4x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 4, 4, 2] [1, 1, 1, 1] : tensor<2x4x4x4xf32> to tensor<2x4x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 4, 4, 2] [1, 1, 1, 1] : tensor<2x4x4x4xf32> to tensor<2x4x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x4x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x4x4x2xf32>
  %2 = arith.subf %0, %1 : tensor<2x4x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x4x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x4x4x2xf32>
  %5 = arith.addf %3, %4 : tensor<2x4x4x2xf32>
  %6 = tensor.concat dim(3) %2, %5 : (tensor<2x4x4x2xf32>, tensor<2x4x4x2xf32>) -> tensor<2x4x4x4xf32>
  return %6 : tensor<2x4x4x4xf32>
}

// -----

// A half has another use.
// CHECK-LABEL: @used(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @used(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
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
  %7 = tensor.concat dim(3) %2, %5 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %8 = tensor.concat dim(3) %2, %2 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %6 = arith.addf %7, %8 : tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// f8 between f32.
// CHECK-LABEL: @narrow(
// CHECK-NOT: nn.rope
// CHECK: return
func.func @narrow(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01, 5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01, -4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01, -9.899924994e-01, 9.995500445e-01]]> : tensor<4x4xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00, 0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03, 8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02, 9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02, 1.411200017e-01, 2.999549918e-02]]> : tensor<4x4xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %n = arith.negf %high : tensor<2x3x4x2xf32>
  %r = tensor.concat dim(3) %n, %low : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %0 = arith.mulf %x, %cb : tensor<2x3x4x4xf32>
  %y = arith.truncf %r : tensor<2x3x4x4xf32> to tensor<2x3x4x4xf8E4M3FN>
  %w = arith.extf %y : tensor<2x3x4x4xf8E4M3FN> to tensor<2x3x4x4xf32>
  %1 = arith.mulf %w, %sb : tensor<2x3x4x4xf32>
  %6 = arith.addf %0, %1 : tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// Rows that are too long for a head.
// CHECK-LABEL: @wide(
// CHECK: arith.negf
// CHECK: return
func.func @wide(%x: tensor<2x4x1099511627776xf32>) -> tensor<2x4x1099511627776xf32> {
  %0 = arith.negf %x : tensor<2x4x1099511627776xf32>
  %1 = arith.addf %0, %x : tensor<2x4x1099511627776xf32>
  return %1 : tensor<2x4x1099511627776xf32>
}
