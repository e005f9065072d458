// Integers of 16 bits at the boundary, others within a program: arithmetic that
// wraps, and reductions over ranks, compiled.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-9: {{[a-z0-9_]+}}: largest difference 0,

// Files do not support 24-bit integers.
// RUN: sed 's/-> (tensor<6xi16>/-> (tensor<4x6xi24>/; s/return %0,/return %w,/; s/ : tensor<6xi16>, tensor/ : tensor<4x6xi24>, tensor/' %s > %t/odd.mlir
// RUN: not tessera compile %t/odd.mlir --quiet -o %t/odd 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: error: expects a type that the runtime has for "result0" but got 'tensor<2x6xi24>'

dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4x6xi16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %p: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %q: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<6xi16>, tensor<6xi16>, tensor<6xi16>, tensor<4x6xi16>, tensor<6xi32>, tensor<6xi32>, tensor<3xi32>, tensor<5xi32>, tensor<5xi32>) {
  %0 = nn.reduce <sum> %a dims [0] : tensor<4x6xi16> -> tensor<6xi16>
  %1 = nn.reduce <max> %a dims [0] : tensor<4x6xi16> -> tensor<6xi16>
  %2 = nn.reduce <min> %a dims [0] : tensor<4x6xi16> -> tensor<6xi16>
  %many = arith.constant dense<20011> : tensor<4x6xi16>
  %3 = arith.muli %a, %many : tensor<4x6xi16>
  %w = arith.extsi %3 : tensor<4x6xi16> to tensor<4x6xi24>
  %square = arith.muli %w, %w : tensor<4x6xi24>
  %s = nn.reduce <sum> %square dims [0] : tensor<4x6xi24> -> tensor<6xi24>
  %4 = arith.extsi %s : tensor<6xi24> to tensor<6xi32>
  %t = arith.trunci %a : tensor<4x6xi16> to tensor<4x6xi5>
  %m = nn.reduce <max> %t dims [0] : tensor<4x6xi5> -> tensor<6xi5>
  %5 = arith.extsi %m : tensor<6xi5> to tensor<6xi32>
  %part = tensor.extract_slice %square[1, 0] [1, 3] [1, 2] : tensor<4x6xi24> to tensor<3xi24>
  %6 = arith.extui %part : tensor<3xi24> to tensor<3xi32>
  // Five on two ranks: a divisor is not 0 in the padding.
  %one = arith.constant dense<1> : tensor<5xi32>
  %odd = arith.ori %q, %one : tensor<5xi32>
  %7 = arith.divsi %p, %odd : tensor<5xi32>
  %8 = arith.remui %p, %odd : tensor<5xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<6xi16>, tensor<6xi16>, tensor<6xi16>, tensor<4x6xi16>, tensor<6xi32>, tensor<6xi32>, tensor<3xi32>, tensor<5xi32>, tensor<5xi32>
}
