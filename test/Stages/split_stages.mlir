// RUN: tessera-opt %s --dist-split-stages --dist-check-pipelines | FileCheck %s
// RUN: sed 's/schedule = "1f1b"/schedule = "zb-h1"/' %s | tessera-opt --dist-split-stages --dist-check-pipelines | FileCheck %s --check-prefix=ZERO
// RUN: sed 's/stage_layers = even/stage_layers = "2,1"/' %s | not tessera-opt --dist-split-stages 2>&1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: error: stage-layers: expects 2 numbers that add up to the 2 blocks of the model but got 2,1

// Two blocks of one matmul each. The first stage sends the second stage's input
// and gets its gradient back; the loss, which both updates need, is exchanged.
module attributes {dist.plan = #dist.plan<pp = 2, micro_batches = 2, schedule = "1f1b", stage_layers = even>} {
dist.mesh @mesh ["pp"=2] stage "pp"

// CHECK-LABEL: func.func @step_0
// CHECK-SAME: tensor<2x4x8xf32> {dist.number = 0 : i64}
// CHECK-SAME: tensor<8x8xf32> {dist.donate = 0 : i64, dist.number = 1 : i64, nn.param = "blocks.0.w"})
// CHECK-SAME: -> (tensor<8x8xf32> {dist.number = 0 : i64}, tensor<f32> {dist.number = 2 : i64})
// CHECK-SAME: dist.pp_rank = 0 : i64, dist.reference = @step
// CHECK: dist.pipeline paths {{\[\[}}0, 1]] micro_batches 2
// CHECK: dist.task F 0 (%[[X:.*]] = batch 0 : tensor<4x8xf32>) {
// CHECK:   %[[H:.*]] = nn.einsum
// CHECK:   dist.task_yield send(%[[H]] : tensor<4x8xf32>)
// CHECK: dist.task BW 0 (%{{.*}} = batch 0 : tensor<4x8xf32>, %{{.*}} = recv 0 : tensor<4x8xf32>) {
// CHECK:   dist.task_yield add [0](%{{.*}} : tensor<8x8xf32>)
// CHECK: dist.exchange() from [1] among [0, 1] : () -> tensor<f32>

// CHECK-LABEL: func.func @step_1
// CHECK-SAME: tensor<8x8xf32> {dist.donate = 0 : i64, dist.number = 2 : i64, nn.param = "blocks.1.w"})
// CHECK-SAME: -> (tensor<8x8xf32> {dist.number = 1 : i64}, tensor<f32> {dist.number = 2 : i64})
// CHECK: dist.task F 0 (%{{.*}} = recv 0 : tensor<4x8xf32>) {
// CHECK:   dist.task_yield keep(%{{.*}} : tensor<4x8xf32>) add [0](%{{.*}} : tensor<f32>)
// CHECK: dist.task BW 0 (%{{.*}} = F 0 : tensor<4x8xf32>) {
// CHECK:   dist.task_yield send(%{{.*}} : tensor<4x8xf32>) add [1](%{{.*}} : tensor<8x8xf32>)
// CHECK: dist.exchange(%{{.*}}) from [1] among [0, 1] : (tensor<f32>) -> tensor<f32>

// Separate B and W: matmuls that reach only sums are W.
// ZERO-LABEL: func.func @step_0
// ZERO: dist.task B 0 (%[[G:.*]] = recv 0 : tensor<4x8xf32>) {
// ZERO:   dist.task_yield keep(%[[G]] : tensor<4x8xf32>)
// ZERO: dist.task W 0 (
// ZERO:   nn.einsum
// ZERO:   dist.task_yield add [0]
func.func @step(%t: tensor<2x4x8xf32>,
                %w0: tensor<8x8xf32> {nn.param = "blocks.0.w", dist.donate = 0 : i64},
                %w1: tensor<8x8xf32> {nn.param = "blocks.1.w", dist.donate = 1 : i64})
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>) attributes {dist.local} {
  %0:3 = dist.accumulate 2 (%t) : (tensor<2x4x8xf32>) -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  ^bb0(%x: tensor<4x8xf32>):
    %h = nn.einsum "bd,df->bf" %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %o = nn.einsum "bd,df->bf" %h, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %loss = nn.reduce <sum> %o dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    %one = arith.constant {dist.backward} dense<1.0> : tensor<4x8xf32>
    %dw1 = nn.einsum "bd,bf->df" %h, %one {dist.backward} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    %dh = nn.einsum "bf,df->bd" %one, %w1 {dist.backward} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %dw0 = nn.einsum "bd,bf->df" %x, %dh {dist.backward} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    dist.yield %loss, %dw0, %dw1 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
  %s = nn.broadcast %0#0 dims [] : tensor<f32> -> tensor<8x8xf32>
  %u0 = arith.mulf %0#1, %s : tensor<8x8xf32>
  %u1 = arith.mulf %0#2, %s : tensor<8x8xf32>
  %n0 = arith.subf %w0, %u0 : tensor<8x8xf32>
  %n1 = arith.subf %w1, %u1 : tensor<8x8xf32>
  return %n0, %n1, %0#0 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
}
}
