// Every class of index of an einsum, with every sharding.
// RUN: tessera verify %s --seeds 2 | FileCheck %s
// RUN: tessera verify %s --integers --tolerance 0

dist.mesh @mesh ["x"=2, "y"=4]

// Rows: nothing to communicate.
// CHECK-LABEL: @rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @rows(
    %a: tensor<8x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<12x16xf32>) -> (tensor<8x16xf32>
    {dist.sharding = #dist.sharding<@mesh, [{"x"}, {?}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<8x12xf32>, tensor<12x16xf32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// Rows and columns.
// CHECK-LABEL: @rows_and_columns
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @rows_and_columns(
    %a: tensor<8x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<12x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<8x12xf32>, tensor<12x16xf32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// Contracted: one reduction.
// CHECK-LABEL: @summed
// CHECK: yes
// CHECK: all_reduce 1
func.func @summed(
    %a: tensor<8x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %b: tensor<12x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<8x12xf32>, tensor<12x16xf32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// Contracted over two axes: one reduction over both.
// CHECK-LABEL: @summed_over_two_axes
// CHECK: yes
// CHECK: all_reduce 1
func.func @summed_over_two_axes(
    %a: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>},
    %b: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// Contracted, and the result sharded over the same axis: a reduce-scatter.
// CHECK-LABEL: @summed_to_rows
// CHECK: yes
// CHECK: reduce_scatter 1
func.func @summed_to_rows(
    %a: tensor<8x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %b: tensor<12x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<8x12xf32>, tensor<12x16xf32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// A batch index, in all three tensors.
// CHECK-LABEL: @batch
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @batch(
    %a: tensor<4x6x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %b: tensor<4x3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>})
    -> (tensor<4x6x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {?}, {?}]>}) {
  %0 = nn.einsum "bik,bkj->bij" %a, %b : tensor<4x6x3xf32>, tensor<4x3x5xf32> -> tensor<4x6x5xf32>
  return %0 : tensor<4x6x5xf32>
}

// One axis on rows of one operand and on columns of the other.
// CHECK-LABEL: @conflict
// CHECK: yes
func.func @conflict(
    %a: tensor<8x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %b: tensor<12x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<8x16xf32>) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<8x12xf32>, tensor<12x16xf32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// The operands disagree about the contracted index.
// CHECK-LABEL: @summed_conflict
// CHECK: yes
func.func @summed_conflict(
    %a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<8x8xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// The square of a tensor: one tensor is two operands with different shardings.
// CHECK-LABEL: @square
// CHECK: yes
func.func @square(
    %a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %a : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Sizes that do not divide: 7 rows, 9 contracted, 5 columns.
// CHECK-LABEL: @uneven
// CHECK: yes
// CHECK: {{all_reduce|reduce_scatter}} 1
func.func @uneven(
    %a: tensor<7x9xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<9x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<7x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<7x9xf32>, tensor<9x5xf32> -> tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}

// 17 rows on eight ranks run on eight ranks.
// CHECK-LABEL: @seventeen_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @seventeen_rows(
    %a: tensor<17x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>},
    %b: tensor<3x5xf32>)
    -> (tensor<17x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<17x3xf32>, tensor<3x5xf32> -> tensor<17x5xf32>
  return %0 : tensor<17x5xf32>
}

// Sub-axes: rows on the major half of y, contracted on the minor half.
// CHECK-LABEL: @sub_axes
// CHECK: yes
// CHECK: all_reduce 1
func.func @sub_axes(
    %a: tensor<8x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"y":(1)2}, {"y":(2)2}]>},
    %b: tensor<12x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y":(2)2}, {"x"}]>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y":(1)2}, {"x"}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<8x12xf32>, tensor<12x16xf32> -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// The projection to heads and back, heads on y: one reduction after both.
// CHECK-LABEL: @columns_then_rows
// CHECK: yes
// CHECK: all_reduce 1
func.func @columns_then_rows(%x: tensor<2x3x8xf32>,
    %w: tensor<8x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>},
    %v: tensor<4x2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>})
    -> (tensor<2x3x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = nn.einsum "bsd,dhk->bshk" %x, %w : tensor<2x3x8xf32>, tensor<8x4x2xf32> -> tensor<2x3x4x2xf32>
  %1 = nn.einsum "bshk,hkd->bsd" %0, %v : tensor<2x3x4x2xf32>, tensor<4x2x8xf32> -> tensor<2x3x8xf32>
  return %1 : tensor<2x3x8xf32>
}

// The sum of two partial matmuls is reduced once.
// CHECK-LABEL: @sum_of_matmuls
// CHECK: yes
// CHECK: all_reduce 1
func.func @sum_of_matmuls(
    %a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %b: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %c: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = nn.einsum "ik,kj->ij" %a, %c : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %2 = arith.addf %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// A whole value added to a partial matmul is added once.
// CHECK-LABEL: @partial_plus_whole
// CHECK: yes
func.func @partial_plus_whole(
    %a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %b: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %c: tensor<4x4xf32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = arith.addf %0, %c : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// Partial values are reduced before nonlinear ops.
// CHECK-LABEL: @partial_squared
// CHECK: yes
// CHECK: {{all_reduce|reduce_scatter}} 1
func.func @partial_squared(
    %a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %b: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = arith.mulf %0, %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
