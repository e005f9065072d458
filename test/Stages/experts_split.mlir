// RUN: tessera-opt %s --dist-split-stages --dist-check-pipelines | FileCheck %s

// A gradient that the earlier stage gathers is sent before that. Rows of an op of task B are packed
// there, so that W gets them alone; those of tokens are made in W.
module attributes {dist.plan = #dist.plan<pp = 3, micro_batches = 2, schedule = "zb-h1", stage_layers = even>} {
dist.mesh @mesh ["pp"=3, "dp"=2] stage "pp"

// CHECK-LABEL: func.func @step_1
// CHECK: dist.task B 0 ({{.*}}%[[G:[a-z0-9]+]] = recv 0 : tensor<4x8xf32>
// CHECK: dist.all_gather %[[G]]
// CHECK: nn.experts_backward
// CHECK: %[[ROWS:.+]] = dist.pack_rows %{{.+}} : tensor<8x2x6xf32>, tensor<8x2xi32> -> tensor<16x6xf32>
// CHECK-NOT: dist.pack_rows
// CHECK: dist.task_yield send(%{{.+}} keep({{.*}}%[[ROWS]]
// CHECK: dist.task W 0 (
// CHECK: nn.expert_rows
// CHECK: dist.pack_rows
// CHECK: nn.experts_weight_gradient

// CHECK-LABEL: func.func @step_2
// CHECK: dist.task B 0 (
// CHECK-NOT: dist.all_gather
// CHECK: dist.task_yield send(%{{[a-z0-9_]+}} : tensor<4x8xf32>)
func.func @step(%t: tensor<2x4x8xf32>, %is: tensor<2x8x2xi32>, %gates: tensor<8x2xf32>,
                %w0: tensor<8x8xf32> {nn.param = "blocks.0.w", dist.donate = 0 : i64},
                %wg: tensor<2x8x6xf32> {nn.param = "blocks.1.wg", dist.donate = 1 : i64},
                %wd: tensor<2x6x8xf32> {nn.param = "blocks.1.wd", dist.donate = 2 : i64},
                %w1: tensor<8x8xf32> {nn.param = "blocks.2.w", dist.donate = 3 : i64})
    -> (tensor<8x8xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32>, tensor<8x8xf32>, tensor<f32>) attributes {dist.local} {
  %o = dist.axis_offset <{"dp"}> size 2 on @mesh : index
  %0:5 = dist.accumulate 2 (%t, %is) : (tensor<2x4x8xf32>, tensor<2x8x2xi32>) -> (tensor<f32>, tensor<8x8xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32>, tensor<8x8xf32>) {
  ^bb0(%x: tensor<4x8xf32>, %ids: tensor<8x2xi32>):
    %x0 = nn.einsum "bd,df->bf" %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %xa = dist.all_gather %x0 dim 0 over <{"dp"}> on @mesh : tensor<4x8xf32> -> tensor<8x8xf32>
    %p, %g, %u = nn.experts <silu> of 4 %xa, %ids, %gates, %wg, %wg, %wd offset %o
        : tensor<8x8xf32>, tensor<8x2xi32>, tensor<8x2xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32> -> tensor<8x8xf32> stats tensor<8x2x6xf32>, tensor<8x2x6xf32>
    %y = dist.reduce_scatter <sum> %p dim 0 over <{"dp"}> on @mesh : tensor<8x8xf32> -> tensor<4x8xf32>
    %z = nn.einsum "bd,df->bf" %y, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %loss = nn.reduce <sum> %z dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    %one = arith.constant {dist.backward} dense<1.0> : tensor<4x8xf32>
    %dw1 = nn.einsum "bd,bf->df" %y, %one {dist.backward} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    %dy = nn.einsum "bf,df->bd" %one, %w1 {dist.backward} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %ga = dist.all_gather %dy dim 0 over <{"dp"}> on @mesh {dist.backward} : tensor<4x8xf32> -> tensor<8x8xf32>
    %dx, %dgates, %dg, %du = nn.experts_backward <silu> of 4 %ga, %ids, %gates, %wg, %wg, %wd, %g, %u offset %o {dist.backward}
        : tensor<8x8xf32>, tensor<8x2xi32>, tensor<8x2xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32>, tensor<8x2x6xf32> -> tensor<8x8xf32>
    %rg = dist.pack_rows %dg by %ids offset %o {dist.backward} : tensor<8x2x6xf32>, tensor<8x2xi32> -> tensor<16x6xf32>
    %dg2 = dist.unpack_rows %rg by %ids offset %o {dist.backward} : tensor<16x6xf32>, tensor<8x2xi32> -> tensor<8x2x6xf32>
    %rx = nn.expert_rows %xa, %ids offset %o {dist.backward} : tensor<8x8xf32>, tensor<8x2xi32> -> tensor<8x2x8xf32>
    %px = dist.pack_rows %rx by %ids offset %o {dist.backward} : tensor<8x2x8xf32>, tensor<8x2xi32> -> tensor<16x8xf32>
    %rx2 = dist.unpack_rows %px by %ids offset %o {dist.backward} : tensor<16x8xf32>, tensor<8x2xi32> -> tensor<8x2x8xf32>
    %dwg, %dwu, %dwd = nn.experts_weight_gradient <silu> of 4 %rx2, %rx2, %ids, %gates, %g, %u, %dg2, %dg2 offset %o {dist.backward}
        : tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<8x2xi32>, tensor<8x2xf32>, tensor<8x2x6xf32> -> tensor<2x8x6xf32>, tensor<2x6x8xf32>
    %dxs = dist.reduce_scatter <sum> %dx dim 0 over <{"dp"}> on @mesh {dist.backward} : tensor<8x8xf32> -> tensor<4x8xf32>
    %dw0 = nn.einsum "bd,bf->df" %x, %dxs {dist.backward} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    dist.yield %loss, %dw0, %dwg, %dwd, %dw1 : tensor<f32>, tensor<8x8xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32>, tensor<8x8xf32>
  }
  return %0#1, %0#2, %0#3, %0#4, %0#0 : tensor<8x8xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32>, tensor<8x8xf32>, tensor<f32>
}
}
