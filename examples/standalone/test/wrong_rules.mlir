// A wrong rule of an op that has a meaning is refuted: the proof compares what the
// op computes.
//
// RUN: not toy-opt %s --toy-fault=parallel --tessera-partitioner 2>&1 | FileCheck %s --check-prefix=PARALLEL
// PARALLEL: wrong_rules.mlir:[[@LINE+20]]:8: error: verify-partition: deviates: toy.l2norm: at math.rsqrt of its meaning:
// PARALLEL-SAME: by its rule a device has a part of factor i (parallel, 4 of 8), of j (parallel, 32 of 64)
//
// RUN: not toy-opt %s --toy-fault=local-size --tessera-partitioner 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: wrong_rules.mlir:[[@LINE+17]]:8: error: verify-partition: deviates: toy.row_mean: at arith.mulf of its meaning: operand 1 is a constant that the reference does not use so
// SIZE-SAME: of j (sum, 32 of 64)
//
// RUN: not toy-opt %s --toy-fault=max --tessera-partitioner 2>&1 | FileCheck %s --check-prefix=MAX
// MAX: error: verify-partition: deviates: dist.all_reduce: {{.*}}max
//
// RUN: toy-opt %s --tessera-partitioner -o %t
// RUN: toy-opt %t --dist-verify-partition -o %t

dist.mesh @mesh ["dp"=2, "tp"=2]
func.func @f(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> (tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
        tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>},
        tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>}) {
  // Each of these is the first to be wrong with its fault.
  %s = toy.row_sum %x : tensor<8x64xf32> -> tensor<8xf32>
  %y = toy.l2norm %x : tensor<8x64xf32>
  %m = toy.row_mean %x : tensor<8x64xf32> -> tensor<8xf32>
  return %y, %m, %s : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
}
