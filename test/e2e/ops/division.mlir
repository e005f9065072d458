// Integer division at its limits, compiled. The smallest integer divided by -1
// wraps with the remainder 0, as in the interpreter.

// RUN: rm -rf %t && mkdir %t && split-file %s %t/parts
// RUN: tessera verify %t/parts/limits.mlir --partitioned %t/parts/limits.mlir --no-proof --dump %t/data
// RUN: tessera compile %t/parts/limits.mlir --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %t/parts/limits.mlir --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-7: {{[a-z0-9_]+}}: largest difference 0,
// CHECK-NOT: largest difference

// A division by zero gives ones and the dividend, and a negative power of zero
// ones.
// RUN: tessera verify %t/parts/zero.mlir --partitioned %t/parts/zero.mlir --no-proof --dump %t/zero.data
// RUN: tessera compile %t/parts/zero.mlir --quiet -o %t/zero
// RUN: tessera run %t/zero --inputs %t/zero.data --compare %t/zero.data/expected | FileCheck %s --check-prefix=ZERO
// RUN: tessera compile %t/parts/zero.mlir --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/zero.data --compare %t/zero.data/expected | FileCheck %s --check-prefix=ZERO
// ZERO: right: largest difference 0, largest magnitude 1

//--- limits.mlir
func.func @f(%a: tensor<3xi32>) -> (
    tensor<3xi32> {nn.output = "quotient"}, tensor<3xi32> {nn.output = "remainder"},
    tensor<3xi32> {nn.output = "up"}, tensor<3xi32> {nn.output = "down"},
    tensor<3xi8> {nn.output = "narrow"}, tensor<3xi64> {nn.output = "wide"}, tensor<3xi32> {nn.output = "one_bit"}) attributes {dist.local} {
  // Values that the compiler does not know.
  %one = arith.constant dense<1> : tensor<3xi32>
  %half = arith.shrui %a, %one : tensor<3xi32>
  %mask = arith.constant dense<1073741824> : tensor<3xi32>
  %some = arith.ori %half, %mask : tensor<3xi32>
  %none = arith.divui %one, %some : tensor<3xi32>
  %numbers = arith.constant dense<[-2147483648, 7, -2147483648]> : tensor<3xi32>
  %divisors = arith.constant dense<[-1, -2, 3]> : tensor<3xi32>
  %n = arith.addi %numbers, %none : tensor<3xi32>
  %d = arith.addi %divisors, %none : tensor<3xi32>
  %0 = arith.divsi %n, %d : tensor<3xi32>
  %1 = arith.remsi %n, %d : tensor<3xi32>
  %2 = arith.ceildivsi %n, %d : tensor<3xi32>
  %3 = arith.floordivsi %n, %d : tensor<3xi32>
  %n8 = arith.constant dense<[-128, 7, -128]> : tensor<3xi8>
  %d8 = arith.trunci %d : tensor<3xi32> to tensor<3xi8>
  %4 = arith.divsi %n8, %d8 : tensor<3xi8>
  %n64 = arith.constant dense<[-9223372036854775808, 7, -9223372036854775808]> : tensor<3xi64>
  %d64 = arith.extsi %d : tensor<3xi32> to tensor<3xi64>
  %5 = arith.divsi %n64, %d64 : tensor<3xi64>
  %n1 = arith.constant dense<[1, 0, 1]> : tensor<3xi1>
  %d1 = arith.cmpi ne, %d, %none : tensor<3xi32>
  %q1 = arith.divsi %n1, %d1 : tensor<3xi1>
  %6 = arith.extui %q1 : tensor<3xi1> to tensor<3xi32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi8>, tensor<3xi64>, tensor<3xi32>
}

//--- zero.mlir
// 1 for each op and element with the expected result.
func.func @f(%a: tensor<3xi32>) -> (tensor<9xi32> {nn.output = "right"}) attributes {dist.local} {
  // Zeros that the compiler does not know.
  %one = arith.constant dense<1> : tensor<3xi32>
  %mask = arith.constant dense<1073741824> : tensor<3xi32>
  %half = arith.shrui %a, %one : tensor<3xi32>
  %some = arith.ori %half, %mask : tensor<3xi32>
  %zero = arith.divui %one, %some : tensor<3xi32>
  %numbers = arith.constant dense<[7, -7, 0]> : tensor<3xi32>
  %n = arith.addi %numbers, %zero : tensor<3xi32>
  %q0 = arith.divsi %n, %zero : tensor<3xi32>
  %q1 = arith.divui %n, %zero : tensor<3xi32>
  %q2 = arith.ceildivsi %n, %zero : tensor<3xi32>
  %q3 = arith.ceildivui %n, %zero : tensor<3xi32>
  %q4 = arith.floordivsi %n, %zero : tensor<3xi32>
  %minus = arith.constant dense<-1> : tensor<3xi32>
  %q5 = math.ipowi %zero, %minus : tensor<3xi32>
  %a0 = arith.andi %q0, %q1 : tensor<3xi32>
  %a1 = arith.andi %a0, %q2 : tensor<3xi32>
  %a2 = arith.andi %a1, %q3 : tensor<3xi32>
  %a3 = arith.andi %a2, %q4 : tensor<3xi32>
  %ones = arith.andi %a3, %q5 : tensor<3xi32>
  %areOnes = arith.cmpi eq, %ones, %minus : tensor<3xi32>
  %r0 = arith.remsi %n, %zero : tensor<3xi32>
  %r1 = arith.remui %n, %zero : tensor<3xi32>
  %isN0 = arith.cmpi eq, %r0, %n : tensor<3xi32>
  %isN1 = arith.cmpi eq, %r1, %n : tensor<3xi32>
  %w0 = arith.extui %areOnes : tensor<3xi1> to tensor<3xi32>
  %w1 = arith.extui %isN0 : tensor<3xi1> to tensor<3xi32>
  %w2 = arith.extui %isN1 : tensor<3xi1> to tensor<3xi32>
  %right = tensor.concat dim(0) %w0, %w1, %w2 : (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<9xi32>
  return %right : tensor<9xi32>
}
