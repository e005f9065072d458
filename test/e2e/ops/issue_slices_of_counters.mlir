// Slices that are taken and inserted at offsets from loop counters: with a dropped
// dimension, two counters, strides, one element, and in loops without iterations.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data | FileCheck %s --check-prefix=PROVEN
// PROVEN: partition proven
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: %t/prog --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-6: {{[a-z0-9_]+}}: largest difference 0,
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=2]
func.func @slices(%x: tensor<4x8xf64>, %y: tensor<4x5x8xf64>, %z: tensor<8xf64>) -> (
    tensor<8xf64> {nn.output = "dropped"}, tensor<1xf64> {nn.output = "two"}, tensor<4x3xf64> {nn.output = "steps"},
    tensor<f64> {nn.output = "one"}, tensor<4x8xf64> {nn.output = "stacked"}, tensor<4x5x8xf64> {nn.output = "strided"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %dropped = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %z) -> (tensor<8xf64>) {
    %q = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<4x8xf64> to tensor<8xf64>
    %s = arith.addf %acc, %q : tensor<8xf64>
    scf.yield %s : tensor<8xf64>
  }
  %zero = arith.constant dense<0.0> : tensor<1xf64>
  %two = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (tensor<1xf64>) {
    %j = arith.addi %i, %c1 : index
    %q = tensor.extract_slice %y[%i, %j, %i] [1, 1, 1] [1, 1, 1] : tensor<4x5x8xf64> to tensor<1xf64>
    %s = arith.addf %acc, %q : tensor<1xf64>
    scf.yield %s : tensor<1xf64>
  }
  %rows = tensor.extract_slice %x[0, 0] [4, 3] [1, 1] : tensor<4x8xf64> to tensor<4x3xf64>
  %steps = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %rows) -> (tensor<4x3xf64>) {
    %q = tensor.extract_slice %x[0, %i] [4, 3] [1, 2] : tensor<4x8xf64> to tensor<4x3xf64>
    %s = arith.addf %acc, %q : tensor<4x3xf64>
    scf.yield %s : tensor<4x3xf64>
  }
  %none = arith.constant dense<0.0> : tensor<f64>
  %one = scf.for %i = %c0 to %c4 step %c2 iter_args(%acc = %none) -> (tensor<f64>) {
    %q = tensor.extract_slice %z[%i] [1] [1] : tensor<8xf64> to tensor<f64>
    %s = arith.addf %acc, %q : tensor<f64>
    scf.yield %s : tensor<f64>
  }
  %stacked = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %x) -> (tensor<4x8xf64>) {
    %q = tensor.extract_slice %acc[%i, 0] [1, 8] [1, 1] : tensor<4x8xf64> to tensor<8xf64>
    %s = arith.addf %q, %z : tensor<8xf64>
    %p = tensor.insert_slice %s into %acc[%i, 0] [1, 8] [1, 1] : tensor<8xf64> into tensor<4x8xf64>
    scf.yield %p : tensor<4x8xf64>
  }
  %strided = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %y) -> (tensor<4x5x8xf64>) {
    %p = tensor.insert_slice %rows into %acc[0, 3, %i] [4, 1, 3] [1, 1, 3] : tensor<4x3xf64> into tensor<4x5x8xf64>
    scf.yield %p : tensor<4x5x8xf64>
  }
  return %dropped, %two, %steps, %one, %stacked, %strided : tensor<8xf64>, tensor<1xf64>, tensor<4x3xf64>, tensor<f64>, tensor<4x8xf64>, tensor<4x5x8xf64>
}
