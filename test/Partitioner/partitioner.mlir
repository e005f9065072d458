// The embedder's pipeline does what the phases do for a program without training:
// the same local program, proven.
//
// RUN: tessera-opt %s --tessera-partitioner > %t.alone
// RUN: tessera-opt %s --tessera-input --tessera-propagate --tessera-partition > %t.phases
// RUN: diff %t.alone %t.phases
// RUN: FileCheck %s < %t.alone

dist.mesh @mesh ["dp"=2, "tp"=2]

// CHECK-LABEL: func.func @mlp
// CHECK-SAME: tensor<4x16xf32>
// CHECK: nn.einsum
// CHECK: %[[SUM:.*]] = nn.einsum
// CHECK: dist.all_reduce <sum> %[[SUM]] over <{"tp"}>
func.func @mlp(
    %x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %w: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %v: tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}) {
  %0 = nn.einsum "bd,df->bf" %x, %w
      : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  %1 = math.tanh %0 : tensor<8x32xf32>
  %2 = nn.einsum "bf,fd->bd" %1, %v
      : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
