// A constraint inside of a group moves to the nearest operand or result of the op.
// RUN: tessera-opt %s --nn-fold-shapes --nn-raise --nn-fold-shapes --cse --split-input-file | FileCheck %s

dist.mesh @mesh ["dp"=2, "tp"=2]

// The normalized value, before gamma: the result is nearer.
// CHECK-LABEL: @rms_norm(
// CHECK-NEXT: %[[Y:.+]] = nn.rms_norm %arg0, %arg1 eps
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[Y]] <@mesh, [{"dp"}, {}, {"tp"}]> : tensor<2x4x16xf32>
// CHECK-NEXT: return %[[C]]
func.func @rms_norm(%arg0: tensor<2x4x16xf32>, %arg1: tensor<16xf32>) -> tensor<2x4x16xf32> {
  %cst = arith.constant dense<9.99999997E-7> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %1 = nn.reduce <sum> %0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %2 = arith.divf %1, %cst_0 : tensor<2x4xf32>
  %3 = arith.addf %2, %cst : tensor<2x4xf32>
  %4 = math.sqrt %3 : tensor<2x4xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %6 = arith.divf %arg0, %5 : tensor<2x4x16xf32>
  %c = dist.constraint %6 <@mesh, [{"dp"}, {}, {"tp"}]> : tensor<2x4x16xf32>
  %7 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %8 = arith.mulf %c, %7 : tensor<2x4x16xf32>
  return %8 : tensor<2x4x16xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Squares, in which the result is not elementwise: the operand, for this norm
// only. A number per row, here with a dimension of size 1: the result, whose last
// dimension stays open. Another constraint of the result may fix that dimension.
// CHECK-LABEL: @rms_norm_squares(
// CHECK-NEXT: %[[X:.+]] = dist.constraint %arg0 <@mesh, [{"dp"}, {}, {}]> : tensor<2x4x16xf32>
// CHECK-NEXT: %[[Y:.+]] = nn.rms_norm %[[X]], %arg1 eps
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[Y]] <@mesh, [{"dp"}, {"tp"}, {}]> : tensor<2x4x16xf32>
// CHECK-NEXT: %[[R:.+]] = arith.addf %arg0, %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @rms_norm_squares(%arg0: tensor<2x4x16xf32>, %arg1: tensor<16xf32>) -> tensor<2x4x16xf32> {
  %cst = arith.constant dense<9.99999997E-7> : tensor<2x4x1xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %c = dist.constraint %0 <@mesh, [{"dp"}, {}, {}]> : tensor<2x4x16xf32>
  %1 = nn.reduce <sum> %c dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %2 = arith.divf %1, %cst_0 : tensor<2x4xf32>
  %k = tensor.expand_shape %2 [[0], [1, 2]] output_shape [2, 4, 1] : tensor<2x4xf32> into tensor<2x4x1xf32>
  %d = dist.constraint %k <@mesh, [{"dp"}, {"tp"}, {}]> : tensor<2x4x1xf32>
  %3 = arith.addf %d, %cst : tensor<2x4x1xf32>
  %4 = math.sqrt %3 : tensor<2x4x1xf32>
  %s = tensor.collapse_shape %4 [[0], [1, 2]] : tensor<2x4x1xf32> into tensor<2x4xf32>
  %5 = nn.broadcast %s dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %6 = arith.divf %arg0, %5 : tensor<2x4x16xf32>
  %e = dist.constraint %6 <@mesh, [{?}, {?}, {}]> : tensor<2x4x16xf32>
  %7 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %8 = arith.mulf %e, %7 : tensor<2x4x16xf32>
  %9 = arith.addf %arg0, %8 : tensor<2x4x16xf32>
  return %9 : tensor<2x4x16xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Before and after: the first op after the operand, the last before the result.
