// Integer powers, which wrap, with exponents of both signs, and slices that are
// written at every third and second position, compiled: as in the interpreter.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --no-proof --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-4: {{[a-z0-9_]+}}: largest difference 0,
// CHECK-NOT: largest difference

func.func @f(%x: tensor<8x9xi32>, %part: tensor<3x4xi32>, %e: tensor<6xi32>) -> (
    tensor<6xi32> {nn.output = "powers"}, tensor<6xi64> {nn.output = "wide"}, tensor<6xi8> {nn.output = "narrow"},
    tensor<8x9xi32> {nn.output = "inserted"}) attributes {dist.local} {
  %zero = arith.constant dense<0> : tensor<6xi32>
  %none = arith.andi %e, %zero : tensor<6xi32>
  %bases = arith.constant dense<[3, -2, -1, 1, 5, -1]> : tensor<6xi32>
  %exponents = arith.constant dense<[30, 31, -7, -2, -3, -4]> : tensor<6xi32>
  %b = arith.addi %bases, %none : tensor<6xi32>
  %n = arith.addi %exponents, %none : tensor<6xi32>
  %0 = math.ipowi %b, %n : tensor<6xi32>
  %b64 = arith.extsi %b : tensor<6xi32> to tensor<6xi64>
  %n64 = arith.extsi %n : tensor<6xi32> to tensor<6xi64>
  %1 = math.ipowi %b64, %n64 : tensor<6xi64>
  %b8 = arith.trunci %b : tensor<6xi32> to tensor<6xi8>
  %n8 = arith.trunci %n : tensor<6xi32> to tensor<6xi8>
  %2 = math.ipowi %b8, %n8 : tensor<6xi8>
  %3 = tensor.insert_slice %part into %x[1, 2] [3, 4] [3, 2] : tensor<3x4xi32> into tensor<8x9xi32>
  return %0, %1, %2, %3 : tensor<6xi32>, tensor<6xi64>, tensor<6xi8>, tensor<8x9xi32>
}
