// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// CHECK: func @records
func.func @records(%x: tensor<4x32x64xbf16>, %grad: tensor<4x32x32xbf16>, %ids: tensor<4x32x2xi64>, %gates: tensor<4x32x2xf32>,
                   %wg: tensor<3x64x96xbf16>, %wd: tensor<3x96x32xbf16>, %xr: tensor<200x64xbf16>, %o: index) {
  // CHECK: rt.route %{{.+}} experts 3 of 8 room 200 offset %{{.+}} : tensor<4x32x2xi64> -> tensor<460xi32>
  %r = rt.route %ids experts 3 of 8 room 200 offset %o : tensor<4x32x2xi64> -> tensor<460xi32>
  // CHECK: rt.route %{{.+}} experts 3 of 8 room 200 each [70, 40] layer 1 : tensor<4x32x2xi64> -> tensor<460xi32>
  %e = rt.route %ids experts 3 of 8 room 200 each [70, 40] layer 1 : tensor<4x32x2xi64> -> tensor<460xi32>
  // CHECK: rt.experts <gelu> of 6 %{{.*}} -> tensor<4x32x32xbf16>
  %y = rt.experts <gelu> of 6 %x, %r, %gates, %wg, %wg, %wd
      : tensor<4x32x64xbf16>, tensor<460xi32>, tensor<4x32x2xf32>, tensor<3x64x96xbf16>, tensor<3x96x32xbf16> -> tensor<4x32x32xbf16>
  // CHECK: rt.experts <silu> of 6 %{{.*}} rows tensor<200x96xbf16>, tensor<200x96xbf16>
  %z, %g, %u = rt.experts <silu> of 6 %x, %r, %gates, %wg, %wg, %wd
      : tensor<4x32x64xbf16>, tensor<460xi32>, tensor<4x32x2xf32>, tensor<3x64x96xbf16>, tensor<3x96x32xbf16>
      -> tensor<4x32x32xbf16> rows tensor<200x96xbf16>, tensor<200x96xbf16>
  // CHECK: rt.experts_backward <silu> of 6
  %dx, %dgates, %dg, %du = rt.experts_backward <silu> of 6 %grad, %r, %gates, %wg, %wg, %wd, %g, %u
      : tensor<4x32x32xbf16>, tensor<460xi32>, tensor<4x32x2xf32>, tensor<3x64x96xbf16>, tensor<3x96x32xbf16>, tensor<200x96xbf16>
      -> tensor<4x32x64xbf16>
  // CHECK: rt.experts_weight_gradient <silu> of 6 rows %{{.+}}, %{{.+}}, %{{.*}} -> tensor<3x64x96xf32>, tensor<3x96x32xf32>
  %a, %b, %c = rt.experts_weight_gradient <silu> of 6 rows %xr, %grad, %r, %gates, %g, %u, %dg, %du
      : tensor<200x64xbf16>, tensor<4x32x32xbf16>, tensor<460xi32>, tensor<4x32x2xf32>, tensor<200x96xbf16>
      -> tensor<3x64x96xf32>, tensor<3x96x32xf32>
  // CHECK: rt.expert_capacity 5 of 6 order [2, 32] %{{.+}}, %{{.+}} : tensor<4x32x2xi64>, tensor<4x32x2xf32>
  %k = rt.expert_capacity 5 of 6 order [2, 32] %ids, %gates : tensor<4x32x2xi64>, tensor<4x32x2xf32>
  return
}

// CHECK: func @step
func.func @step() attributes {rt.step, rt.arena_bytes = 8192 : i64} {
  // CHECK: %[[O:.+]] = rt.axis_offset
  %o = rt.axis_offset [1, 2] size 2 : index
  // CHECK: rt.call_route i32 [128, 2, 2, 8, 256, 0, 0] layer 3 at [0, 1024] offset %[[O]]
  rt.call_route i32 [128, 2, 2, 8, 256, 0, 0] layer 3 at [0, 1024] offset %o
  // CHECK: rt.call_expert_capacity i32, f32 [4, 32, 2, 8, 5, 0, 0] at [0, 1024, 2048]
  rt.call_expert_capacity i32, f32 [4, 32, 2, 8, 5, 0, 0] at [0, 1024, 2048]
  // CHECK: rt.call_experts <silu> f32 -> f32 [128, 2, 2, 256, 64, 96, 64] at [0, 64, 128, 192, 256, 320, 384]
  rt.call_experts <silu> f32 -> f32 [128, 2, 2, 256, 64, 96, 64] at [0, 64, 128, 192, 256, 320, 384]
  // CHECK: rt.call_experts_backward <gelu_tanh>
  rt.call_experts_backward <gelu_tanh> f32 -> f32 [128, 2, 2, 256, 64, 96, 64] at [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
  // CHECK: rt.call_experts_weight_gradient <silu> bf16 -> f32 [128, 2, 2, 256, 64, 96, 64] x_in_rows grad_in_rows at
  rt.call_experts_weight_gradient <silu> bf16 -> f32 [128, 2, 2, 256, 64, 96, 64] x_in_rows grad_in_rows at [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  return
}
