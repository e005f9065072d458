// Changes of shape that other ops can do are erased.
// RUN: tessera-opt %s --nn-fold-shapes --split-input-file | FileCheck %s

// Statistics of rows with a dimension of size 1.
// CHECK-LABEL: @keepdims
// CHECK-SAME: %[[X:.+]]: tensor<8xf32>
// CHECK-DAG: %[[EPS:.+]] = arith.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK: %[[SUM:.+]] = arith.addf %[[X]], %[[EPS]] : tensor<8xf32>
// CHECK-NEXT: %[[ROOT:.+]] = math.rsqrt %[[SUM]] : tensor<8xf32>
// CHECK-NEXT: %[[ROWS:.+]] = nn.broadcast %[[ROOT]] dims [0] : tensor<8xf32> -> tensor<8x16xf32>
// CHECK-NEXT: return %[[ROWS]]
func.func @keepdims(%x: tensor<8xf32>) -> tensor<8x16xf32> {
  %eps = arith.constant dense<1.0> : tensor<8x1xf32>
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  %1 = arith.addf %0, %eps : tensor<8x1xf32>
  %2 = math.rsqrt %1 : tensor<8x1xf32>
  %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<8x1xf32> into tensor<8xf32>
  %4 = nn.broadcast %3 dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

// -----

// Broadcasts of other dimensions stay in place.
// CHECK-LABEL: @outer
// CHECK-COUNT-2: nn.broadcast
// CHECK: arith.mulf {{.*}} : tensor<8x16xf32>
func.func @outer(%x: tensor<8xf32>, %y: tensor<16xf32>) -> tensor<8x16xf32> {
  %0 = nn.broadcast %x dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  %1 = nn.broadcast %y dims [1] : tensor<16xf32> -> tensor<8x16xf32>
  %2 = arith.mulf %0, %1 : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// -----

// A dimension that no operand has comes after the op.
// CHECK-LABEL: @batch_of_masks
// CHECK: arith.cmpi sge, {{.*}} : tensor<8x8xi32>
// CHECK-NEXT: %[[MASK:.+]] = arith.uitofp {{.*}} : tensor<8x8xi1> to tensor<8x8xf32>
// CHECK-NEXT: nn.broadcast %[[MASK]] dims [2, 3] : tensor<8x8xf32> -> tensor<2x3x8x8xf32>
func.func @batch_of_masks() -> tensor<2x3x8x8xf32> {
  %0 = nn.iota : tensor<8xi32>
  %1 = nn.broadcast %0 dims [1] : tensor<8xi32> -> tensor<2x8x8xi32>
  %2 = nn.broadcast %0 dims [2] : tensor<8xi32> -> tensor<2x8x8xi32>
  %3 = arith.cmpi sge, %1, %2 : tensor<2x8x8xi32>
  %4 = arith.uitofp %3 : tensor<2x8x8xi1> to tensor<2x8x8xf32>
  %5 = nn.broadcast %4 dims [0, 2, 3] : tensor<2x8x8xf32> -> tensor<2x3x8x8xf32>
  return %5 : tensor<2x3x8x8xf32>
}

// -----

// CHECK-LABEL: @reduce
// CHECK-SAME: %[[X:.+]]: tensor<8x4xf32>
// CHECK-NEXT: %[[SUM:.+]] = nn.reduce <sum> %[[X]] dims [1] : tensor<8x4xf32> -> tensor<8xf32>
// CHECK-NEXT: return %[[SUM]]
func.func @reduce(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [8, 1, 4] : tensor<8x4xf32> into tensor<8x1x4xf32>
  %1 = nn.reduce <sum> %0 dims [1, 2] : tensor<8x1x4xf32> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// CHECK-LABEL: @transposes
// CHECK-SAME: %[[X:.+]]: tensor<2x3x4xf32>, %[[Y:.+]]: tensor<4xf32>
// CHECK-NEXT: %[[T:.+]] = nn.transpose %[[X]] [2, 1, 0]
// CHECK-NEXT: %[[B:.+]] = nn.broadcast %[[Y]] dims [0] : tensor<4xf32> -> tensor<4x3x2xf32>
// CHECK-NEXT: return %[[X]], %[[T]], %[[B]]
func.func @transposes(%x: tensor<2x3x4xf32>, %y: tensor<4xf32>)
    -> (tensor<2x3x4xf32>, tensor<4x3x2xf32>, tensor<4x3x2xf32>) {
  %0 = nn.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %1 = nn.transpose %0 [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  %2 = nn.transpose %0 [0, 2, 1] : tensor<4x2x3xf32> -> tensor<4x3x2xf32>
  %3 = nn.broadcast %y dims [2] : tensor<4xf32> -> tensor<2x3x4xf32>
  %4 = nn.transpose %3 [2, 1, 0] : tensor<2x3x4xf32> -> tensor<4x3x2xf32>
  return %1, %2, %4 : tensor<2x3x4xf32>, tensor<4x3x2xf32>, tensor<4x3x2xf32>
}

// -----

// CHECK-LABEL: @matmul
// CHECK-NEXT: nn.einsum "bsd,ed->esb"
// CHECK-NEXT: return
func.func @matmul(%x: tensor<2x8x16xf32>, %w: tensor<4x16xf32>) -> tensor<4x8x2xf32> {
  %0 = nn.transpose %w [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>
  %1 = nn.einsum "bsd,de->bse" %x, %0 : tensor<2x8x16xf32>, tensor<16x4xf32> -> tensor<2x8x4xf32>
  %2 = nn.transpose %1 [2, 1, 0] : tensor<2x8x4xf32> -> tensor<4x8x2xf32>
  return %2 : tensor<4x8x2xf32>
}

// -----

// Keys that are repeated for each head of a group; a dimension that is reduced
// stays.
// CHECK-LABEL: @groups
// CHECK-NEXT: nn.einsum "bsgrk,btgk->bgrst"
// CHECK-NEXT: %[[Y:.+]] = nn.broadcast
// CHECK-NEXT: nn.einsum "ab,ab->a" %{{.*}}, %[[Y]]
func.func @groups(%q: tensor<2x8x2x3x4xf32>, %k: tensor<2x8x2x4xf32>, %x: tensor<8x16xf32>, %y: tensor<8xf32>)
    -> (tensor<2x2x3x8x8xf32>, tensor<8xf32>) {
  %0 = nn.broadcast %k dims [0, 1, 2, 4] : tensor<2x8x2x4xf32> -> tensor<2x8x2x3x4xf32>
  %1 = nn.einsum "bsgrk,btgrk->bgrst" %q, %0 : tensor<2x8x2x3x4xf32>, tensor<2x8x2x3x4xf32> -> tensor<2x2x3x8x8xf32>
  %2 = nn.broadcast %y dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  %3 = nn.einsum "ab,ab->a" %x, %2 : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8xf32>
  return %1, %3 : tensor<2x2x3x8x8xf32>, tensor<8xf32>
}

// -----

// An op with shardings stays.
// CHECK-LABEL: @seam
// CHECK: math.exp {{.*}} : tensor<8x16xf32>
func.func @seam(%x: tensor<8xf32>) -> tensor<8x16xf32> {
  %0 = nn.broadcast %x dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  %1 = math.exp %0 {nn.dims = ["seq", "embed"]} : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

// A dimension of size 1 is dropped before a transpose, which the matmul takes.
// CHECK-LABEL: @drop
// CHECK-SAME: %[[X:.+]]: tensor<2x8x3x1x4xf32>
// CHECK-NEXT: %[[Y:.+]] = tensor.collapse_shape %[[X]] {{.*}} into tensor<2x8x3x4xf32>
// CHECK-NEXT: nn.einsum "bshk,hkd->bsd" %[[Y]]
func.func @drop(%x: tensor<2x8x3x1x4xf32>, %w: tensor<3x4x16xf32>) -> tensor<2x8x16xf32> {
  %0 = nn.transpose %x [0, 2, 3, 1, 4] : tensor<2x8x3x1x4xf32> -> tensor<2x3x1x8x4xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2], [3], [4]] : tensor<2x3x1x8x4xf32> into tensor<2x3x8x4xf32>
  %2 = nn.einsum "bhsk,hkd->bsd" %1, %w : tensor<2x3x8x4xf32>, tensor<3x4x16xf32> -> tensor<2x8x16xf32>
  return %2 : tensor<2x8x16xf32>
}

// -----

// A constraint moves before dimensions of size 1, and before a transpose, which
// the matmul takes; not if it shards a dimension of size 1.
dist.mesh @mesh ["dp"=2, "tp"=2]

// CHECK-LABEL: @constraint(
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x8x3x4xf32>, %{{[^:]+}}: tensor<3x4x16xf32>, %[[Z:[^:]+]]: tensor<8xf32>
// CHECK-DAG: %[[C:.+]] = dist.constraint %[[X]] <@mesh, [{"dp"}, {?}, {"tp"}, {}]> : tensor<2x8x3x4xf32>
// CHECK-DAG: nn.einsum "bshk,hkd->bsd" %[[C]]
// CHECK-DAG: %[[D:.+]] = dist.constraint %[[Z]] <@mesh, [{"dp"}]> : tensor<8xf32>
// CHECK-DAG: nn.broadcast %[[D]] dims [0] : tensor<8xf32> -> tensor<8x16xf32>
// CHECK-DAG: dist.constraint %{{.+}} <@mesh, [{"dp"}, {"tp"}]> : tensor<8x1xf32>
func.func @constraint(%x: tensor<2x8x3x4xf32>, %w: tensor<3x4x16xf32>, %z: tensor<8xf32>) -> (tensor<2x8x16xf32>, tensor<8x16xf32>, tensor<8x1xf32>) {
  %0 = nn.transpose %x [0, 2, 1, 3] : tensor<2x8x3x4xf32> -> tensor<2x3x8x4xf32>
  %1 = dist.constraint %0 <@mesh, [{"dp"}, {"tp"}, {?}, {}]> : tensor<2x3x8x4xf32>
  %2 = nn.einsum "bhsk,hkd->bsd" %1, %w : tensor<2x3x8x4xf32>, tensor<3x4x16xf32> -> tensor<2x8x16xf32>
  %3 = tensor.expand_shape %z [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  %4 = dist.constraint %3 <@mesh, [{"dp"}, {}]> : tensor<8x1xf32>
  %5 = tensor.collapse_shape %4 [[0, 1]] : tensor<8x1xf32> into tensor<8xf32>
  %6 = nn.broadcast %5 dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  %7 = dist.constraint %3 <@mesh, [{"dp"}, {"tp"}]> : tensor<8x1xf32>
  return %2, %6, %7 : tensor<2x8x16xf32>, tensor<8x16xf32>, tensor<8x1xf32>
}

// -----

// A batch of one is an ordinary dimension.
// CHECK-LABEL: @one_row
// CHECK-SAME: %[[X:.+]]: tensor<1x8xf32>
// CHECK: %[[SUM:.+]] = arith.addf %[[X]], %{{.+}} : tensor<1x8xf32>
// CHECK-NEXT: %[[ROOT:.+]] = math.rsqrt %[[SUM]] : tensor<1x8xf32>
// CHECK-NEXT: %[[ROWS:.+]] = nn.broadcast %[[ROOT]] dims [0, 1] : tensor<1x8xf32> -> tensor<1x8x16xf32>
// CHECK-NEXT: return %[[ROWS]]
func.func @one_row(%x: tensor<1x8xf32>) -> tensor<1x8x16xf32> {
  %eps = arith.constant dense<1.0> : tensor<1x8x1xf32>
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [1, 8, 1] : tensor<1x8xf32> into tensor<1x8x1xf32>
  %1 = arith.addf %0, %eps : tensor<1x8x1xf32>
  %2 = math.rsqrt %1 : tensor<1x8x1xf32>
  %3 = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<1x8x1xf32> into tensor<1x8xf32>
  %4 = nn.broadcast %3 dims [0, 1] : tensor<1x8xf32> -> tensor<1x8x16xf32>
  return %4 : tensor<1x8x16xf32>
}

// -----

// CHECK-LABEL: @one_batch
// CHECK-SAME: %[[X:.+]]: tensor<1x8x4xf32>, %[[B:.+]]: tensor<4xf32>
// CHECK-NEXT: %[[ROWS:.+]] = nn.broadcast %[[B]] dims [2] : tensor<4xf32> -> tensor<1x8x4xf32>
// CHECK-NEXT: %[[SUM:.+]] = arith.addf %[[X]], %[[ROWS]] : tensor<1x8x4xf32>
// CHECK-NEXT: return %[[SUM]]
func.func @one_batch(%x: tensor<1x8x4xf32>, %b: tensor<4xf32>) -> tensor<1x8x4xf32> {
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x8x4xf32> into tensor<8x4xf32>
  %1 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %2 = arith.addf %0, %1 : tensor<8x4xf32>
  %3 = tensor.expand_shape %2 [[0, 1], [2]] output_shape [1, 8, 4] : tensor<8x4xf32> into tensor<1x8x4xf32>
  return %3 : tensor<1x8x4xf32>
}

// -----

// Two dimensions of size 1 become one.
// CHECK-LABEL: @units
// CHECK-SAME: %[[X:.+]]: tensor<1x1x4xf32>
// CHECK-NEXT: %[[ONE:.+]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : tensor<1x1x4xf32> into tensor<1x4xf32>
// CHECK-NEXT: %[[ROWS:.+]] = nn.broadcast %[[ONE]] dims [0, 2] : tensor<1x4xf32> -> tensor<1x5x4xf32>
// CHECK-NEXT: return %[[ROWS]]
func.func @units(%x: tensor<1x1x4xf32>) -> tensor<1x5x4xf32> {
  %0 = nn.broadcast %x dims [0, 1, 3] : tensor<1x1x4xf32> -> tensor<1x1x5x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1], [2], [3]] : tensor<1x1x5x4xf32> into tensor<1x5x4xf32>
  return %1 : tensor<1x5x4xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// A constraint of merged heads becomes one of heads.
// CHECK-LABEL: @constraint_of_merged
// CHECK-SAME: %[[X:.+]]: tensor<2x8x4x12xf32>
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[X]] <@mesh, [{"dp"}, {?}, {"tp"}, {}]> : tensor<2x8x4x12xf32>
// CHECK-NEXT: tensor.collapse_shape %[[C]]
func.func @constraint_of_merged(%x: tensor<2x8x4x12xf32>) -> tensor<2x8x48xf32> {
  %0 = tensor.collapse_shape %x [[0], [1], [2, 3]] : tensor<2x8x4x12xf32> into tensor<2x8x48xf32>
  %1 = dist.constraint %0 <@mesh, [{"dp"}, {?}, {"tp"}]> : tensor<2x8x48xf32>
  return %1 : tensor<2x8x48xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Three heads are not two shards, and a merged tensor with other uses has no constraint.
// CHECK-LABEL: @constraint_of_parts
// CHECK: tensor.collapse_shape
// CHECK: dist.constraint {{.*}} <@mesh, [{"dp"}, {?}, {"tp"}]> : tensor<2x8x36xf32>
// CHECK: tensor.collapse_shape
// CHECK: dist.constraint {{.*}} <@mesh, [{"dp"}, {?}, {"tp"}]> : tensor<2x8x48xf32>
func.func @constraint_of_parts(%x: tensor<2x8x3x12xf32>, %y: tensor<2x8x4x12xf32>)
    -> (tensor<2x8x36xf32>, tensor<2x8x48xf32>, tensor<2x8x48xf32>) {
  %0 = tensor.collapse_shape %x [[0], [1], [2, 3]] : tensor<2x8x3x12xf32> into tensor<2x8x36xf32>
  %1 = dist.constraint %0 <@mesh, [{"dp"}, {?}, {"tp"}]> : tensor<2x8x36xf32>
  %2 = tensor.collapse_shape %y [[0], [1], [2, 3]] : tensor<2x8x4x12xf32> into tensor<2x8x48xf32>
  %3 = dist.constraint %2 <@mesh, [{"dp"}, {?}, {"tp"}]> : tensor<2x8x48xf32>
  return %1, %2, %3 : tensor<2x8x36xf32>, tensor<2x8x48xf32>, tensor<2x8x48xf32>
}

// -----

// Batch and heads that both operands of two matmuls have merged are split
// again, as is the softmax between them.
// CHECK-LABEL: @merged_heads
// CHECK-NOT: shape
// CHECK: %[[S:.+]] = nn.einsum "[[A:.]][[B:.]][[Q:.]][[D:.]],[[A]][[B]][[K:.]][[D]]->[[A]][[B]][[Q]][[K]]" %{{.*}}, %{{.*}} : tensor<2x4x8x12xf32>, tensor<2x4x6x12xf32> -> tensor<2x4x8x6xf32>
// CHECK-NEXT: %[[W:.+]] = nn.softmax %[[S]] dim 3 : tensor<2x4x8x6xf32>
// CHECK-NEXT: %[[R:.+]] = nn.einsum "{{.*}}" %[[W]], %{{.*}} : tensor<2x4x8x6xf32>, tensor<2x4x6x12xf32> -> tensor<2x4x8x12xf32>
// CHECK-NEXT: return %[[R]]
func.func @merged_heads(%q: tensor<2x4x8x12xf32>, %k: tensor<2x4x6x12xf32>, %v: tensor<2x4x6x12xf32>) -> tensor<2x4x8x12xf32> {
  %0 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x4x8x12xf32> into tensor<8x8x12xf32>
  %1 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x4x6x12xf32> into tensor<8x6x12xf32>
  %2 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x4x6x12xf32> into tensor<8x6x12xf32>
  %3 = nn.einsum "abd,acd->abc" %0, %1 : tensor<8x8x12xf32>, tensor<8x6x12xf32> -> tensor<8x8x6xf32>
  %4 = nn.softmax %3 dim 2 : tensor<8x8x6xf32>
  %5 = nn.einsum "abc,acd->abd" %4, %2 : tensor<8x8x6xf32>, tensor<8x6x12xf32> -> tensor<8x8x12xf32>
  %6 = tensor.expand_shape %5 [[0, 1], [2], [3]] output_shape [2, 4, 8, 12] : tensor<8x8x12xf32> into tensor<2x4x8x12xf32>
  return %6 : tensor<2x4x8x12xf32>
}

// -----

// Dimensions that are merged differently stay merged.
// CHECK-LABEL: @merged_otherwise
// CHECK: nn.einsum "abd,acd->abc" %{{.*}}, %{{.*}} : tensor<8x8x12xf32>, tensor<8x6x12xf32>
func.func @merged_otherwise(%q: tensor<2x4x8x12xf32>, %k: tensor<4x2x6x12xf32>) -> tensor<8x8x6xf32> {
  %0 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x4x8x12xf32> into tensor<8x8x12xf32>
  %1 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<4x2x6x12xf32> into tensor<8x6x12xf32>
  %2 = nn.einsum "abd,acd->abc" %0, %1 : tensor<8x8x12xf32>, tensor<8x6x12xf32> -> tensor<8x8x6xf32>
  return %2 : tensor<8x8x6xf32>
}

// -----

// Tokens of all rows that a layer takes as one list.
// CHECK-LABEL: @merged_tokens
// CHECK-NOT: shape
// CHECK: nn.layer_norm {{.*}} : tensor<2x8x16xf32>
// CHECK-NEXT: nn.einsum "{{.*}}" {{.*}} : tensor<2x8x16xf32>, tensor<16x32xf32> -> tensor<2x8x32xf32>
// CHECK-NEXT: nn.broadcast {{.*}} dims [2] : tensor<32xf32> -> tensor<2x8x32xf32>
// CHECK-NEXT: arith.addf
// CHECK-NEXT: arith.maximumf
// CHECK-NEXT: nn.einsum "{{.*}}" {{.*}} : tensor<2x8x32xf32>, tensor<32x16xf32> -> tensor<2x8x16xf32>
// CHECK-NEXT: %[[R:.+]] = arith.addf %arg0, %{{.*}} : tensor<2x8x16xf32>
// CHECK-NEXT: return %[[R]]
func.func @merged_tokens(%x: tensor<2x8x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>, %w1: tensor<16x32xf32>, %b1: tensor<32xf32>, %w2: tensor<32x16xf32>) -> tensor<2x8x16xf32> {
  %cst = arith.constant dense<0.0> : tensor<16x32xf32>
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x8x16xf32> into tensor<16x16xf32>
  %1 = nn.layer_norm %0, %g, %b eps 1.0e-5 : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>
  %2 = nn.einsum "ab,bc->ac" %1, %w1 : tensor<16x16xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  %3 = nn.broadcast %b1 dims [1] : tensor<32xf32> -> tensor<16x32xf32>
  %4 = arith.addf %2, %3 : tensor<16x32xf32>
  %5 = arith.maximumf %4, %cst : tensor<16x32xf32>
  %6 = nn.einsum "ab,bc->ac" %5, %w2 : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  %7 = arith.addf %0, %6 : tensor<16x16xf32>
  %8 = tensor.expand_shape %7 [[0, 1], [2]] output_shape [2, 8, 16] : tensor<16x16xf32> into tensor<2x8x16xf32>
  return %8 : tensor<2x8x16xf32>
}

// -----

// A broadcast along merged dimensions is split.
// CHECK-LABEL: @merged_broadcast
// CHECK: %[[S:.+]] = tensor.expand_shape %arg1 {{.*}} : tensor<16xf32> into tensor<2x8xf32>
// CHECK: %[[B:.+]] = nn.broadcast %[[S]] dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x16xf32>
// CHECK: arith.mulf %arg0, %[[B]] : tensor<2x8x16xf32>
func.func @merged_broadcast(%x: tensor<2x8x16xf32>, %s: tensor<16xf32>) -> tensor<16x16xf32> {
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x8x16xf32> into tensor<16x16xf32>
  %1 = nn.broadcast %s dims [0] : tensor<16xf32> -> tensor<16x16xf32>
  %2 = arith.mulf %0, %1 : tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// -----

// Keys and values whose heads repeat for the queries of a group are read
// without the repetition, whatever is between the matmuls.
// CHECK-LABEL: @repeated_heads
// CHECK-NOT: nn.broadcast
// CHECK: %[[Q:.+]] = tensor.expand_shape %arg0 {{.*}} : tensor<2x4x8x12xf32> into tensor<2x2x2x8x12xf32>
// CHECK: nn.einsum "{{.*}}" %[[Q]], %arg1 : tensor<2x2x2x8x12xf32>, tensor<2x2x6x12xf32> -> tensor<2x2x2x8x6xf32>
// CHECK-NEXT: math.tanh
// CHECK-NEXT: nn.softmax
// CHECK-NEXT: nn.einsum "{{.*}}" %{{.*}}, %arg2 : tensor<2x2x2x8x6xf32>, tensor<2x2x6x12xf32> -> tensor<2x2x2x8x12xf32>
func.func @repeated_heads(%q: tensor<2x4x8x12xf32>, %k: tensor<2x2x6x12xf32>, %v: tensor<2x2x6x12xf32>) -> tensor<2x4x8x12xf32> {
  %0 = nn.broadcast %k dims [0, 1, 3, 4] : tensor<2x2x6x12xf32> -> tensor<2x2x2x6x12xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2], [3], [4]] : tensor<2x2x2x6x12xf32> into tensor<2x4x6x12xf32>
  %2 = nn.broadcast %v dims [0, 1, 3, 4] : tensor<2x2x6x12xf32> -> tensor<2x2x2x6x12xf32>
  %3 = tensor.collapse_shape %2 [[0], [1, 2], [3], [4]] : tensor<2x2x2x6x12xf32> into tensor<2x4x6x12xf32>
  %4 = nn.einsum "abcd,abed->abce" %q, %1 : tensor<2x4x8x12xf32>, tensor<2x4x6x12xf32> -> tensor<2x4x8x6xf32>
  %5 = math.tanh %4 : tensor<2x4x8x6xf32>
  %6 = nn.softmax %5 dim 3 : tensor<2x4x8x6xf32>
  %7 = nn.einsum "abce,abed->abcd" %6, %3 : tensor<2x4x8x6xf32>, tensor<2x4x6x12xf32> -> tensor<2x4x8x12xf32>
  return %7 : tensor<2x4x8x12xf32>
}

// -----

// CHECK-LABEL: @merged_rows
// CHECK: nn.rms_norm {{.*}} : tensor<2x128xf32>
func.func @merged_rows(%x: tensor<2x8x16xf32>, %g: tensor<128xf32>) -> tensor<2x128xf32> {
  %0 = tensor.collapse_shape %x [[0], [1, 2]] : tensor<2x8x16xf32> into tensor<2x128xf32>
  %1 = nn.rms_norm %0, %g eps 1.0e-5 : tensor<2x128xf32>, tensor<128xf32>
  return %1 : tensor<2x128xf32>
}

// -----

// A softmax written out between two matmuls of grouped queries: heads that are
// merged for it are split again, in its reductions too.
// CHECK-LABEL: @softmax_of_merged
// CHECK: %[[S:.+]] = nn.einsum
// CHECK-NEXT: %[[M:.+]] = nn.reduce <max> %[[S]] dims [4] : tensor<2x2x2x8x6xf32> -> tensor<2x2x2x8xf32>
// CHECK-NOT: shape
// CHECK: nn.reduce <sum> %{{.+}} dims [4]
// CHECK-NOT: shape
// CHECK: return
func.func @softmax_of_merged(%q: tensor<2x2x2x8x12xf32>, %k: tensor<2x2x6x12xf32>) -> tensor<2x2x2x8x6xf32> {
  %0 = nn.einsum "abcde,abfe->abcdf" %q, %k : tensor<2x2x2x8x12xf32>, tensor<2x2x6x12xf32> -> tensor<2x2x2x8x6xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x6xf32> into tensor<2x4x8x6xf32>
  %2 = nn.reduce <max> %1 dims [3] : tensor<2x4x8x6xf32> -> tensor<2x4x8xf32>
  %3 = nn.broadcast %2 dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<2x4x8x6xf32>
  %4 = arith.subf %1, %3 : tensor<2x4x8x6xf32>
  %5 = math.exp %4 : tensor<2x4x8x6xf32>
  %6 = nn.reduce <sum> %5 dims [3] : tensor<2x4x8x6xf32> -> tensor<2x4x8xf32>
  %7 = nn.broadcast %6 dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<2x4x8x6xf32>
  %8 = arith.divf %5, %7 : tensor<2x4x8x6xf32>
  %9 = tensor.expand_shape %8 [[0], [1, 2], [3], [4]] output_shape [2, 2, 2, 8, 6] : tensor<2x4x8x6xf32> into tensor<2x2x2x8x6xf32>
  return %9 : tensor<2x2x2x8x6xf32>
}

// -----

// A choice of experts, and the elements chosen, before tokens are merged.
// CHECK-LABEL: @choice(
// CHECK-NEXT: %[[IDS:.*]] = nn.top_k 2 %arg0 : tensor<4x6x8xf32> -> tensor<4x6x2xi32>
// CHECK-NEXT: nn.take_along_axis %arg1, %[[IDS]]
// CHECK-SAME: -> tensor<4x6x2xf32>
func.func @choice(%x: tensor<4x6x8xf32>, %y: tensor<4x6x8xf32>) -> tensor<4x6x2xf32> {
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<4x6x8xf32> into tensor<24x8xf32>
  %1 = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x6x8xf32> into tensor<24x8xf32>
  %2 = nn.top_k 2 %0 : tensor<24x8xf32> -> tensor<24x2xi32>
  %3 = nn.take_along_axis %1, %2 : tensor<24x8xf32>, tensor<24x2xi32> -> tensor<24x2xf32>
  %4 = tensor.expand_shape %3 [[0, 1], [2]] output_shape [4, 6, 2] : tensor<24x2xf32> into tensor<4x6x2xf32>
  return %4 : tensor<4x6x2xf32>
}

// -----

// So do experts, if x, ids and gates are merged alike.
// CHECK-LABEL: @experts(
// CHECK-NEXT: %[[Y:.*]] = nn.experts <silu> of 8 %arg0, %arg1, %arg2, {{.*}} -> tensor<4x6x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @experts(%x: tensor<4x6x8xf32>, %ids: tensor<4x6x2xi32>, %gates: tensor<4x6x2xf32>, %w: tensor<8x8x5xf32>, %d: tensor<8x5x8xf32>) -> tensor<4x6x8xf32> {
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<4x6x8xf32> into tensor<24x8xf32>
  %1 = tensor.collapse_shape %ids [[0, 1], [2]] : tensor<4x6x2xi32> into tensor<24x2xi32>
  %2 = tensor.collapse_shape %gates [[0, 1], [2]] : tensor<4x6x2xf32> into tensor<24x2xf32>
  %3 = nn.experts <silu> of 8 %0, %1, %2, %w, %w, %d : tensor<24x8xf32>, tensor<24x2xi32>, tensor<24x2xf32>, tensor<8x8x5xf32>, tensor<8x5x8xf32> -> tensor<24x8xf32>
  %4 = tensor.expand_shape %3 [[0, 1], [2]] output_shape [4, 6, 8] : tensor<24x8xf32> into tensor<4x6x8xf32>
  return %4 : tensor<4x6x8xf32>
}

// -----

// Queries and keys have the last four elements of a row moved apart alike: scores
// are the same without.
// CHECK-LABEL: @separated
// CHECK-SAME: %[[Q0:.+]]: tensor<2x6x3x1x2xf32>, %[[Q1:.+]]: tensor<2x6x3x1x4xf32>, %[[A:.+]]: tensor<2x6x3x2xf32>, %[[B:.+]]: tensor<2x6x4xf32>, %[[V:.+]]: tensor<2x6x3x5xf32>
// CHECK-NOT: tensor.extract_slice
// CHECK: %[[Q:.+]] = tensor.concat dim(4) %[[Q0]], %[[Q1]]
// CHECK: %[[SHARED:.+]] = nn.broadcast %[[B]] dims [0, 1, 3]
// CHECK: %[[K:.+]] = tensor.concat dim(3) %[[A]], %[[SHARED]]
// CHECK: nn.attention causal scale 5.000000e-01 %[[Q]], %[[K]], %[[V]]
func.func @separated(%q0: tensor<2x6x3x1x2xf32>, %q1: tensor<2x6x3x1x4xf32>, %a: tensor<2x6x3x2xf32>, %b: tensor<2x6x4xf32>, %v: tensor<2x6x3x5xf32>) -> tensor<2x6x3x1x5xf32> {
  %even = tensor.extract_slice %q1[0, 0, 0, 0, 0] [2, 6, 3, 1, 2] [1, 1, 1, 1, 2] : tensor<2x6x3x1x4xf32> to tensor<2x6x3x1x2xf32>
  %odd = tensor.extract_slice %q1[0, 0, 0, 0, 1] [2, 6, 3, 1, 2] [1, 1, 1, 1, 2] : tensor<2x6x3x1x4xf32> to tensor<2x6x3x1x2xf32>
  %q2 = tensor.concat dim(4) %even, %odd : (tensor<2x6x3x1x2xf32>, tensor<2x6x3x1x2xf32>) -> tensor<2x6x3x1x4xf32>
  %q3 = tensor.concat dim(4) %q0, %q2 : (tensor<2x6x3x1x2xf32>, tensor<2x6x3x1x4xf32>) -> tensor<2x6x3x1x6xf32>
  %k0 = tensor.extract_slice %b[0, 0, 0] [2, 6, 2] [1, 1, 2] : tensor<2x6x4xf32> to tensor<2x6x2xf32>
  %k1 = tensor.extract_slice %b[0, 0, 1] [2, 6, 2] [1, 1, 2] : tensor<2x6x4xf32> to tensor<2x6x2xf32>
  %k2 = tensor.concat dim(2) %k0, %k1 : (tensor<2x6x2xf32>, tensor<2x6x2xf32>) -> tensor<2x6x4xf32>
  %k3 = nn.broadcast %k2 dims [0, 1, 3] : tensor<2x6x4xf32> -> tensor<2x6x3x4xf32>
  %k4 = tensor.concat dim(3) %a, %k3 : (tensor<2x6x3x2xf32>, tensor<2x6x3x4xf32>) -> tensor<2x6x3x6xf32>
  %y = nn.attention causal scale 0.5 %q3, %k4, %v : tensor<2x6x3x1x6xf32>, tensor<2x6x3x6xf32>, tensor<2x6x3x5xf32> -> tensor<2x6x3x1x5xf32>
  return %y : tensor<2x6x3x1x5xf32>
}

// -----

// Queries have the first elements moved apart and keys the last ones.
// CHECK-LABEL: @separated_elsewhere
// CHECK-COUNT-4: [1, 1, 1, {{(1, )?}}2] :
// CHECK: nn.attention
func.func @separated_elsewhere(%q: tensor<2x6x3x1x4xf32>, %r: tensor<2x6x3x1x4xf32>, %a: tensor<2x6x3x4xf32>, %b: tensor<2x6x3x4xf32>, %v: tensor<2x6x3x5xf32>) -> tensor<2x6x3x1x5xf32> {
  %even = tensor.extract_slice %q[0, 0, 0, 0, 0] [2, 6, 3, 1, 2] [1, 1, 1, 1, 2] : tensor<2x6x3x1x4xf32> to tensor<2x6x3x1x2xf32>
  %odd = tensor.extract_slice %q[0, 0, 0, 0, 1] [2, 6, 3, 1, 2] [1, 1, 1, 1, 2] : tensor<2x6x3x1x4xf32> to tensor<2x6x3x1x2xf32>
  %q2 = tensor.concat dim(4) %even, %odd, %r : (tensor<2x6x3x1x2xf32>, tensor<2x6x3x1x2xf32>, tensor<2x6x3x1x4xf32>) -> tensor<2x6x3x1x8xf32>
  %k0 = tensor.extract_slice %b[0, 0, 0, 0] [2, 6, 3, 2] [1, 1, 1, 2] : tensor<2x6x3x4xf32> to tensor<2x6x3x2xf32>
  %k1 = tensor.extract_slice %b[0, 0, 0, 1] [2, 6, 3, 2] [1, 1, 1, 2] : tensor<2x6x3x4xf32> to tensor<2x6x3x2xf32>
  %k2 = tensor.concat dim(3) %k0, %k1 : (tensor<2x6x3x2xf32>, tensor<2x6x3x2xf32>) -> tensor<2x6x3x4xf32>
  %k4 = tensor.concat dim(3) %a, %k2 : (tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>) -> tensor<2x6x3x8xf32>
  %y = nn.attention causal scale 0.5 %q2, %k4, %v : tensor<2x6x3x1x8xf32>, tensor<2x6x3x8xf32>, tensor<2x6x3x5xf32> -> tensor<2x6x3x1x5xf32>
  return %y : tensor<2x6x3x1x5xf32>
}

// -----

// Keys that are moved apart are read elsewhere, too.
// CHECK-LABEL: @separated_and_read
// CHECK-COUNT-4: [1, 1, 1, {{(1, )?}}2] :
// CHECK: nn.attention
func.func @separated_and_read(%q: tensor<2x6x3x1x4xf32>, %b: tensor<2x6x3x4xf32>, %v: tensor<2x6x3x5xf32>) -> (tensor<2x6x3x1x5xf32>, tensor<2x6x3x4xf32>) {
  %even = tensor.extract_slice %q[0, 0, 0, 0, 0] [2, 6, 3, 1, 2] [1, 1, 1, 1, 2] : tensor<2x6x3x1x4xf32> to tensor<2x6x3x1x2xf32>
  %odd = tensor.extract_slice %q[0, 0, 0, 0, 1] [2, 6, 3, 1, 2] [1, 1, 1, 1, 2] : tensor<2x6x3x1x4xf32> to tensor<2x6x3x1x2xf32>
  %q2 = tensor.concat dim(4) %even, %odd : (tensor<2x6x3x1x2xf32>, tensor<2x6x3x1x2xf32>) -> tensor<2x6x3x1x4xf32>
  %k0 = tensor.extract_slice %b[0, 0, 0, 0] [2, 6, 3, 2] [1, 1, 1, 2] : tensor<2x6x3x4xf32> to tensor<2x6x3x2xf32>
  %k1 = tensor.extract_slice %b[0, 0, 0, 1] [2, 6, 3, 2] [1, 1, 1, 2] : tensor<2x6x3x4xf32> to tensor<2x6x3x2xf32>
  %k2 = tensor.concat dim(3) %k0, %k1 : (tensor<2x6x3x2xf32>, tensor<2x6x3x2xf32>) -> tensor<2x6x3x4xf32>
  %y = nn.attention causal scale 0.5 %q2, %k2, %v : tensor<2x6x3x1x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x5xf32> -> tensor<2x6x3x1x5xf32>
  return %y, %k2 : tensor<2x6x3x1x5xf32>, tensor<2x6x3x4xf32>
}

// -----

// The maximum of scores that are transposed: the matmul takes the transpose.
// CHECK-LABEL: @transposed_maximum
// CHECK: %[[S:.+]] = nn.einsum "abc,cd->bad"
// CHECK-NEXT: %[[M:.+]] = nn.reduce <max> %[[S]] dims [2] : tensor<3x2x5xf32> -> tensor<3x2xf32>
// CHECK-NEXT: %[[B:.+]] = nn.broadcast %[[M]] dims [0, 1]
// CHECK-NEXT: %[[Y:.+]] = arith.subf %[[S]], %[[B]]
// CHECK-NEXT: return %[[Y]]
func.func @transposed_maximum(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>) -> tensor<3x2x5xf32> {
  %0 = nn.einsum "abc,cd->abd" %x, %w : tensor<2x3x4xf32>, tensor<4x5xf32> -> tensor<2x3x5xf32>
  %1 = nn.reduce <max> %0 dims [2] : tensor<2x3x5xf32> -> tensor<2x3xf32>
  %2 = nn.transpose %1 [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %3 = nn.transpose %0 [1, 0, 2] : tensor<2x3x5xf32> -> tensor<3x2x5xf32>
  %4 = nn.broadcast %2 dims [0, 1] : tensor<3x2xf32> -> tensor<3x2x5xf32>
  %5 = arith.subf %3, %4 : tensor<3x2x5xf32>
  return %5 : tensor<3x2x5xf32>
}

// -----

// A reduction whose operand has another order elsewhere keeps its own.
// CHECK-LABEL: @other_transpose
// CHECK: %[[M:.+]] = nn.reduce <max> %{{.+}} dims [2] : tensor<2x3x5xf32> -> tensor<2x3xf32>
// CHECK: nn.transpose %[[M]] [1, 0]
func.func @other_transpose(%x: tensor<2x3x5xf32>) -> (tensor<3x2xf32>, tensor<5x2x3xf32>) {
  %0 = nn.reduce <max> %x dims [2] : tensor<2x3x5xf32> -> tensor<2x3xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %2 = nn.transpose %x [2, 0, 1] : tensor<2x3x5xf32> -> tensor<5x2x3xf32>
  return %1, %2 : tensor<3x2xf32>, tensor<5x2x3xf32>
}

// -----

// A factor of each merged row times a vector: the rows merge after both.
// CHECK-LABEL: @factors_of_merged
// CHECK-SAME: %[[ROOT:.+]]: tensor<2x3xf32>, %[[X:.+]]: tensor<2x3x4xf32>, %[[GAMMA:.+]]: tensor<4xf32>
// CHECK-DAG: %[[R:.+]] = nn.broadcast %[[ROOT]] dims [0, 1] : tensor<2x3xf32> -> tensor<2x3x4xf32>
// CHECK-DAG: %[[G:.+]] = nn.broadcast %[[GAMMA]] dims [2] : tensor<4xf32> -> tensor<2x3x4xf32>
// CHECK: %[[F:.+]] = arith.mulf %[[R]], %[[G]]
// CHECK-NEXT: %[[Y:.+]] = arith.mulf %[[X]], %[[F]]
// CHECK-NEXT: tensor.collapse_shape %[[Y]] {{\[\[}}0, 1], [2]]
func.func @factors_of_merged(%root: tensor<2x3xf32>, %x: tensor<2x3x4xf32>, %gamma: tensor<4xf32>) -> tensor<6x4xf32> {
  %0 = tensor.collapse_shape %root [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  %1 = nn.broadcast %0 dims [0] : tensor<6xf32> -> tensor<6x4xf32>
  %2 = nn.broadcast %gamma dims [1] : tensor<4xf32> -> tensor<6x4xf32>
  %3 = arith.mulf %1, %2 : tensor<6x4xf32>
  %4 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
  %5 = arith.mulf %4, %3 : tensor<6x4xf32>
  return %5 : tensor<6x4xf32>
}

// -----

// Scores by distance, of rows that repeat for all samples: the repetition adds
// dimensions of size 1 that are merged too, keys have another use beside the
// transposed one, and elements are gathered at indices that are the same for all.
// CHECK-LABEL: @scores_by_distance
// CHECK-NOT: collapse_shape
// CHECK: %[[S:.+]] = nn.einsum "{{.*}}" %arg0, {{.*}} -> tensor<2x4x6x6xf32>
// CHECK: %[[C:.+]] = nn.einsum "{{.*}}" {{.*}}%arg2{{.*}} -> tensor<2x4x6x5xf32>
// CHECK: %[[IDS:.+]] = nn.broadcast %arg3 dims [2, 3] : tensor<6x6xi32> -> tensor<2x4x6x6xi32>
// CHECK: %[[G:.+]] = nn.take_along_axis %[[C]], %[[IDS]]
// CHECK: arith.addf %[[S]], %[[G]] : tensor<2x4x6x6xf32>
// CHECK-NOT: collapse_shape
// CHECK: return
func.func @scores_by_distance(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %rows: tensor<4x5x8xf32>, %places: tensor<6x6xi32>) -> tensor<2x4x6x6xf32> {
  %0 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
  %1 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
  %2 = nn.transpose %1 [0, 2, 1] : tensor<8x6x8xf32> -> tensor<8x8x6xf32>
  %half = arith.constant dense<0.5> : tensor<8x8x6xf32>
  %3 = arith.mulf %2, %half : tensor<8x8x6xf32>
  %4 = nn.einsum "abc,acd->abd" %0, %3 : tensor<8x6x8xf32>, tensor<8x8x6xf32> -> tensor<8x6x6xf32>
  %5 = nn.broadcast %rows dims [1, 3, 5] : tensor<4x5x8xf32> -> tensor<2x4x1x5x1x8xf32>
  %6 = tensor.collapse_shape %5 [[0, 1], [2, 3], [4, 5]] : tensor<2x4x1x5x1x8xf32> into tensor<8x5x8xf32>
  %7 = nn.einsum "abc,adc->abd" %1, %6 : tensor<8x6x8xf32>, tensor<8x5x8xf32> -> tensor<8x6x5xf32>
  %8 = nn.broadcast %places dims [1, 2] : tensor<6x6xi32> -> tensor<8x6x6xi32>
  %9 = nn.take_along_axis %7, %8 : tensor<8x6x5xf32>, tensor<8x6x6xi32> -> tensor<8x6x6xf32>
  %10 = arith.addf %4, %9 : tensor<8x6x6xf32>
  %11 = tensor.expand_shape %10 [[0, 1], [2], [3]] output_shape [2, 4, 6, 6] : tensor<8x6x6xf32> into tensor<2x4x6x6xf32>
  return %11 : tensor<2x4x6x6xf32>
}

// -----

// Heads of half of the groups, after the results of two attentions are
// concatenated.
// CHECK-LABEL: @halves_of_groups
// CHECK: %[[C:.+]] = tensor.concat dim(3) %arg0, %arg1 : {{.*}} -> tensor<2x4x3x10xf32>
// CHECK-DAG: %[[A:.+]] = tensor.extract_slice %[[C]][0, 0, 0, 0] [2, 2, 3, 10]
// CHECK-DAG: %[[B:.+]] = tensor.extract_slice %[[C]][0, 2, 0, 0] [2, 2, 3, 10]
// CHECK: arith.subf %[[A]], %[[B]] : tensor<2x2x3x10xf32>
func.func @halves_of_groups(%x: tensor<2x4x3x6xf32>, %y: tensor<2x4x3x4xf32>) -> tensor<2x6x10xf32> {
  %0 = tensor.collapse_shape %x [[0], [1, 2], [3]] : tensor<2x4x3x6xf32> into tensor<2x12x6xf32>
  %1 = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<2x4x3x4xf32> into tensor<2x12x4xf32>
  %2 = tensor.concat dim(2) %0, %1 : (tensor<2x12x6xf32>, tensor<2x12x4xf32>) -> tensor<2x12x10xf32>
  %3 = tensor.extract_slice %2[0, 0, 0] [2, 6, 10] [1, 1, 1] : tensor<2x12x10xf32> to tensor<2x6x10xf32>
  %4 = tensor.extract_slice %2[0, 6, 0] [2, 6, 10] [1, 1, 1] : tensor<2x12x10xf32> to tensor<2x6x10xf32>
  %5 = arith.subf %3, %4 : tensor<2x6x10xf32>
  return %5 : tensor<2x6x10xf32>
}

// -----

// A slice of part of a group stays, as does a concatenation of heads.
// CHECK-LABEL: @part_of_group
// CHECK: tensor.concat dim(1) %{{.*}}, %{{.*}} : (tensor<2x12x6xf32>, tensor<2x12x6xf32>)
// CHECK: tensor.extract_slice %{{.*}}[0, 2, 0] [2, 6, 6] [1, 1, 1] : tensor<2x12x6xf32>
func.func @part_of_group(%x: tensor<2x4x3x6xf32>, %y: tensor<2x4x3x6xf32>) -> (tensor<2x24x6xf32>, tensor<2x6x6xf32>) {
  %0 = tensor.collapse_shape %x [[0], [1, 2], [3]] : tensor<2x4x3x6xf32> into tensor<2x12x6xf32>
  %1 = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<2x4x3x6xf32> into tensor<2x12x6xf32>
  %2 = tensor.concat dim(1) %0, %1 : (tensor<2x12x6xf32>, tensor<2x12x6xf32>) -> tensor<2x24x6xf32>
  %3 = tensor.extract_slice %0[0, 2, 0] [2, 6, 6] [1, 1, 1] : tensor<2x12x6xf32> to tensor<2x6x6xf32>
  return %2, %3 : tensor<2x24x6xf32>, tensor<2x6x6xf32>
}
