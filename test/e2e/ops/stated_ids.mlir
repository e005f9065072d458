// Ids that are computed with before a lookup: inputs that are made up are in the
// range that the argument states, so the program takes them.
// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --mesh dp=1 --dump %t/data | FileCheck %s --check-prefix=VERIFY
// VERIFY: partition proven
// RUN: tessera compile %s --quiet -o %t/program
// RUN: %t/program --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK: y: largest difference 0,
func.func @forward(%w: tensor<32xf32> {nn.param = "w"}, %row: tensor<6xi32> {nn.input = "row", nn.vocab = 4 : i64})
    -> (tensor<6x1xf32> {nn.output = "y"}) {
  %zero = arith.constant dense<0> : tensor<6xi32>
  %last = arith.constant dense<3> : tensor<6xi32>
  %stride = arith.constant dense<8> : tensor<6xi32>
  %0 = arith.maxsi %row, %zero : tensor<6xi32>
  %1 = arith.minsi %0, %last : tensor<6xi32>
  %2 = arith.muli %1, %stride : tensor<6xi32>
  %3 = nn.broadcast %w dims [0] : tensor<32xf32> -> tensor<32x1xf32>
  %4 = nn.embedding %3, %2 : tensor<32x1xf32>, tensor<6xi32> -> tensor<6x1xf32>
  return %4 : tensor<6x1xf32>
}
