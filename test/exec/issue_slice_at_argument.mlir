// A slice at a run-time position, of a tensor that is sharded along its other
// dimension.
// RUN: tessera verify %s | FileCheck %s
// CHECK: partition proven
dist.mesh @mesh ["x"=2]

func.func @f(%a: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<1x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %lo = arith.constant 0 : index
  %hi = arith.constant 5 : index
  %by = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<1x8xf32>
  %0 = scf.for %k = %lo to %hi step %by iter_args(%sum = %zero) -> tensor<1x8xf32> {
    %s = tensor.extract_slice %a[%k, 0] [1, 8] [1, 1] : tensor<6x8xf32> to tensor<1x8xf32>
    %n = arith.addf %sum, %s : tensor<1x8xf32>
    scf.yield %n : tensor<1x8xf32>
  }
  return %0 : tensor<1x8xf32>
}
