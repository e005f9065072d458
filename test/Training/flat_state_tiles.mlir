// State that tensor parallelism shards is stored as tiles, one per device.
// RUN: split-file %s %t
// RUN: cat %t/zero1.mlir %t/forward.mlir > %t/a.mlir && tessera-opt %t/a.mlir --dist-build-train-step --dist-shard-training-state | FileCheck %s --check-prefix=ZERO1
// RUN: cat %t/zero3.mlir %t/forward.mlir > %t/c.mlir && tessera-opt %t/c.mlir --dist-build-train-step --dist-shard-training-state | FileCheck %s --check-prefix=ZERO3
// RUN: tessera-opt %t/c.mlir --tessera-train --tessera-propagate --tessera-partition | FileCheck %s --check-prefix=LOCAL
// RUN: tessera-opt %t/c.mlir --tessera-train --tessera-propagate --tessera-partition --tessera-kernels | FileCheck %s --check-prefix=KERNELS

// The columns are split in two: 5 x (2 x 2) become 2 x (5 x 2), and 10 are padded.
// ZERO1: func.func @train_step(%[[W:[^ ]+]]: tensor<5x4xf32> {{{.*}}nn.param = "w"}
// ZERO1-SAME: tensor<2x12xf32> {{{[^}]*}}dist.sharding = #dist.sharding<@mesh, [{"tp"}, {"dp"}p2]>, nn.init = #nn.init<zeros>, nn.logical_shape = array<i64: 5, 4>, nn.of = "w", nn.state = "w.m", nn.stored_shape = array<i64: 2, 10>, nn.tiles = array<i64: 1, 2>}
// ZERO1: %[[SUM:.*]]:2 = dist.accumulate
// ZERO1: %[[SPLIT:.*]] = tensor.expand_shape %[[SUM]]#1 {{\[\[}}0], [1, 2]] output_shape [5, 2, 2]
// ZERO1: %[[TILES:.*]] = nn.transpose %[[SPLIT]] [1, 0, 2] : tensor<5x2x2xf32> -> tensor<2x5x2xf32>
// ZERO1: %[[FLAT:.*]] = tensor.collapse_shape %[[TILES]] {{\[\[}}0], [1, 2]] : tensor<2x5x2xf32> into tensor<2x10xf32>
// ZERO1: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<2x2xf32>
// ZERO1: %[[G:.*]] = tensor.concat dim(1) %[[FLAT]], %[[ZERO]]
// ZERO1: %[[NEW:.*]], %{{.*}}, %{{.*}} = nn.adamw %{{.*}}, %{{.*}}, %{{.*}}, %[[G]]
// ZERO1: %[[CUT:.*]] = tensor.extract_slice %[[NEW]][0, 0] [2, 10] [1, 1] : tensor<2x12xf32> to tensor<2x10xf32>
// ZERO1: %[[EXPANDED:.*]] = tensor.expand_shape %[[CUT]] {{\[\[}}0], [1, 2]]
// ZERO1: %[[BACK:.*]] = nn.transpose %[[EXPANDED]] [1, 0, 2] : tensor<2x5x2xf32> -> tensor<5x2x2xf32>
// ZERO1: %[[P:.*]] = tensor.collapse_shape %[[BACK]] {{\[\[}}0], [1, 2]] : tensor<5x2x2xf32> into tensor<5x4xf32>
// ZERO1: return %[[P]]

// ZERO3: func.func @train_step(%[[W:[^ ]+]]: tensor<2x12xf32> {{{.*}}dist.sharding = #dist.sharding<@mesh, [{"tp"}, {"dp"}p2]>
// ZERO3: %[[C:.*]] = dist.constraint %[[W]] <@mesh, [{"tp"}, {}]>
// ZERO3-NEXT: tensor.extract_slice %[[C]]

// A device gathers its tile, and nothing moves after that.
// LOCAL: func.func @train_step(%[[W:[^ ]+]]: tensor<1x4xf32>
// LOCAL: dist.all_gather {{.*}}tensor<1x4xf32> -> tensor<1x12xf32>
// LOCAL: nn.transpose {{.*}} : tensor<1x5x2xf32> -> tensor<5x1x2xf32>
// KERNELS: dist.all_gather
// KERNELS-NOT: transpose
// KERNELS-NOT: affine_map<(d0, d1, d2) -> (d1, d0, d2)>

//--- zero1.mlir
module attributes {dist.plan = #dist.plan<zero = 1>} {
dist.mesh @mesh ["dp"=3, "tp"=2]
//--- zero3.mlir
module attributes {dist.plan = #dist.plan<zero = 3>} {
dist.mesh @mesh ["dp"=3, "tp"=2]
//--- forward.mlir
func.func @forward(%x: tensor<6x5x4xf32>, %w: tensor<5x4xf32> {nn.param = "w", nn.init = #nn.init<ones>, dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<f32> {nn.output = "loss"}) {
  %b = nn.broadcast %w dims [1, 2] : tensor<5x4xf32> -> tensor<6x5x4xf32>
  %0 = arith.mulf %x, %b : tensor<6x5x4xf32>
  %loss = nn.reduce <sum> %0 dims [0, 1, 2] : tensor<6x5x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}
