// RUN: tessera-opt %s --nn-raise --split-input-file --remarks-filter='import' --remark-policy=all 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: tessera-opt %s --nn-raise=skip=top_k --split-input-file | FileCheck %s --check-prefix=SKIP
// SKIP-NOT: groups

// Two of four groups, by the sum of their two largest scores; scores of others are
// hidden by minus infinity. Ops of the choice of groups go.
// REMARK: nn.top_k of 2 of 4 groups
// CHECK-LABEL: func @sum_of_two(
// CHECK-SAME: %[[X:.*]]: tensor<8x16xf32>)
// CHECK-NEXT: %[[IDS:.*]] = nn.top_k 4 groups 2 of 4 by <sum2> %[[X]] : tensor<8x16xf32> -> tensor<8x4xi32>
// CHECK-NEXT: return %[[IDS]]
func.func @sum_of_two(%x: tensor<8x16xf32>) -> tensor<8x4xi32> {
  %low = arith.constant dense<0xFF800000> : tensor<8x16xf32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [8, 4, 4] : tensor<8x16xf32> into tensor<8x4x4xf32>
  %two = nn.top_k 2 %g : tensor<8x4x4xf32> -> tensor<8x4x2xi32>
  %largest = nn.take_along_axis %g, %two : tensor<8x4x4xf32>, tensor<8x4x2xi32> -> tensor<8x4x2xf32>
  %sum = nn.reduce <sum> %largest dims [2] : tensor<8x4x2xf32> -> tensor<8x4xf32>
  %chosen = nn.top_k 2 %sum : tensor<8x4xf32> -> tensor<8x2xi32>
  %iota = nn.iota : tensor<4xi32>
  %a = nn.broadcast %chosen dims [0, 1] : tensor<8x2xi32> -> tensor<8x2x4xi32>
  %b = nn.broadcast %iota dims [2] : tensor<4xi32> -> tensor<8x2x4xi32>
  %is = arith.cmpi eq, %a, %b : tensor<8x2x4xi32>
  %number = arith.extui %is : tensor<8x2x4xi1> to tensor<8x2x4xi32>
  %any = nn.reduce <max> %number dims [1] : tensor<8x2x4xi32> -> tensor<8x4xi32>
  %one = arith.constant dense<1> : tensor<8x4xi32>
  %kept = arith.cmpi eq, %any, %one : tensor<8x4xi32>
  %each = nn.broadcast %kept dims [0, 1] : tensor<8x4xi1> -> tensor<8x4x4xi1>
  %mask = tensor.collapse_shape %each [[0], [1, 2]] : tensor<8x4x4xi1> into tensor<8x16xi1>
  %scores = arith.select %mask, %x, %low : tensor<8x16xi1>, tensor<8x16xf32>
  %ids = nn.top_k 4 %scores : tensor<8x16xf32> -> tensor<8x4xi32>
  return %ids : tensor<8x4xi32>
}

// -----

// Groups are chosen by their largest score.
// CHECK-LABEL: func @largest(
// CHECK: nn.top_k 3 groups 1 of 4 by <max> %{{.*}} : tensor<8x16xf32> -> tensor<8x3xi32>
// CHECK-NOT: nn.top_k
func.func @largest(%x: tensor<8x16xf32>) -> tensor<8x3xi32> {
  %low = arith.constant dense<0xFF800000> : tensor<8x16xf32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [8, 4, 4] : tensor<8x16xf32> into tensor<8x4x4xf32>
  %most = nn.reduce <max> %g dims [2] : tensor<8x4x4xf32> -> tensor<8x4xf32>
  %chosen = nn.top_k 1 %most : tensor<8x4xf32> -> tensor<8x1xi32>
  %iota = nn.iota : tensor<4xi32>
  %a = nn.broadcast %chosen dims [0, 1] : tensor<8x1xi32> -> tensor<8x1x4xi32>
  %b = nn.broadcast %iota dims [2] : tensor<4xi32> -> tensor<8x1x4xi32>
  %is = arith.cmpi eq, %a, %b : tensor<8x1x4xi32>
  %kept = tensor.collapse_shape %is [[0], [1, 2]] : tensor<8x1x4xi1> into tensor<8x4xi1>
  %each = nn.broadcast %kept dims [0, 1] : tensor<8x4xi1> -> tensor<8x4x4xi1>
  %mask = tensor.collapse_shape %each [[0], [1, 2]] : tensor<8x4x4xi1> into tensor<8x16xi1>
  %scores = arith.select %mask, %x, %low : tensor<8x16xi1>, tensor<8x16xf32>
  %ids = nn.top_k 3 %scores : tensor<8x16xf32> -> tensor<8x3xi32>
  return %ids : tensor<8x3xi32>
}

