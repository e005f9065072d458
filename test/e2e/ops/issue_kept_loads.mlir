// Column reductions read a value of the row in a loop; later ops of the kernel
// read it again, and not the loop's value.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --no-proof --dump %t/data
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK: largest: largest difference 0,
// CHECK: index: largest difference 0,

func.func @f(%x: tensor<8x7x2xf16>) -> (tensor<8x2xf16> {nn.output = "largest"}, tensor<8x2xi32> {nn.output = "index"}) attributes {dist.local} {
  %0, %1 = nn.arg_reduce <max> %x dim 1 : tensor<8x7x2xf16> -> tensor<8x2xf16>, tensor<8x2xi32>
  return %0, %1 : tensor<8x2xf16>, tensor<8x2xi32>
}
