// Ops of linalg become the ops of their bodies on tensors.
// RUN: tessera-opt %s --nn-lift-linalg --split-input-file | FileCheck %s
// RUN: tessera-opt %s --nn-lift-linalg --split-input-file --remarks-filter=import -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A matmul, whose zeros are erased; one that adds to its init.
// CHECK-LABEL: @matmuls(
// CHECK-NEXT: %[[Y:.+]] = nn.einsum "ac,cb->ab" %arg0, %arg1 : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
// CHECK-NEXT: %[[Z:.+]] = nn.einsum "ac,cb->ab" %arg0, %arg1
// CHECK-NEXT: %[[S:.+]] = arith.addf %[[Z]], %arg2
// CHECK-NEXT: return %[[Y]], %[[S]]
func.func @matmuls(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %init: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%zeros : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%init : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// bf16 operands of a sum in f32; batches.
// CHECK-LABEL: @batch(
// CHECK-DAG: %[[X:.+]] = arith.extf %arg0 : tensor<2x8x16xbf16> to tensor<2x8x16xf32>
// CHECK-DAG: %[[W:.+]] = arith.extf %arg1 : tensor<2x16x4xbf16> to tensor<2x16x4xf32>
// CHECK: nn.einsum "abd,adc->abc" %[[X]], %[[W]]
func.func @batch(%x: tensor<2x8x16xbf16>, %w: tensor<2x16x4xbf16>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %0 = linalg.batch_matmul ins(%x, %w : tensor<2x8x16xbf16>, tensor<2x16x4xbf16>) outs(%zeros : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %0 : tensor<2x8x4xf32>
}

// -----

// A constant of the body.
// CHECK-LABEL: @constant(
// CHECK: %[[TWO:.+]] = arith.constant dense<2.000000e+00> : tensor<4x8xf32>
// CHECK: %[[R:.+]] = arith.mulf %arg0, %[[TWO]]
// CHECK: return %[[R]]
func.func @constant(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %c = arith.constant 2.0 : f32
    %r = arith.mulf %in, %c : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A body of several ops: an op of one loop is computed along that loop only.
// CHECK-LABEL: @body(
// CHECK: %[[TWO:.+]] = arith.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK: %[[B:.+]] = arith.mulf %arg1, %[[TWO]] : tensor<4xf32>
// CHECK: %[[ALL:.+]] = nn.broadcast %[[B]] dims [1] : tensor<4xf32> -> tensor<8x4xf32>
// CHECK: %[[S:.+]] = arith.addf %arg0, %[[ALL]]
// CHECK: %[[T:.+]] = nn.transpose %[[S]] [1, 0]
// CHECK: return %[[T]]
func.func @body(%x: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<4x8xf32> {
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j, i)>], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<8x4xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%y: f32, %c: f32, %out: f32):
    %1 = arith.mulf %c, %two : f32
    %2 = arith.addf %y, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A maximum from minus infinity, a sum of squares; a mask by positions.
// CHECK-LABEL: @reductions(
// CHECK: %[[M:.+]] = nn.reduce <max> %arg0 dims [1]
// CHECK: %[[Q:.+]] = arith.mulf %arg0, %arg0
// CHECK: %[[S:.+]] = nn.reduce <sum> %[[Q]] dims [1]
// CHECK: return %[[M]], %[[S]]
func.func @reductions(%x: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %low = arith.constant dense<0xFF800000> : tensor<8xf32>
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  %0 = linalg.reduce ins(%x : tensor<8x4xf32>) outs(%low : tensor<8xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %2 = arith.maximumf %in, %out : f32
      linalg.yield %2 : f32
    }
  %1 = linalg.reduce ins(%x : tensor<8x4xf32>) outs(%zeros : tensor<8xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %2 = arith.mulf %in, %in : f32
      %3 = arith.addf %2, %out : f32
      linalg.yield %3 : f32
    }
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: @positions(
// CHECK-DAG: %[[I:.+]] = nn.iota : tensor<8xi64>
// CHECK-DAG: %[[J:.+]] = nn.iota : tensor<8xi64>
// CHECK: %[[C:.+]] = arith.cmpi sge
// CHECK: arith.select %[[C]], %arg0, %{{.*}} : tensor<8x8xi1>, tensor<8x8xf32>
func.func @positions(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %hidden = arith.constant -1.0e9 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%y: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %1 = arith.cmpi sge, %i, %j : index
    %2 = arith.select %1, %y, %hidden : f32
    linalg.yield %2 : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// Rows of a table, one element of each row; dimensions of size 1.
// CHECK-LABEL: @gathers(
// CHECK: nn.embedding %arg0, %arg1 : tensor<32x16xf32>, tensor<2x8xi64> -> tensor<2x8x16xf32>
// CHECK: nn.take_along_axis %arg2, %arg1 : tensor<2x8x32xf32>, tensor<2x8xi64> -> tensor<2x8xf32>
// CHECK: %[[B:.+]] = tensor.collapse_shape %arg3 {{\[\[}}0, 1]] : tensor<1x16xf32> into tensor<16xf32>
// CHECK: nn.broadcast %[[B]] dims [1] : tensor<16xf32> -> tensor<2x16xf32>
func.func @gathers(%table: tensor<32x16xf32>, %ids: tensor<2x8xi64>, %logits: tensor<2x8x32xf32>, %row: tensor<1x16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x16xf32>) {
  %e = tensor.empty() : tensor<2x8x16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%ids : tensor<2x8xi64>) outs(%e : tensor<2x8x16xf32>) {
  ^bb0(%id: i64, %out: f32):
    %3 = arith.index_cast %id : i64 to index
    %4 = linalg.index 2 : index
    %5 = tensor.extract %table[%3, %4] : tensor<32x16xf32>
    linalg.yield %5 : f32
  } -> tensor<2x8x16xf32>
  %f = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(b, s) -> (b, s)>, affine_map<(b, s) -> (b, s)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<2x8xi64>) outs(%f : tensor<2x8xf32>) {
  ^bb0(%id: i64, %out: f32):
    %b = linalg.index 0 : index
    %s = linalg.index 1 : index
    %3 = arith.index_cast %id : i64 to index
    %5 = tensor.extract %logits[%b, %s, %3] : tensor<2x8x32xf32>
    linalg.yield %5 : f32
  } -> tensor<2x8xf32>
  %g = tensor.empty() : tensor<2x16xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (0, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%row : tensor<1x16xf32>) outs(%g : tensor<2x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x16xf32>
  return %0, %1, %2 : tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x16xf32>
}

// -----

// Unsupported ops stay: windows, products, a table that is indexed by the
// result of an op.
// CHECK-LABEL: @stays(
// CHECK: linalg.conv_1d
// CHECK: linalg.reduce
// CHECK: linalg.generic
// REMARK: NotLifted {{.*}} Remark=linalg.conv_1d
// REMARK: NotLifted {{.*}} Remark=linalg.reduce
// REMARK: NotLifted {{.*}} Remark=linalg.generic
func.func @stays(%x: tensor<8xf32>, %w: tensor<3xf32>, %ids: tensor<6xi64>) -> (tensor<6xf32>, tensor<f32>, tensor<6xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<6xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %0 = linalg.conv_1d ins(%x, %w : tensor<8xf32>, tensor<3xf32>) outs(%zeros : tensor<6xf32>) -> tensor<6xf32>
  %1 = linalg.reduce ins(%x : tensor<8xf32>) outs(%one : tensor<f32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %3 = arith.mulf %in, %out : f32
      linalg.yield %3 : f32
    }
  %2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%ids : tensor<6xi64>) outs(%zeros : tensor<6xf32>) {
  ^bb0(%id: i64, %out: f32):
    %3 = arith.addi %id, %id : i64
    %4 = arith.index_cast %3 : i64 to index
    %5 = tensor.extract %x[%4] : tensor<8xf32>
    linalg.yield %5 : f32
  } -> tensor<6xf32>
  return %0, %1, %2 : tensor<6xf32>, tensor<f32>, tensor<6xf32>
}
