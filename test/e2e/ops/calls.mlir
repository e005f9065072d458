// Functions that call others, with some of their arguments sharded, compiled.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --function main --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK: result0: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]),)}}
// CHECK: result1: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]),)}}

dist.mesh @mesh ["x"=2]
func.func private @scale(%x: tensor<6xf32>, %s: tensor<f32>) -> tensor<6xf32> {
  %b = nn.broadcast %s dims [] : tensor<f32> -> tensor<6xf32>
  %0 = arith.mulf %x, %b : tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func private @twice(%x: tensor<6xf32>, %s: tensor<f32>) -> (tensor<6xf32>, tensor<f32>) {
  %0 = func.call @scale(%x, %s) : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = func.call @scale(%0, %s) : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<6xf32> -> tensor<f32>
  return %1, %2 : tensor<6xf32>, tensor<f32>
}
func.func @main(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %s: tensor<f32>) -> (tensor<6xf32>, tensor<f32>) {
  %0:2 = func.call @twice(%x, %s) : (tensor<6xf32>, tensor<f32>) -> (tensor<6xf32>, tensor<f32>)
  %1:2 = func.call @twice(%0#0, %0#1) : (tensor<6xf32>, tensor<f32>) -> (tensor<6xf32>, tensor<f32>)
  return %1#0, %1#1 : tensor<6xf32>, tensor<f32>
}
