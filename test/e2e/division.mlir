// Integer division at its limits, compiled. The least integer divided by -1
// wraps and leaves 0, as the interpreter has it.

// RUN: rm -rf %t && mkdir %t && split-file %s %t/parts
// RUN: tessera verify %t/parts/limits.mlir --partitioned %t/parts/limits.mlir --no-proof --dump %t/data
// RUN: tessera compile %t/parts/limits.mlir --quiet -o %t/prog
// RUN: tessera run %t/prog --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %t/parts/limits.mlir --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-7: {{[a-z0-9_]+}}: largest difference 0,
// CHECK-NOT: largest difference

// A division by zero has no result: it ends the program.
// RUN: tessera compile %t/parts/zero.mlir --quiet -o %t/zero
// RUN: cp %t/data/arg0.npy %t/data/arg1.npy
// RUN: not tessera run %t/zero --inputs %t/data --quiet 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: rank 0 was killed by signal 8 (an integer is divided by zero)

//--- limits.mlir
func.func @f(%a: tensor<3xi32>) -> (
    tensor<3xi32> {nn.output = "quotient"}, tensor<3xi32> {nn.output = "remainder"},
    tensor<3xi32> {nn.output = "up"}, tensor<3xi32> {nn.output = "down"},
    tensor<3xi8> {nn.output = "narrow"}, tensor<3xi64> {nn.output = "wide"}, tensor<3xi32> {nn.output = "one_bit"}) attributes {dist.local} {
  // Nothing that the compiler knows of.
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
func.func @f(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> {
  %difference = arith.subi %a, %b : tensor<3xi32>
  %0 = arith.divsi %a, %difference : tensor<3xi32>
  return %0 : tensor<3xi32>
}
