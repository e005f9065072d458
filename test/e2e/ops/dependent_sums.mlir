// A reduction of two results, where one combines the other's running values:
// its iterations run in order, in one thread.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --no-proof --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-4: {{[a-z0-9_]+}}: largest difference 0,

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @f(%x: tensor<5x70xi32>) -> (
    tensor<5xi32> {nn.output = "sums"}, tensor<5xi32> {nn.output = "largest_sums"},
    tensor<70xi32> {nn.output = "column_sums"}, tensor<70xi32> {nn.output = "largest_column_sums"}) attributes {dist.local} {
  %zero = arith.constant 0 : i32
  %least = arith.constant -2147483648 : i32
  %e5 = tensor.empty() : tensor<5xi32>
  %sum = linalg.fill ins(%zero : i32) outs(%e5 : tensor<5xi32>) -> tensor<5xi32>
  %max = linalg.fill ins(%least : i32) outs(%e5 : tensor<5xi32>) -> tensor<5xi32>
  %rows:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x70xi32>) outs(%sum, %max : tensor<5xi32>, tensor<5xi32>) {
  ^bb0(%a: i32, %s: i32, %m: i32):
    %t = arith.addi %s, %a : i32
    %n = arith.maxsi %m, %t : i32
    linalg.yield %t, %n : i32, i32
  } -> (tensor<5xi32>, tensor<5xi32>)
  %e70 = tensor.empty() : tensor<70xi32>
  %columnSum = linalg.fill ins(%zero : i32) outs(%e70 : tensor<70xi32>) -> tensor<70xi32>
  %columnMax = linalg.fill ins(%least : i32) outs(%e70 : tensor<70xi32>) -> tensor<70xi32>
  %columns:2 = linalg.generic {indexing_maps = [#all, #column, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<5x70xi32>) outs(%columnSum, %columnMax : tensor<70xi32>, tensor<70xi32>) {
  ^bb0(%a: i32, %s: i32, %m: i32):
    %t = arith.addi %s, %a : i32
    %n = arith.maxsi %m, %t : i32
    linalg.yield %t, %n : i32, i32
  } -> (tensor<70xi32>, tensor<70xi32>)
  return %rows#0, %rows#1, %columns#0, %columns#1 : tensor<5xi32>, tensor<5xi32>, tensor<70xi32>, tensor<70xi32>
}
