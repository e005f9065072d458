// Rows that are added to or replaced at ids, some of them equal, sharded over each
// dimension. A rank leaves out ids of rows that another one holds.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// Rows that do not divide: each rank changes its own.
// CHECK-LABEL: @add_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @add_rows(
    %x: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %u: tensor<16x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.scatter <add> %x, %i, %u : tensor<11x6xf32>, tensor<16xi32>, tensor<16x6xf32>
  return %0 : tensor<11x6xf32>
}

// CHECK-LABEL: @add_columns
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @add_columns(
    %x: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %i: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %u: tensor<2x8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = nn.scatter <add> %x, %i, %u : tensor<11x6xf32>, tensor<2x8xi32>, tensor<2x8x6xf32>
  return %0 : tensor<11x6xf32>
}

// CHECK-LABEL: @add_rows_and_columns
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @add_rows_and_columns(
    %x: tensor<12x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
    %i: tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %u: tensor<16x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<12x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = nn.scatter <add> %x, %i, %u : tensor<12x5xf32>, tensor<16xi32>, tensor<16x5xf32>
  return %0 : tensor<12x5xf32>
}

// Ids beyond the rows, also in the padding of the last rank.
// CHECK-LABEL: @add_beyond
// CHECK: yes
func.func @add_beyond(
    %x: tensor<9x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<16xi64> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %u: tensor<16x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<9x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %three = arith.constant dense<3> : tensor<16xi64>
  %ids = arith.addi %i, %three : tensor<16xi64>
  %0 = nn.scatter <add> %x, %ids, %u : tensor<9x6xf32>, tensor<16xi64>, tensor<16x6xf32>
  return %0 : tensor<9x6xf32>
}

// CHECK-LABEL: @set_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @set_rows(
    %x: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %u: tensor<16x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.scatter <set> %x, %i, %u : tensor<11x6xf32>, tensor<16xi32>, tensor<16x6xf32>
  return %0 : tensor<11x6xf32>
}

// CHECK-LABEL: @set_columns
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @set_columns(
    %x: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %i: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %u: tensor<2x8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = nn.scatter <set> %x, %i, %u : tensor<11x6xf32>, tensor<2x8xi32>, tensor<2x8x6xf32>
  return %0 : tensor<11x6xf32>
}

// CHECK-LABEL: @set_rows_and_columns
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @set_rows_and_columns(
    %x: tensor<12x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
    %i: tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %u: tensor<16x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<12x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = nn.scatter <set> %x, %i, %u : tensor<12x5xf32>, tensor<16xi32>, tensor<16x5xf32>
  return %0 : tensor<12x5xf32>
}

// CHECK-LABEL: @set_beyond
// CHECK: yes
func.func @set_beyond(
    %x: tensor<9x6xbf16> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<16xi64> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %u: tensor<16x6xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<9x6xbf16> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %three = arith.constant dense<3> : tensor<16xi64>
  %ids = arith.addi %i, %three : tensor<16xi64>
  %0 = nn.scatter <set> %x, %ids, %u : tensor<9x6xbf16>, tensor<16xi64>, tensor<16x6xbf16>
  return %0 : tensor<9x6xbf16>
}

// Each rank sums its own updates, and x counts once.
// CHECK-LABEL: @add_ids
// CHECK: yes
// CHECK: all_reduce 1
func.func @add_ids(
    %x: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %i: tensor<4x3xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %u: tensor<4x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.scatter <add> %x, %i, %u : tensor<11x6xf32>, tensor<4x3xi32>, tensor<4x3x6xf32>
  return %0 : tensor<11x6xf32>
}

// The padding of the updates never counts.
// CHECK-LABEL: @add_uneven_ids
// CHECK: yes
// CHECK: all_reduce 1
func.func @add_uneven_ids(
    %x: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %i: tensor<7xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %u: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.scatter <add> %x, %i, %u : tensor<11x6xf32>, tensor<7xi32>, tensor<7x6xf32>
  return %0 : tensor<11x6xf32>
}

// CHECK-LABEL: @add_ids_of_rows
// CHECK: yes
// CHECK: all_reduce
func.func @add_ids_of_rows(
    %x: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %u: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.scatter <add> %x, %i, %u : tensor<11x6xf32>, tensor<8xi32>, tensor<8x6xf32>
  return %0 : tensor<11x6xf32>
}

// CHECK-LABEL: @add_ids_and_rows
// CHECK: yes
func.func @add_ids_and_rows(
    %x: tensor<12x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %u: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<12x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.scatter <add> %x, %i, %u : tensor<12x6xf32>, tensor<8xi32>, tensor<8x6xf32>
  return %0 : tensor<12x6xf32>
}

// The last update of a row is found among all: ids and updates are gathered.
// CHECK-LABEL: @set_ids
// CHECK: yes
// CHECK: all_gather
func.func @set_ids(
    %x: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %i: tensor<4x3xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %u: tensor<4x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.scatter <set> %x, %i, %u : tensor<11x6xf32>, tensor<4x3xi32>, tensor<4x3x6xf32>
  return %0 : tensor<11x6xf32>
}

// CHECK-LABEL: @set_uneven_ids
// CHECK: yes
// CHECK: all_gather
func.func @set_uneven_ids(
    %x: tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<7xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %u: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.scatter <set> %x, %i, %u : tensor<11x6xf32>, tensor<7xi32>, tensor<7x6xf32>
  return %0 : tensor<11x6xf32>
}

// Padded rows stay out of a sum after it.
// CHECK-LABEL: @sum_of_rows
// CHECK: yes
func.func @sum_of_rows(
    %x: tensor<9x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %i: tensor<16xi32>,
    %u: tensor<16x6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %one = arith.constant dense<1.0> : tensor<9x6xf32>
  %three = arith.constant dense<3> : tensor<16xi32>
  %y = arith.addf %x, %one : tensor<9x6xf32>
  %ids = arith.addi %i, %three : tensor<16xi32>
  %0 = nn.scatter <add> %y, %ids, %u : tensor<9x6xf32>, tensor<16xi32>, tensor<16x6xf32>
  %1 = nn.scatter <set> %y, %ids, %u : tensor<9x6xf32>, tensor<16xi32>, tensor<16x6xf32>
  %2 = nn.reduce <sum> %0 dims [0] : tensor<9x6xf32> -> tensor<6xf32>
  %3 = nn.reduce <sum> %1 dims [0] : tensor<9x6xf32> -> tensor<6xf32>
  return %2, %3 : tensor<6xf32>, tensor<6xf32>
}

// Partial sums pass a scatter of both.
// CHECK-LABEL: @partial
// CHECK: yes
func.func @partial(
    %a: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %w: tensor<8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<3xi32>) -> tensor<6x5xf32> {
  %x = nn.einsum "ik,kj->ij" %a, %w : tensor<6x8xf32>, tensor<8x5xf32> -> tensor<6x5xf32>
  %b = tensor.extract_slice %a[0, 0] [3, 8] [1, 1] : tensor<6x8xf32> to tensor<3x8xf32>
  %u = nn.einsum "ik,kj->ij" %b, %w : tensor<3x8xf32>, tensor<8x5xf32> -> tensor<3x5xf32>
  %0 = nn.scatter <add> %x, %i, %u : tensor<6x5xf32>, tensor<3xi32>, tensor<3x5xf32>
  return %0 : tensor<6x5xf32>
}
