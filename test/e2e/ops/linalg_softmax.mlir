// linalg.softmax along the last and the first dimension, compiled: as in the
// interpreter.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-2: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(1[4-9]),)}}
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=2]
func.func @f(%x: tensor<4x6xf64> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x6xf64> {nn.output = "rows"}, tensor<4x6xf64> {nn.output = "columns"}) {
  %e = tensor.empty() : tensor<4x6xf64>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x6xf64>) outs(%e : tensor<4x6xf64>) -> tensor<4x6xf64>
  %1 = linalg.softmax dimension(0) ins(%x : tensor<4x6xf64>) outs(%e : tensor<4x6xf64>) -> tensor<4x6xf64>
  return %0, %1 : tensor<4x6xf64>, tensor<4x6xf64>
}
