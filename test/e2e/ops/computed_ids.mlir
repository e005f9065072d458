// Ids that a program computes; most are not valid rows, labels or positions and
// give NaN, and no gradient, on every mesh and target, as in the interpreter.
// 11 rows are padded if devices do not divide them, and so are 5 ids.

// RUN: rm -rf %t && mkdir %t
// RUN: sed 's/"x"=2/"x"=3/' %s > %t/three.mlir
// RUN: sed 's/"x"=2/"x"=1/' %s > %t/one.mlir
// RUN: tessera verify %s --dump %t/data
// RUN: tessera verify %t/three.mlir --inputs %t/data
// RUN: tessera compile %t/one.mlir --quiet -o %t/one
// RUN: tessera compile %s --quiet -o %t/two
// RUN: tessera compile %t/three.mlir --quiet -o %t/three
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/one --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera run %t/two --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera run %t/three --ranks 3 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-6: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]),)}}
// CHECK-NOT: largest difference

// The results of the reference itself.
// RUN: %python %S/../Inputs/check_computed_ids.py %t/data

dist.mesh @mesh ["x"=2]
func.func @f(%t: tensor<11x6xf32> {nn.input = "t", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
             %y: tensor<5x11xf32> {nn.input = "y", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
             %g: tensor<5x6xf32> {nn.input = "g"}, %h: tensor<5xf32> {nn.input = "h"}, %i: tensor<5xi32> {nn.input = "i"},
             %k: tensor<5xi32> {nn.input = "k", dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (
    tensor<5x6xf32> {nn.output = "rows"}, tensor<5xf32> {nn.output = "loss"}, tensor<5xf32> {nn.output = "picked"},
    tensor<6xf32> {nn.output = "sums"}, tensor<5x11xf32> {nn.output = "dy"}, tensor<5x6xf32> {nn.output = "whole"}) {
  %three = arith.constant dense<3> : tensor<5xi32>
  %ids = arith.addi %i, %three : tensor<5xi32>
  %rows = nn.embedding %t, %ids : tensor<11x6xf32>, tensor<5xi32> -> tensor<5x6xf32>
  %loss = nn.cross_entropy %y, %ids ignore -100 : tensor<5x11xf32>, tensor<5xi32> -> tensor<5xf32>
  %picked = nn.take_along_axis %y, %ids : tensor<5x11xf32>, tensor<5xi32> -> tensor<5xf32>
  // Padded rows must not be summed.
  %dt = nn.embedding_backward %g, %ids : tensor<5x6xf32>, tensor<5xi32> -> tensor<11x6xf32>
  %sums = nn.reduce <sum> %dt dims [0] : tensor<11x6xf32> -> tensor<6xf32>
  %dy = nn.take_along_axis_backward %h, %ids : tensor<5xf32>, tensor<5xi32> -> tensor<5x11xf32>
  %other = arith.addi %k, %three : tensor<5xi32>
  %whole = nn.embedding %t, %other : tensor<11x6xf32>, tensor<5xi32> -> tensor<5x6xf32>
  return %rows, %loss, %picked, %sums, %dy, %whole
      : tensor<5x6xf32>, tensor<5xf32>, tensor<5xf32>, tensor<6xf32>, tensor<5x11xf32>, tensor<5x6xf32>
}
