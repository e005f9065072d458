// Where an op has a rule alone, the answer says what it rests on.
//
// RUN: toy-opt %s --tessera-partitioner --remark-policy=all --remark-format=emitRemark --remarks-filter=proof -o %t 2>&1 | FileCheck %s
// CHECK: trust.mlir:[[@LINE+4]]{{.*}}@f is proven, given the rules of toy.row_scale ({{.*}}trust.mlir:[[@LINE+7]])
// CHECK-NOT: proven

dist.mesh @mesh ["dp"=2, "tp"=2]
func.func @f(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
             %s: tensor<8xf32>) -> tensor<8x64xf32> {
  %n = toy.l2norm %x : tensor<8x64xf32>
  %y = toy.row_scale %n, %s : tensor<8x64xf32>, tensor<8xf32>
  %z = toy.row_scale %y, %s : tensor<8x64xf32>, tensor<8xf32>
  return %z : tensor<8x64xf32>
}
