// The toy ops get the collectives that ops of nn would get. A norm over a sharded
// dimension reduces one number a row and gathers no tensor.
//
// RUN: toy-opt %s --tessera-partitioner --split-input-file | FileCheck %s

dist.mesh @mesh ["dp"=2, "tp"=2]

// CHECK-LABEL: func.func @rows
// CHECK-SAME: tensor<4x64xf32>
// CHECK-NEXT: toy.l2norm
// CHECK-NEXT: return
func.func @rows(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<8x64xf32> {
  %y = toy.l2norm %x : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// CHECK-LABEL: func.func @columns
// CHECK-SAME: tensor<4x32xf32>
// CHECK: %[[SUM:.*]] = nn.reduce <sum> {{.*}} -> tensor<4xf32>
// CHECK-NEXT: dist.all_reduce <sum> %[[SUM]] over <{"tp"}> {{.*}} tensor<4xf32> -> tensor<4xf32>
// CHECK-NOT: dist.all_
// CHECK: return
func.func @columns(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>})
    -> (tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
  %y = toy.l2norm %x : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// An op without a rule shards as what it means. Its seed stays.
// CHECK-LABEL: func.func @gate
// CHECK: nn.silu {{.*}} : tensor<4x32xf32>
// CHECK-NEXT: arith.mulf {{.*}} : tensor<4x32xf32>
// CHECK-NEXT: return
func.func @gate(%x: tensor<8x64xf32>, %g: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = toy.gate %x, %g {dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {"tp"}]>]} : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// CHECK-LABEL: func.func @row_scale
// CHECK: toy.row_scale {{.*}} : tensor<4x32xf32>, tensor<4xf32>
func.func @row_scale(%x: tensor<8x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {"tp"}]>},
                     %s: tensor<8xf32>) -> tensor<8x64xf32> {
  %y = toy.row_scale %x, %s : tensor<8x64xf32>, tensor<8xf32>
  return %y : tensor<8x64xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// CHECK-LABEL: func.func @six
// CHECK: %[[PART:.*]] = toy.sumexp {{.*}} : tensor<8x3xf32>
// CHECK: dist.all_reduce <sum> %[[PART]] over <{"tp"}>
func.func @six(%x: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<8xf32> {
  %y = toy.sumexp %x : tensor<8x6xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Padding of zeros would add exp(0), so the five elements stay whole.
// CHECK-LABEL: func.func @five
// CHECK: toy.sumexp {{.*}} : tensor<8x5xf32>
func.func @five(%x: tensor<8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<8xf32> {
  %y = toy.sumexp %x : tensor<8x5xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}
