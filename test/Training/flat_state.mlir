// State whose sizes dp does not divide is flat and padded.
// RUN: split-file %s %t
// RUN: cat %t/zero1.mlir %t/forward.mlir > %t/a.mlir && tessera-opt %t/a.mlir --dist-build-train-step --dist-shard-training-state | FileCheck %s --check-prefix=ZERO1
// RUN: cat %t/zero2.mlir %t/forward.mlir > %t/b.mlir && tessera-opt %t/b.mlir --dist-build-train-step --dist-shard-training-state | FileCheck %s --check-prefix=ZERO2
// RUN: cat %t/zero3.mlir %t/forward.mlir > %t/c.mlir && tessera-opt %t/c.mlir --dist-build-train-step --dist-shard-training-state | FileCheck %s --check-prefix=ZERO3

// The moments are flattened and padded, the parameter is not. The sum of
// gradients is flattened after the micro-batches, the parameter at the update.
// ZERO1: func.func @train_step(%[[W:[^ ]+]]: tensor<4x5xf32> {{{.*}}nn.param = "w"}
// ZERO1-SAME: %[[M:[^ ]+]]: tensor<21xf32> {{{[^}]*}}dist.sharding = #dist.sharding<@mesh, [{"dp"}p2]>, nn.init = #nn.init<zeros>, nn.logical_shape = array<i64: 4, 5>, nn.of = "w", nn.state = "w.m", nn.stored_shape = array<i64: 20>}
// ZERO1: %[[SUM:.*]]:2 = dist.accumulate 2({{.*}}) {dist.shardings = [unit, #dist.sharding<@mesh, [{?}, {?}]>]} : {{.*}} -> (tensor<f32>, tensor<4x5xf32>)
// ZERO1: %[[MERGED:.*]] = tensor.collapse_shape %[[SUM]]#1 {{\[\[}}0, 1]] : tensor<4x5xf32> into tensor<20xf32>
// ZERO1: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1xf32>
// ZERO1: %[[G:.*]] = tensor.concat dim(0) %[[MERGED]], %[[ZERO]]
// ZERO1: arith.mulf %[[G]], %[[G]] : tensor<21xf32>
// ZERO1: tensor.collapse_shape %[[W]]
// ZERO1: %[[P:.*]] = tensor.concat
// ZERO1: %[[NEW:.*]], %[[NM:.*]], %{{.*}} = nn.adamw %[[P]], %[[M]], %{{.*}}, %[[G]]
// ZERO1: %[[CUT:.*]] = tensor.extract_slice %[[NEW]][0] [20] [1] : tensor<21xf32> to tensor<20xf32>
// ZERO1: %[[BACK:.*]] = tensor.expand_shape %[[CUT]]
// ZERO1: return %[[BACK]], %[[NM]]

// Sums are flat already.
// ZERO2: dist.accumulate 2 reduce_each({{.*}}) {{.*}} -> (tensor<f32>, tensor<21xf32>)
// ZERO2: %[[G:.*]] = tensor.concat
// ZERO2: dist.yield %{{.*}}, %[[G]]

// The parameter too: it is gathered and sliced for its first use, and again for others.
// ZERO3: func.func @train_step(%[[W:[^ ]+]]: tensor<21xf32> {{{.*}}dist.sharding = #dist.sharding<@mesh, [{"dp"}p2]>{{.*}}nn.logical_shape = array<i64: 4, 5>, nn.param = "w", nn.stored_shape = array<i64: 20>}
// ZERO3: dist.accumulate
// ZERO3: %[[C1:.*]] = dist.constraint %[[W]] <@mesh, [{}]>
// ZERO3-NEXT: tensor.extract_slice %[[C1]]
// ZERO3-NEXT: %[[E1:.*]] = tensor.expand_shape
// ZERO3-NEXT: nn.broadcast %[[E1]]
// ZERO3: %[[C2:.*]] = dist.constraint %[[W]] <@mesh, [{}]>
// ZERO3-NEXT: tensor.extract_slice %[[C2]]
// ZERO3-NEXT: %[[E2:.*]] = tensor.expand_shape
// ZERO3-NEXT: nn.broadcast %[[E2]]
// ZERO3-NOT: dist.constraint
// ZERO3: %[[NEW:.*]], %[[NM:.*]], %{{.*}} = nn.adamw %[[W]]
// ZERO3: return %[[NEW]], %[[NM]]

//--- zero1.mlir
module attributes {dist.plan = #dist.plan<zero = 1, micro_batches = 2>} {
dist.mesh @mesh ["dp"=3]
//--- zero2.mlir
module attributes {dist.plan = #dist.plan<zero = 2, micro_batches = 2>} {
dist.mesh @mesh ["dp"=3]
//--- zero3.mlir
module attributes {dist.plan = #dist.plan<zero = 3, micro_batches = 2>} {
dist.mesh @mesh ["dp"=3]
//--- forward.mlir
func.func @forward(%x: tensor<6x4x5xf32>, %w: tensor<4x5xf32> {nn.param = "w", nn.init = #nn.init<ones>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) -> (tensor<f32> {nn.output = "loss"}) {
  %b = nn.broadcast %w dims [1, 2] : tensor<4x5xf32> -> tensor<6x4x5xf32>
  %0 = arith.mulf %x, %b : tensor<6x4x5xf32>
  %c = nn.broadcast %w dims [1, 2] : tensor<4x5xf32> -> tensor<6x4x5xf32>
  %1 = arith.mulf %0, %c : tensor<6x4x5xf32>
  %loss = nn.reduce <sum> %1 dims [0, 1, 2] : tensor<6x4x5xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}