// CHECK-LABEL: @gelu(
// CHECK-NEXT: %[[X:.+]] = dist.constraint %arg0 <@mesh, [{"dp"}, {?}, {"tp"}]>
// CHECK-NEXT: %[[G:.+]] = nn.gelu <tanh> %[[X]]
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[G]] <@mesh, [{"dp"}, {}, {}]>
// CHECK-NEXT: return %[[C]]
func.func @gelu(%arg0: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %cst = arith.constant dense<5.000000e-01> : tensor<2x4x16xf32>
  %cst_0 = arith.constant dense<1.000000e+00> : tensor<2x4x16xf32>
  %cst_1 = arith.constant dense<0.797884583> : tensor<2x4x16xf32>
  %cst_2 = arith.constant dense<4.471500e-02> : tensor<2x4x16xf32>
  %2 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %c = dist.constraint %2 <@mesh, [{"dp"}, {?}, {"tp"}]> : tensor<2x4x16xf32>
  %3 = arith.mulf %c, %arg0 : tensor<2x4x16xf32>
  %4 = arith.mulf %3, %cst_2 : tensor<2x4x16xf32>
  %5 = arith.addf %arg0, %4 : tensor<2x4x16xf32>
  %6 = arith.mulf %5, %cst_1 : tensor<2x4x16xf32>
  %7 = math.tanh %6 : tensor<2x4x16xf32>
  %8 = arith.addf %7, %cst_0 : tensor<2x4x16xf32>
  %9 = arith.mulf %8, %cst : tensor<2x4x16xf32>
  %d = dist.constraint %9 <@mesh, [{"dp"}, {}, {}]> : tensor<2x4x16xf32>
  %10 = arith.mulf %arg0, %d : tensor<2x4x16xf32>
  return %10 : tensor<2x4x16xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// A loss has no classes: log probabilities have the logits' constraint.
// CHECK-LABEL: @cross_entropy(
// CHECK-NEXT: %[[X:.+]] = dist.constraint %arg0 <@mesh, [{"dp"}, {}, {"tp"}]>
// CHECK-NEXT: %[[L:.+]] = nn.cross_entropy %[[X]], %arg1
// CHECK-NEXT: %[[N:.+]] = arith.negf %[[L]]
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[N]] <@mesh, [{"dp"}, {?}]> : tensor<2x4xf32>
// CHECK-NEXT: arith.negf %[[C]]
func.func @cross_entropy(%arg0: tensor<2x4x16xf32>, %arg1: tensor<2x4xi32>) -> tensor<2x4xf32> {
  %0 = nn.reduce <max> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %1 = nn.broadcast %0 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %2 = arith.subf %arg0, %1 : tensor<2x4x16xf32>
  %3 = math.exp %2 : tensor<2x4x16xf32>
  %4 = nn.reduce <sum> %3 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %d = dist.constraint %4 <@mesh, [{"dp"}, {?}]> : tensor<2x4xf32>
  %5 = math.log %d : tensor<2x4xf32>
  %6 = nn.broadcast %5 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %7 = arith.subf %2, %6 : tensor<2x4x16xf32>
  %c = dist.constraint %7 <@mesh, [{"dp"}, {}, {"tp"}]> : tensor<2x4x16xf32>
  %8 = nn.take_along_axis %c, %arg1 : tensor<2x4x16xf32>, tensor<2x4xi32> -> tensor<2x4xf32>
  %9 = arith.negf %8 : tensor<2x4xf32>
  return %9 : tensor<2x4xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Scores: heads and queries are the result's; keys, which stay whole, are the
// keys' and values'. The softmax inside is raised first.
// CHECK-LABEL: @attention(
// CHECK-DAG: %[[K:.+]] = dist.constraint %arg1 <@mesh, [{?}, {}, {?}, {?}]> : tensor<2x8x4x4xf32>
// CHECK-DAG: %[[V:.+]] = dist.constraint %arg2 <@mesh, [{?}, {}, {?}, {?}]> : tensor<2x8x4x4xf32>
// CHECK: %[[A:.+]] = nn.attention scale 5.0{{0*}}e-01 %{{.+}}, %[[K]], %[[V]]
// CHECK: %[[C:.+]] = dist.constraint %[[A]] <@mesh, [{"dp"}, {}, {"tp"}, {}, {?}]> : tensor<2x8x4x1x4xf32>
// CHECK-NEXT: %[[R:.+]] = tensor.collapse_shape %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @attention(%arg0: tensor<2x8x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> {
  %cst = arith.constant dense<2.000000e+00> : tensor<2x4x8x8xf32>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32> -> tensor<2x4x8x8xf32>
  %c = dist.constraint %0 <@mesh, [{"dp"}, {"tp"}, {}, {}]> : tensor<2x4x8x8xf32>
  %1 = arith.divf %c, %cst : tensor<2x4x8x8xf32>
  %2 = nn.reduce <max> %1 dims [3] : tensor<2x4x8x8xf32> -> tensor<2x4x8xf32>
  %3 = nn.broadcast %2 dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<2x4x8x8xf32>
  %4 = arith.subf %1, %3 : tensor<2x4x8x8xf32>
  %5 = math.exp %4 : tensor<2x4x8x8xf32>
  %e = dist.constraint %5 <@mesh, [{"dp"}, {"tp"}, {}, {}]> : tensor<2x4x8x8xf32>
  %6 = nn.reduce <sum> %e dims [3] : tensor<2x4x8x8xf32> -> tensor<2x4x8xf32>
  %7 = nn.broadcast %6 dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<2x4x8x8xf32>
  %8 = arith.divf %e, %7 : tensor<2x4x8x8xf32>
  %9 = nn.einsum "acbd,abec->aebd" %arg2, %8 : tensor<2x8x4x4xf32>, tensor<2x4x8x8xf32> -> tensor<2x8x4x4xf32>
  return %9 : tensor<2x8x4x4xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Sharded keys, and heads that share keys and values; an open dimension of keys
// fixes nothing.
// CHECK-LABEL: @attention_keys(
// CHECK-DAG: %[[K:.+]] = dist.constraint %arg1 <@mesh, [{?}, {"tp"}, {?}, {?}]> : tensor<2x8x2x4xf32>
// CHECK-DAG: %[[V:.+]] = dist.constraint %arg2 <@mesh, [{?}, {"tp"}, {?}, {?}]> : tensor<2x8x2x4xf32>
// CHECK: %[[A:.+]] = nn.attention scale 1.0{{.*}}, %[[K]], %[[V]]
// CHECK: %[[C:.+]] = dist.constraint %[[A]] <@mesh, [{"dp"}, {?}, {}, {}, {?}]> : tensor<2x8x2x2x4xf32>
// CHECK-NEXT: %[[R:.+]] = tensor.collapse_shape %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @attention_keys(%arg0: tensor<2x8x4x4xf32>, %arg1: tensor<2x8x2x4xf32>, %arg2: tensor<2x8x2x4xf32>) -> tensor<2x8x4x4xf32> {
  %0 = nn.broadcast %arg1 dims [0, 1, 2, 4] : tensor<2x8x2x4xf32> -> tensor<2x8x2x2x4xf32>
  %1 = tensor.collapse_shape %0 [[0], [1], [2, 3], [4]] : tensor<2x8x2x2x4xf32> into tensor<2x8x4x4xf32>
  %2 = nn.broadcast %arg2 dims [0, 1, 2, 4] : tensor<2x8x2x4xf32> -> tensor<2x8x2x2x4xf32>
  %3 = tensor.collapse_shape %2 [[0], [1], [2, 3], [4]] : tensor<2x8x2x2x4xf32> into tensor<2x8x4x4xf32>
  %6 = nn.einsum "adbc,aebc->abde" %arg0, %1 : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32> -> tensor<2x4x8x8xf32>
  %7 = nn.softmax %6 dim 3 : tensor<2x4x8x8xf32>
  %c = dist.constraint %7 <@mesh, [{"dp"}, {}, {?}, {"tp"}]> : tensor<2x4x8x8xf32>
  %8 = nn.einsum "acbd,abec->aebd" %3, %c : tensor<2x8x4x4xf32>, tensor<2x4x8x8xf32> -> tensor<2x8x4x4xf32>
  return %8 : tensor<2x8x4x4xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Half of a rotated row: a dimension without axes stays whole.
// CHECK-LABEL: @rope(
// CHECK-NEXT: %[[Y:.+]] = nn.rope %arg0 dim 2
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[Y]] <@mesh, [{"dp"}, {?}, {}, {}]> : tensor<2x3x4x4xf32>
// CHECK-NEXT: return %[[C]]
func.func @rope(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x3x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x3x4x2xf32>
  %2 = arith.subf %0, %1 : tensor<2x3x4x2xf32>
  %k = dist.constraint %2 <@mesh, [{"dp"}, {?}, {}, {}]> : tensor<2x3x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x3x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x3x4x2xf32>
  %5 = arith.addf %3, %4 : tensor<2x3x4x2xf32>
  %6 = tensor.concat dim(3) %k, %5 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// A number per row alone leaves the last dimension open.
// CHECK-LABEL: @softmax(
// CHECK-NEXT: %[[Y:.+]] = nn.softmax %arg0 dim 2
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[Y]] <@mesh, [{"dp"}, {"tp"}, {?}]> : tensor<2x4x16xf32>
// CHECK-NEXT: return %[[C]]
func.func @softmax(%arg0: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %0 = nn.reduce <max> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %c = dist.constraint %0 <@mesh, [{"dp"}, {"tp"}]> : tensor<2x4xf32>
  %1 = nn.broadcast %c dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %2 = arith.subf %arg0, %1 : tensor<2x4x16xf32>
  %3 = math.exp %2 : tensor<2x4x16xf32>
  %4 = nn.reduce <sum> %3 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %6 = arith.divf %3, %5 : tensor<2x4x16xf32>
  return %6 : tensor<2x4x16xf32>
}
