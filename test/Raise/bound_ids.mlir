// RUN: tessera-opt %s --nn-bound-ids --split-input-file | FileCheck %s

// The smallest limit of all uses, also after ops that only move elements and in
// bodies.
// CHECK-LABEL: @uses
// CHECK-SAME: tensor<2x3xi32> {nn.input = "ids", nn.vocab = 11 : i64}
// CHECK-SAME: tensor<2xi64> {nn.input = "at", nn.vocab = 4 : i64}
// CHECK-SAME: tensor<2xi32> {nn.input = "read", nn.vocab = 5 : i64}
func.func @uses(%t: tensor<11x4xf32>, %u: tensor<12x4xf32>, %v: tensor<5xf32>,
                %ids: tensor<2x3xi32> {nn.input = "ids"}, %at: tensor<2xi64> {nn.input = "at"}, %read: tensor<2xi32> {nn.input = "read"})
    -> (tensor<3x2x4xf32>, tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf32>) {
  %turned = nn.transpose %ids [1, 0] : tensor<2x3xi32> -> tensor<3x2xi32>
  %0 = nn.embedding %t, %turned : tensor<11x4xf32>, tensor<3x2xi32> -> tensor<3x2x4xf32>
  %1 = nn.embedding %u, %ids : tensor<12x4xf32>, tensor<2x3xi32> -> tensor<2x3x4xf32>
  %rows = tensor.extract_slice %1[0, 0, 0] [2, 1, 4] [1, 1, 1] : tensor<2x3x4xf32> to tensor<2x4xf32>
  %2 = nn.take_along_axis %rows, %at : tensor<2x4xf32>, tensor<2xi64> -> tensor<2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%read : tensor<2xi32>) outs(%e : tensor<2xf32>) {
  ^bb0(%id: i32, %out: f32):
    %index = arith.index_cast %id : i32 to index
    %x = tensor.extract %v[%index] : tensor<5xf32>
    linalg.yield %x : f32
  } -> tensor<2xf32>
  return %0, %1, %2, %3 : tensor<3x2x4xf32>, tensor<2x3x4xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// The label without a loss is recorded if it is not the usual one; 0 means that
// there is none.
// CHECK-LABEL: @labels
// CHECK-SAME: {nn.input = "labels", nn.vocab = 7 : i64}
// CHECK-SAME: {nn.ignored = -1 : i64, nn.input = "targets", nn.vocab = 6 : i64}
func.func @labels(%x: tensor<2x7xf32>, %l: tensor<2xi32> {nn.input = "labels"}, %m: tensor<2xi32> {nn.input = "targets"})
    -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = nn.cross_entropy %x, %l ignore -100 : tensor<2x7xf32>, tensor<2xi32> -> tensor<2xf32>
  %1 = nn.cross_entropy %x, %m ignore -1 classes 6 : tensor<2x7xf32>, tensor<2xi32> -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// CHECK-LABEL: @labels_of_rows
// CHECK-SAME: {nn.ignored = 0 : i64, nn.input = "labels", nn.vocab = 7 : i64}
func.func @labels_of_rows(%x: tensor<2x7xf32>, %l: tensor<2xi32> {nn.input = "labels"}) -> tensor<2xf32> {
  %0 = nn.take_along_axis %x, %l : tensor<2x7xf32>, tensor<2xi32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// An argument with a limit keeps it. Selected elements, uses under a condition,
// and computed ids give no limit.
// CHECK-LABEL: @nothing
// CHECK-SAME: {nn.input = "known", nn.vocab = 4 : i64}
// CHECK-SAME: {nn.input = "chosen"}
// CHECK-SAME: {nn.input = "maybe"}
// CHECK-SAME: {nn.input = "computed"}
func.func @nothing(%t: tensor<11x4xf32>, %known: tensor<2xi32> {nn.input = "known", nn.vocab = 4 : i64},
                   %chosen: tensor<2xi32> {nn.input = "chosen"}, %maybe: tensor<2xi32> {nn.input = "maybe"},
                   %computed: tensor<2xi32> {nn.input = "computed"}, %c: tensor<2xi1>, %d: i1)
    -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %zero = arith.constant dense<0> : tensor<2xi32>
  %safe = arith.select %c, %chosen, %zero : tensor<2xi1>, tensor<2xi32>
  %sum = arith.addi %computed, %computed : tensor<2xi32>
  %0 = nn.embedding %t, %known : tensor<11x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  %1 = nn.embedding %t, %safe : tensor<11x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  %2 = nn.embedding %t, %sum : tensor<11x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  %3 = scf.if %d -> tensor<2x4xf32> {
    %4 = nn.embedding %t, %maybe : tensor<11x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
    scf.yield %4 : tensor<2x4xf32>
  } else {
    scf.yield %1 : tensor<2x4xf32>
  }
  return %0, %1, %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
