// Scalars as arguments and results, compiled: a file has them as tensors of
// rank 0.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-4: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(0[7-9]|[1-9][0-9]),)}}

dist.mesh @m ["x"=2]
func.func @f(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, %s: f32, %i: i1, %n: i32) -> (tensor<4xf32>, f32, i1, i32) {
  %h = arith.mulf %s, %s : f32
  %e = tensor.empty() : tensor<4xf32>
  %b = linalg.fill ins(%h : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = arith.mulf %a, %b : tensor<4xf32>
  %seven = arith.constant 7 : i32
  %m = arith.addi %n, %seven : i32
  return %r, %h, %i, %m : tensor<4xf32>, f32, i1, i32
}