// -----

// Scores that a 0 hides are chosen before negative ones.
// CHECK-LABEL: func @hidden_by_zero(
// CHECK-NOT: groups
func.func @hidden_by_zero(%x: tensor<8x16xf32>) -> tensor<8x3xi32> {
  %low = arith.constant dense<0.0> : tensor<8x16xf32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [8, 4, 4] : tensor<8x16xf32> into tensor<8x4x4xf32>
  %most = nn.reduce <max> %g dims [2] : tensor<8x4x4xf32> -> tensor<8x4xf32>
  %chosen = nn.top_k 1 %most : tensor<8x4xf32> -> tensor<8x1xi32>
  %iota = nn.iota : tensor<4xi32>
  %a = nn.broadcast %chosen dims [0, 1] : tensor<8x1xi32> -> tensor<8x1x4xi32>
  %b = nn.broadcast %iota dims [2] : tensor<4xi32> -> tensor<8x1x4xi32>
  %is = arith.cmpi eq, %a, %b : tensor<8x1x4xi32>
  %kept = tensor.collapse_shape %is [[0], [1, 2]] : tensor<8x1x4xi1> into tensor<8x4xi1>
  %each = nn.broadcast %kept dims [0, 1] : tensor<8x4xi1> -> tensor<8x4x4xi1>
  %mask = tensor.collapse_shape %each [[0], [1, 2]] : tensor<8x4x4xi1> into tensor<8x16xi1>
  %scores = arith.select %mask, %x, %low : tensor<8x16xi1>, tensor<8x16xf32>
  %ids = nn.top_k 3 %scores : tensor<8x16xf32> -> tensor<8x3xi32>
  return %ids : tensor<8x3xi32>
}

// -----

// Groups that other scores choose.
// CHECK-LABEL: func @of_others(
// CHECK-NOT: groups
func.func @of_others(%x: tensor<8x16xf32>, %most: tensor<8x4xf32>) -> tensor<8x3xi32> {
  %low = arith.constant dense<0xFF800000> : tensor<8x16xf32>
  %chosen = nn.top_k 1 %most : tensor<8x4xf32> -> tensor<8x1xi32>
  %iota = nn.iota : tensor<4xi32>
  %a = nn.broadcast %chosen dims [0, 1] : tensor<8x1xi32> -> tensor<8x1x4xi32>
  %b = nn.broadcast %iota dims [2] : tensor<4xi32> -> tensor<8x1x4xi32>
  %is = arith.cmpi eq, %a, %b : tensor<8x1x4xi32>
  %kept = tensor.collapse_shape %is [[0], [1, 2]] : tensor<8x1x4xi1> into tensor<8x4xi1>
  %each = nn.broadcast %kept dims [0, 1] : tensor<8x4xi1> -> tensor<8x4x4xi1>
  %mask = tensor.collapse_shape %each [[0], [1, 2]] : tensor<8x4x4xi1> into tensor<8x16xi1>
  %scores = arith.select %mask, %x, %low : tensor<8x16xi1>, tensor<8x16xf32>
  %ids = nn.top_k 3 %scores : tensor<8x16xf32> -> tensor<8x3xi32>
  return %ids : tensor<8x3xi32>
}
