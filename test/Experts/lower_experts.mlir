// RUN: tessera-opt %s --rt-lower-experts --canonicalize | FileCheck %s

dist.mesh @mesh ["dp"=2]

// Rows that only experts read stay rows; x and grad are read by token. All calls share a routing.
// CHECK: func @step(%[[X:[a-z0-9]+]]: tensor<4x32x64xf32>, %[[IDS:[a-z0-9]+]]: {{[^,]*}}, %[[GATES:[a-z0-9]+]]:
func.func @step(%x: tensor<4x32x64xf32>, %ids: tensor<4x32x2xi32>, %gates: tensor<4x32x2xf32>, %grad: tensor<4x32x64xf32>,
                %wg: tensor<4x64x96xf32>, %wd: tensor<4x96x64xf32>)
    -> (tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<4x64x96xf32>, tensor<4x96x64xf32>) attributes {dist.local} {
  // CHECK: %[[O:.+]] = dist.axis_offset
  %o = dist.axis_offset <{"dp"}> size 4 on @mesh : index
  // CHECK-NEXT: %[[P:.+]] = rt.route %[[IDS]] experts 4 of 8 room 256 offset %[[O]] : tensor<4x32x2xi32> -> tensor<517xi32>
  // CHECK-NEXT: %[[Y:.+]], %[[R:.+]]:2 = rt.experts <silu> of 8 %[[X]], %[[P]], %[[GATES]], {{.*}} rows tensor<256x96xf32>, tensor<256x96xf32>
  %y, %g, %u = nn.experts <silu> of 8 %x, %ids, %gates, %wg, %wg, %wd offset %o
      : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<4x64x96xf32>, tensor<4x96x64xf32>
      -> tensor<4x32x64xf32> stats tensor<4x32x4x96xf32>, tensor<4x32x4x96xf32>
  %p = dist.pack_rows %g by %ids offset %o : tensor<4x32x4x96xf32>, tensor<4x32x2xi32> -> tensor<256x96xf32>
  %q = dist.axis_offset <{"dp"}> size 4 on @mesh : index
  %g2 = dist.unpack_rows %p by %ids offset %q : tensor<256x96xf32>, tensor<4x32x2xi32> -> tensor<4x32x4x96xf32>
  // CHECK-NEXT: %[[DX:.+]], %{{.+}}, %[[DG:.+]], %[[DU:.+]] = rt.experts_backward <silu> of 8 %{{.+}}, %[[P]], %[[GATES]], {{.*}}, %[[R]]#0, %[[R]]#1 :
  %dx, %dgates, %dg, %du = nn.experts_backward <silu> of 8 %grad, %ids, %gates, %wg, %wg, %wd, %g2, %u offset %o
      : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<4x64x96xf32>, tensor<4x96x64xf32>, tensor<4x32x4x96xf32>
      -> tensor<4x32x64xf32>
  %rows = nn.expert_rows %x, %ids offset %o : tensor<4x32x64xf32>, tensor<4x32x2xi32> -> tensor<4x32x4x64xf32>
  %grads = nn.expert_rows %grad, %ids offset %o : tensor<4x32x64xf32>, tensor<4x32x2xi32> -> tensor<4x32x4x64xf32>
  // CHECK-NEXT: %[[DWG:.+]], %{{.+}}, %[[DWD:.+]] = rt.experts_weight_gradient <silu> of 8 %[[X]], %{{.+}}, %[[P]], %[[GATES]], %[[R]]#0, %[[R]]#1, %[[DG]], %[[DU]] :
  %dwg, %dwu, %dwd = nn.experts_weight_gradient <silu> of 8 %rows, %grads, %ids, %gates, %g2, %u, %dg, %du offset %o
      : tensor<4x32x4x64xf32>, tensor<4x32x4x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<4x32x4x96xf32>
      -> tensor<4x64x96xf32>, tensor<4x96x64xf32>
  // CHECK-NEXT: return %[[Y]], %[[DX]], %[[DWG]], %[[DWD]]
  return %y, %dx, %dwg, %dwd : tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<4x64x96xf32>, tensor<4x96x64xf32>
}

