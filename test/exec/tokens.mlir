// Tokens that are sent by their ids, on four ranks with 2 of 8 experts each: what is not sent is NaN, or
// left out of sums.
// RUN: tessera verify %s --interpret | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=2]

// Rank r gets the tokens with an id of 2r or 2r+1.
// CHECK-LABEL: @dispatch
// CHECK-NEXT: result0, rank 0: {{\[\[}}1], [nan], [nan], [4]]
// CHECK-NEXT: result0, rank 1: {{\[\[}}1], [nan], [3], [nan]]
// CHECK-NEXT: result0, rank 2: {{\[\[}}nan], [nan], [3], [nan]]
// CHECK-NEXT: result0, rank 3: {{\[\[}}nan], [nan], [nan], [4]]
func.func @dispatch(%a: tensor<1x1xf32> {interpret.values = [
    dense<1.0> : tensor<1x1xf32>, dense<2.0> : tensor<1x1xf32>,
    dense<3.0> : tensor<1x1xf32>, dense<4.0> : tensor<1x1xf32>]}) -> tensor<4x1xf32> {
  %ids = arith.constant dense<[[0, 2], [-1, 8], [3, 4], [1, 6]]> : tensor<4x2xi32>
  %0 = dist.dispatch %a by %ids experts 2 of 8 at <{"x", "y"}> dim 0 over <{"x", "y"}> on @mesh
      : tensor<1x1xf32>, tensor<4x2xi32> -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// Over y alone, of blocks of 4 experts by x: ranks 0 and 1 have the first.
// CHECK-LABEL: @dispatch_to_row
// CHECK-NEXT: result0, ranks 0-1: {{\[\[}}1], [nan]]
// CHECK-NEXT: result0, ranks 2-3: {{\[\[}}nan], [4]]
func.func @dispatch_to_row(%a: tensor<1x1xf32> {interpret.values = [
    dense<1.0> : tensor<1x1xf32>, dense<2.0> : tensor<1x1xf32>,
    dense<3.0> : tensor<1x1xf32>, dense<4.0> : tensor<1x1xf32>]}) -> tensor<2x1xf32> {
  %ids = arith.constant dense<[[3], [7]]> : tensor<2x1xi64>
  %0 = dist.dispatch %a by %ids experts 4 of 8 at <{"x"}> dim 0 over <{"y"}> on @mesh
      : tensor<1x1xf32>, tensor<2x1xi64> -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}

// Each rank has its own token's ids; a sender that has none of its experts is left out.
// CHECK-LABEL: @combine
// CHECK-NEXT: result0, ranks 0,3: {{\[\[}}110]]
// CHECK-NEXT: result0, rank 1: {{\[\[}}0]]
// CHECK-NEXT: result0, rank 2: {{\[\[}}10000]]
func.func @combine(%a: tensor<4x1xf32> {interpret.values = [
    dense<10.0> : tensor<4x1xf32>, dense<100.0> : tensor<4x1xf32>,
    dense<1000.0> : tensor<4x1xf32>, dense<10000.0> : tensor<4x1xf32>]},
    %ids: tensor<1x2xi32> {interpret.values = [
    dense<[[0, 3]]> : tensor<1x2xi32>, dense<[[-1, 8]]> : tensor<1x2xi32>,
    dense<[[7, -1]]> : tensor<1x2xi32>, dense<[[2, 1]]> : tensor<1x2xi32>]}) -> tensor<1x1xf32> {
  %0 = dist.combine %a by %ids experts 2 of 8 at <{"x", "y"}> dim 0 over <{"x", "y"}> on @mesh
      : tensor<4x1xf32>, tensor<1x2xi32> -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
