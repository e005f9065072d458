// Reductions of constants, in chunks and by blocks of columns: a constant has
// no memory that could be viewed with another shape.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-3: {{[a-z0-9_]+}}: largest difference 0,

dist.mesh @mesh ["x"=1]
func.func @f(%a: tensor<16x16xi32>) -> (tensor<i32>, tensor<128xi32>, tensor<i32>) attributes {dist.local} {
  %none = arith.subi %a, %a : tensor<16x16xi32>
  %0 = nn.reduce <sum> %none dims [0, 1] : tensor<16x16xi32> -> tensor<i32>
  %threes = arith.constant dense<3> : tensor<512x128xi32>
  %1 = nn.reduce <sum> %threes dims [0] : tensor<512x128xi32> -> tensor<128xi32>
  %2 = nn.reduce <sum> %threes dims [0, 1] : tensor<512x128xi32> -> tensor<i32>
  return %0, %1, %2 : tensor<i32>, tensor<128xi32>, tensor<i32>
}
