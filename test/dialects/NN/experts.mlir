// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// Ops of mixtures of experts have the same printed and parsed form.

// CHECK-LABEL: func @routing
func.func @routing(%x: tensor<4x32x16xf32>) -> tensor<4x32x2xi32> {
  // CHECK: %[[IDS:.*]] = nn.top_k 2 %arg0 : tensor<4x32x16xf32> -> tensor<4x32x2xi32>
  %ids = nn.top_k 2 %x : tensor<4x32x16xf32> -> tensor<4x32x2xi32>
  // CHECK: nn.top_k 16 smallest %arg0 : tensor<4x32x16xf32> -> tensor<4x32x16xi64>
  %0 = nn.top_k 16 smallest %x : tensor<4x32x16xf32> -> tensor<4x32x16xi64>
  // CHECK: nn.top_k 4 groups 2 of 4 by <sum2> %arg0 : tensor<4x32x16xf32> -> tensor<4x32x4xi32>
  %1 = nn.top_k 4 groups 2 of 4 by <sum2> %x : tensor<4x32x16xf32> -> tensor<4x32x4xi32>
  // CHECK: nn.top_k 4 groups 1 of 4 by <max> %arg0
  %2 = nn.top_k 4 groups 1 of 4 by <max> %x : tensor<4x32x16xf32> -> tensor<4x32x4xi32>
  // CHECK: %[[G:.*]] = nn.take_along_axis %arg0, %[[IDS]] : tensor<4x32x16xf32>, tensor<4x32x2xi32> -> tensor<4x32x2xf32>
  %g = nn.take_along_axis %x, %ids : tensor<4x32x16xf32>, tensor<4x32x2xi32> -> tensor<4x32x2xf32>
  // CHECK: nn.take_along_axis_backward %[[G]], %[[IDS]] : tensor<4x32x2xf32>, tensor<4x32x2xi32> -> tensor<4x32x16xf32>
  %3 = nn.take_along_axis_backward %g, %ids : tensor<4x32x2xf32>, tensor<4x32x2xi32> -> tensor<4x32x16xf32>
  // CHECK: nn.expert_capacity 5 of 16 %[[IDS]], %[[G]] : tensor<4x32x2xi32>, tensor<4x32x2xf32>
  %4 = nn.expert_capacity 5 of 16 %ids, %g : tensor<4x32x2xi32>, tensor<4x32x2xf32>
  // CHECK: nn.expert_capacity 5 of 16 order <shards = 2, size = 32> %[[IDS]], %[[G]]
  %5 = nn.expert_capacity 5 of 16 order <shards = 2, size = 32> %ids, %g
      : tensor<4x32x2xi32>, tensor<4x32x2xf32>
  return %5 : tensor<4x32x2xi32>
}

// CHECK-LABEL: func @experts
func.func @experts(%x: tensor<4x32x64xbf16>, %ids: tensor<4x32x2xi32>, %c: tensor<4x32x2xf32>,
                   %wu: tensor<8x64x96xbf16>, %wd: tensor<8x96x48xbf16>, %at: index) {
  // CHECK: %[[Y:.*]] = nn.experts <silu> of 8 %arg0, %arg1, %arg2, %arg3, %arg3, %arg4 : tensor<4x32x64xbf16>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<8x64x96xbf16>, tensor<8x96x48xbf16> -> tensor<4x32x48xbf16>
  %y = nn.experts <silu> of 8 %x, %ids, %c, %wu, %wu, %wd
      : tensor<4x32x64xbf16>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<8x64x96xbf16>,
        tensor<8x96x48xbf16> -> tensor<4x32x48xbf16>
  // CHECK: %[[Z:.*]], %[[S:.*]]:2 = nn.experts <gelu> of 64 {{.*}} offset %arg5 : {{.*}} -> tensor<4x32x48xbf16> stats tensor<4x32x8x96xbf16>, tensor<4x32x8x96xbf16>
  %z, %g, %u = nn.experts <gelu> of 64 %x, %ids, %c, %wu, %wu, %wd offset %at
      : tensor<4x32x64xbf16>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<8x64x96xbf16>,
        tensor<8x96x48xbf16> -> tensor<4x32x48xbf16> stats tensor<4x32x8x96xbf16>, tensor<4x32x8x96xbf16>
  // CHECK: nn.expert_rows %arg0, %arg1 offset %arg5 : tensor<4x32x64xbf16>, tensor<4x32x2xi32> -> tensor<4x32x8x64xbf16>
  %r = nn.expert_rows %x, %ids offset %at
      : tensor<4x32x64xbf16>, tensor<4x32x2xi32> -> tensor<4x32x8x64xbf16>
  %ry = nn.expert_rows %y, %ids : tensor<4x32x48xbf16>, tensor<4x32x2xi32> -> tensor<4x32x8x48xbf16>
  // CHECK: nn.experts_backward <gelu_tanh> of 8 %[[Y]], %arg1, %arg2, %arg3, %arg3, %arg4, %[[S]]#0, %[[S]]#1 : tensor<4x32x48xbf16>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<8x64x96xbf16>, tensor<8x96x48xbf16>, tensor<4x32x8x96xbf16> -> tensor<4x32x64xbf16>
  %dx, %dc, %dg, %du = nn.experts_backward <gelu_tanh> of 8 %y, %ids, %c, %wu, %wu, %wd, %g, %u
      : tensor<4x32x48xbf16>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<8x64x96xbf16>,
        tensor<8x96x48xbf16>, tensor<4x32x8x96xbf16> -> tensor<4x32x64xbf16>
  // Gradients in f32 of weights in bf16.
  // CHECK: nn.experts_weight_gradient <silu> of 8 {{.*}} offset %arg5 : tensor<4x32x8x64xbf16>, tensor<4x32x8x48xbf16>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<4x32x8x96xbf16> -> tensor<8x64x96xf32>, tensor<8x96x48xf32>
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 8 %r, %ry, %ids, %c, %g, %u, %dg, %du offset %at
      : tensor<4x32x8x64xbf16>, tensor<4x32x8x48xbf16>, tensor<4x32x2xi32>, tensor<4x32x2xf32>,
        tensor<4x32x8x96xbf16> -> tensor<8x64x96xf32>, tensor<8x96x48xf32>
  return
}
