// The remark names an axis that no dimension can use.
// RUN: tessera-opt %s --dist-search-shardings --remarks-filter='propagation.*' \
// RUN:   --remark-policy=all -o /dev/null 2>&1 | FileCheck %s

// CHECK: UnusedAxis {{.*}}axis "b" shares no work: its devices repeat it
dist.mesh @mesh ["a"=4, "b"=16]
func.func @f(%x: tensor<4096x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<4096x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>}) {
  %0 = arith.negf %x : tensor<4096x3xf32>
  return %0 : tensor<4096x3xf32>
}
