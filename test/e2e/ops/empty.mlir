// Tensors without elements, as arguments, results and in between, compiled.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-7: {{[a-z0-9_]+}}: largest difference 0,

dist.mesh @mesh ["x"=2]
func.func @f(%x: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %n: tensor<0x3xf32>) -> (tensor<4x3xf32>, tensor<f32>, tensor<3xf32>, tensor<3x3xf32>, tensor<0x3xf32>, tensor<4x3xf32>, tensor<4x0xf32>) {
  %0 = arith.addf %n, %n : tensor<0x3xf32>
  %1 = tensor.concat dim(0) %x, %n : (tensor<4x3xf32>, tensor<0x3xf32>) -> tensor<4x3xf32>
  %2 = nn.reduce <sum> %0 dims [0, 1] : tensor<0x3xf32> -> tensor<f32>
  %seven = arith.constant 7.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %start = linalg.fill ins(%seven : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %3 = linalg.reduce { arith.addf } ins(%n : tensor<0x3xf32>) outs(%start : tensor<3xf32>) dimensions = [0]
  %4 = nn.einsum "ka,kb->ab" %n, %n : tensor<0x3xf32>, tensor<0x3xf32> -> tensor<3x3xf32>
  %5 = nn.gelu <tanh> %0 : tensor<0x3xf32>
  %6 = arith.negf %1 : tensor<4x3xf32>
  %z = tensor.empty() : tensor<4x0xf32>
  %7 = nn.rope %z dim 0 theta 1.0e4 : tensor<4x0xf32>
  return %1, %2, %3, %4, %5, %6, %7 : tensor<4x3xf32>, tensor<f32>, tensor<3xf32>, tensor<3x3xf32>, tensor<0x3xf32>, tensor<4x3xf32>, tensor<4x0xf32>
}