// Rows that come from elsewhere, as a task of a pipeline gets them, are read as they are.
// CHECK: func @task(%[[ROWS:[a-z0-9]+]]: tensor<16x4xf32>, %[[GRADS:[a-z0-9]+]]:
func.func @task(%kept: tensor<16x4xf32>, %grad_kept: tensor<16x6xf32>, %stat: tensor<16x5xf32>, %ids: tensor<8x2xi32>, %gates: tensor<8x2xf32>)
    -> tensor<3x4x5xf32> attributes {dist.local} {
  %rows = dist.unpack_rows %kept by %ids : tensor<16x4xf32>, tensor<8x2xi32> -> tensor<8x3x4xf32>
  %grads = dist.unpack_rows %grad_kept by %ids : tensor<16x6xf32>, tensor<8x2xi32> -> tensor<8x3x6xf32>
  %s = dist.unpack_rows %stat by %ids : tensor<16x5xf32>, tensor<8x2xi32> -> tensor<8x3x5xf32>
  // CHECK: rt.experts_weight_gradient <gelu> of 3 rows %[[ROWS]], rows %[[GRADS]], %{{.+}}, %{{.+}}, %[[S:.+]], %[[S]], %[[S]], %[[S]] :
  %dwg, %dwu, %dwd = nn.experts_weight_gradient <gelu> of 3 %rows, %grads, %ids, %gates, %s, %s, %s, %s
      : tensor<8x3x4xf32>, tensor<8x3x6xf32>, tensor<8x2xi32>, tensor<8x2xf32>, tensor<8x3x5xf32> -> tensor<3x4x5xf32>, tensor<3x5x6xf32>
  return %dwg : tensor<3x4x5xf32>
}

// A tensor by expert that another op reads is made of its rows.
// CHECK: func @whole
func.func @whole(%x: tensor<8x4xf32>, %ids: tensor<8x2xi16>) -> tensor<8x3x4xf32> attributes {dist.local} {
  // CHECK: rt.route %{{.+}} experts 3 of 3 room 16 : tensor<8x2xi32> -> tensor<36xi32>
  // CHECK-COUNT-2: linalg.generic
  // CHECK-NOT: expert_rows
  %r = nn.expert_rows %x, %ids : tensor<8x4xf32>, tensor<8x2xi16> -> tensor<8x3x4xf32>
  return %r : tensor<8x3x4xf32>
}

// Rows that are read before experts share the routing of these, which moves up.
// CHECK: func @before
func.func @before(%x: tensor<8x4xf32>, %ids: tensor<8x2xi16>, %gates: tensor<8x2xf32>, %wg: tensor<3x4x5xf32>, %wd: tensor<3x5x4xf32>)
    -> (tensor<8x3x4xf32>, tensor<8x4xf32>) attributes {dist.local} {
  // CHECK: rt.route
  // CHECK-NOT: rt.route
  // CHECK: rt.experts
  %r = nn.expert_rows %x, %ids : tensor<8x4xf32>, tensor<8x2xi16> -> tensor<8x3x4xf32>
  %y = nn.experts <silu> of 3 %x, %ids, %gates, %wg, %wg, %wd
      : tensor<8x4xf32>, tensor<8x2xi16>, tensor<8x2xf32>, tensor<3x4x5xf32>, tensor<3x5x4xf32> -> tensor<8x4xf32>
  return %r, %y : tensor<8x3x4xf32>, tensor<8x4xf32>
}

// The choice of experts: a search for each, and a call for capacities.
// CHECK: func @choice
func.func @choice(%x: tensor<2x4x6xf32>) -> tensor<2x4x2xi32> attributes {dist.local} {
  // CHECK-NOT: nn.top_k
  %ids = nn.top_k 2 %x : tensor<2x4x6xf32> -> tensor<2x4x2xi32>
  %scores = nn.take_along_axis %x, %ids : tensor<2x4x6xf32>, tensor<2x4x2xi32> -> tensor<2x4x2xf32>
  // CHECK: rt.expert_capacity 2 of 6 order [1, 4] %{{.+}}, %{{.+}} : tensor<2x4x2xi32>, tensor<2x4x2xf32>
  %kept = nn.expert_capacity 2 of 6 order <shards = 1, size = 4> %ids, %scores : tensor<2x4x2xi32>, tensor<2x4x2xf32>
  return %kept : tensor<2x4x2xi32>
}
