// Results that are read and written along a reduction loop: prefix sums, and
// sums over diagonals that start with a tensor.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --no-proof --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-3: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(1[5-9]),)}}

// RUN: not tessera compile %s --target cuda-emulated --quiet -o %t/emulated 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: error: expects results with one element for each iteration of the parallel loops: a scan is done in order, and for the host alone

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#diagonal = affine_map<(i, j) -> (i + j)>
func.func @f(%x: tensor<3x2xf64>, %v: tensor<4xf64>) -> (
    tensor<3x2xf64> {nn.output = "prefix_sums"}, tensor<3xf64> {nn.output = "sums"}, tensor<4xf64> {nn.output = "diagonals"}) attributes {dist.local} {
  %zero = arith.constant 0.0 : f64
  %e3 = tensor.empty() : tensor<3xf64>
  %z3 = linalg.fill ins(%zero : f64) outs(%e3 : tensor<3xf64>) -> tensor<3xf64>
  %e32 = tensor.empty() : tensor<3x2xf64>
  %prefix:2 = linalg.generic {indexing_maps = [#all, #all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x2xf64>) outs(%e32, %z3 : tensor<3x2xf64>, tensor<3xf64>) {
  ^bb0(%a: f64, %p: f64, %s: f64):
    %t = arith.addf %s, %a : f64
    linalg.yield %t, %t : f64, f64
  } -> (tensor<3x2xf64>, tensor<3xf64>)
  %diagonals = linalg.generic {indexing_maps = [#all, #diagonal], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<3x2xf64>) outs(%v : tensor<4xf64>) {
  ^bb0(%a: f64, %s: f64):
    %t = arith.addf %s, %a : f64
    linalg.yield %t : f64
  } -> tensor<4xf64>
  return %prefix#0, %prefix#1, %diagonals : tensor<3x2xf64>, tensor<3xf64>, tensor<4xf64>
}
