// RUN: tessera-opt %s --split-input-file --dist-form-dispatch | FileCheck %s
// RUN: tessera-opt %s --split-input-file --dist-form-dispatch=dispatch=dense | FileCheck %s --check-prefix=DENSE

dist.mesh @mesh ["dp"=4, "tp"=2]

// Tokens come after their ids, and sums go back to the devices of the tokens. The ids of a device's own
// tokens are those that were gathered.
// CHECK: func @layer(%[[X:[a-z0-9]+]]: tensor<1x32x64xf32>, %[[IDS:[a-z0-9]+]]:
// DENSE: func @layer
// DENSE-NOT: dist.dispatch
// DENSE-NOT: dist.combine
func.func @layer(%x: tensor<1x32x64xf32>, %ids: tensor<1x32x2xi32>, %gates: tensor<4x32x2xf32>, %grad: tensor<1x32x64xf32>,
                 %wg: tensor<2x64x96xf32>, %wd: tensor<2x96x64xf32>)
    -> (tensor<1x32x64xf32>, tensor<1x32x64xf32>, tensor<4x32x2x64xf32>) attributes {dist.local} {
  %o = dist.axis_offset <{"dp"}> size 2 on @mesh : index
  // CHECK-NOT: all_gather %[[X]]
  %xa = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x32x64xf32> -> tensor<4x32x64xf32>
  // CHECK: %[[IA:.+]] = dist.all_gather %[[IDS]]
  // CHECK-NEXT: %[[XA:.+]] = dist.dispatch %[[X]] by %[[IA]] experts 2 of 8 at <{"dp"}> dim 0 over <{"dp"}> on @mesh : tensor<1x32x64xf32>, tensor<4x32x2xi32> -> tensor<4x32x64xf32>
  %ia = dist.all_gather %ids dim 0 over <{"dp"}> on @mesh : tensor<1x32x2xi32> -> tensor<4x32x2xi32>
  // CHECK-NEXT: %[[P:.+]], %{{.+}}:2 = nn.experts <silu> of 8 %[[XA]], %[[IA]]
  %p, %g, %u = nn.experts <silu> of 8 %xa, %ia, %gates, %wg, %wg, %wd offset %o
      : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<2x64x96xf32>, tensor<2x96x64xf32>
      -> tensor<4x32x64xf32> stats tensor<4x32x2x96xf32>, tensor<4x32x2x96xf32>
  // CHECK-NEXT: %[[Y:.+]] = dist.combine %[[P]] by %[[IDS]] experts 2 of 8 at <{"dp"}> dim 0 over <{"dp"}> on @mesh : tensor<4x32x64xf32>, tensor<1x32x2xi32> -> tensor<1x32x64xf32>
  %y = dist.reduce_scatter <sum> %p dim 0 over <{"dp"}> on @mesh : tensor<4x32x64xf32> -> tensor<1x32x64xf32>
  // CHECK-NEXT: %[[GA:.+]] = dist.dispatch %{{.+}} by %[[IA]]
  %ga = dist.all_gather %grad dim 0 over <{"dp"}> on @mesh : tensor<1x32x64xf32> -> tensor<4x32x64xf32>
  // CHECK-NEXT: %[[DX:.+]], %{{.+}}, %{{.+}}, %{{.+}} = nn.experts_backward <silu> of 8 %[[GA]]
  %dx, %dgates, %dg, %du = nn.experts_backward <silu> of 8 %ga, %ia, %gates, %wg, %wg, %wd, %g, %u offset %o
      : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<2x64x96xf32>, tensor<2x96x64xf32>, tensor<4x32x2x96xf32>
      -> tensor<4x32x64xf32>
  // CHECK-NEXT: dist.combine %[[DX]] by %[[IDS]]
  %dxs = dist.reduce_scatter <sum> %dx dim 0 over <{"dp"}> on @mesh : tensor<4x32x64xf32> -> tensor<1x32x64xf32>
  // CHECK-NEXT: nn.expert_rows %[[XA]]
  %rows = nn.expert_rows %xa, %ia offset %o : tensor<4x32x64xf32>, tensor<4x32x2xi32> -> tensor<4x32x2x64xf32>
  return %y, %dxs, %rows : tensor<1x32x64xf32>, tensor<1x32x64xf32>, tensor<4x32x2x64xf32>
}

// The outer axis goes first to the experts, and last back; a hop over it serves the experts of both
// devices behind it.
// CHECK: func @hops(%[[X:[a-z0-9]+]]: tensor<1x4x8xf32>, %[[IDS:[a-z0-9]+]]:
// DENSE: func @hops(%[[X:[a-z0-9]+]]:
// DENSE: %[[D:.+]] = dist.all_gather %[[X]] dim 0 over <{"dp"}>
// DENSE-NEXT: dist.all_gather %[[D]] dim 1 over <{"tp"}>
// DENSE: %[[T:.+]] = dist.reduce_scatter <sum> %{{.+}} dim 1 over <{"tp"}>
// DENSE-NEXT: dist.reduce_scatter <sum> %[[T]] dim 0 over <{"dp"}>
func.func @hops(%x: tensor<1x4x8xf32>, %ids: tensor<1x4x2xi32>, %gates: tensor<4x8x2xf32>,
                %wg: tensor<1x8x6xf32>, %wd: tensor<1x6x5xf32>) -> tensor<1x4x5xf32> attributes {dist.local} {
  %o = dist.axis_offset <{"dp", "tp"}> size 1 on @mesh : index
  // CHECK: %[[I1:.+]] = dist.all_gather %[[IDS]] dim 0
  // CHECK-NEXT: %[[I2:.+]] = dist.all_gather %[[I1]] dim 1
  %i1 = dist.all_gather %ids dim 0 over <{"dp"}> on @mesh : tensor<1x4x2xi32> -> tensor<4x4x2xi32>
  %ia = dist.all_gather %i1 dim 1 over <{"tp"}> on @mesh : tensor<4x4x2xi32> -> tensor<4x8x2xi32>
  // CHECK-NEXT: %[[X1:.+]] = dist.dispatch %[[X]] by %[[I1]] experts 2 of 8 at <{"dp"}> dim 0 over <{"dp"}>
  // CHECK-NEXT: %[[X2:.+]] = dist.dispatch %[[X1]] by %[[I2]] experts 1 of 8 at <{"dp", "tp"}> dim 1 over <{"tp"}>
  %x1 = dist.all_gather %x dim 1 over <{"tp"}> on @mesh : tensor<1x4x8xf32> -> tensor<1x8x8xf32>
  %xa = dist.all_gather %x1 dim 0 over <{"dp"}> on @mesh : tensor<1x8x8xf32> -> tensor<4x8x8xf32>
  // CHECK-NEXT: nn.experts <silu> of 8 %[[X2]], %[[I2]]
  %p = nn.experts <silu> of 8 %xa, %ia, %gates, %wg, %wg, %wd offset %o
      : tensor<4x8x8xf32>, tensor<4x8x2xi32>, tensor<4x8x2xf32>, tensor<1x8x6xf32>, tensor<1x6x5xf32> -> tensor<4x8x5xf32>
  // CHECK-NEXT: %[[Y1:.+]] = dist.combine %{{.+}} by %[[I1]] experts 1 of 8 at <{"dp", "tp"}> dim 1 over <{"tp"}>
  // CHECK-NEXT: dist.combine %[[Y1]] by %[[IDS]] experts 2 of 8 at <{"dp"}> dim 0 over <{"dp"}>
  %y1 = dist.reduce_scatter <sum> %p dim 0 over <{"dp"}> on @mesh : tensor<4x8x5xf32> -> tensor<1x8x5xf32>
  %y = dist.reduce_scatter <sum> %y1 dim 1 over <{"tp"}> on @mesh : tensor<1x8x5xf32> -> tensor<1x4x5xf32>
  return %y : tensor<1x4x5xf32>
}

// Tokens are copies over tp: only devices that differ in dp send. Each has the experts of its position
// on both. Where tp is reduced before, all experts of its devices have contributed.
// CHECK: func @copies
func.func @copies(%x: tensor<1x4x8xf32>, %ia: tensor<4x4x2xi32>, %gates: tensor<4x4x2xf32>,
                  %wg: tensor<1x8x6xf32>, %wd: tensor<1x6x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) attributes {dist.local} {
  // CHECK: %[[OWN:.+]] = dist.all_slice %{{.+}} dim 0 over <{"dp"}> on @mesh : tensor<4x4x2xi32> -> tensor<1x4x2xi32>
  %o = dist.axis_offset <{"dp", "tp"}> size 1 on @mesh : index
  // CHECK: dist.dispatch %{{.+}} experts 1 of 8 at <{"dp", "tp"}> dim 0 over <{"dp"}>
  %xa = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x4x8xf32> -> tensor<4x4x8xf32>
  %p = nn.experts <silu> of 8 %xa, %ia, %gates, %wg, %wg, %wd offset %o
      : tensor<4x4x8xf32>, tensor<4x4x2xi32>, tensor<4x4x2xf32>, tensor<1x8x6xf32>, tensor<1x6x8xf32> -> tensor<4x4x8xf32>
  %q = nn.experts <gelu> of 8 %xa, %ia, %gates, %wg, %wg, %wd offset %o
      : tensor<4x4x8xf32>, tensor<4x4x2xi32>, tensor<4x4x2xf32>, tensor<1x8x6xf32>, tensor<1x6x8xf32> -> tensor<4x4x8xf32>
  // CHECK: dist.combine %{{.+}} by %[[OWN]] experts 1 of 8 at <{"dp", "tp"}> dim 0 over <{"dp"}>
  %y1 = dist.reduce_scatter <sum> %p dim 0 over <{"dp"}> on @mesh : tensor<4x4x8xf32> -> tensor<1x4x8xf32>
  %y = dist.all_reduce <sum> %y1 over <{"tp"}> on @mesh : tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  // CHECK: dist.combine %{{.+}} experts 2 of 8 at <{"dp"}> dim 0 over <{"dp"}>
  %z1 = dist.all_reduce <sum> %q over <{"tp"}> on @mesh : tensor<4x4x8xf32> -> tensor<4x4x8xf32>
  %z = dist.reduce_scatter <sum> %z1 dim 0 over <{"dp"}> on @mesh : tensor<4x4x8xf32> -> tensor<1x4x8xf32>
  return %y, %z : tensor<1x4x8xf32>, tensor<1x4x8xf32>
}

// Stay as they are: tokens that another op reads too, tokens of two choices, sums that another op reads,
// experts that all devices hold.
// CHECK: func @whole
// CHECK-NOT: dist.dispatch
// CHECK-NOT: dist.combine
func.func @whole(%x: tensor<1x4x8xf32>, %ia: tensor<4x4x2xi32>, %other: tensor<4x4x2xi32>, %gates: tensor<4x4x2xf32>,
                 %wg: tensor<2x8x6xf32>, %wd: tensor<2x6x8xf32>)
    -> (tensor<4x4x8xf32>, tensor<1x4x8xf32>, tensor<4x4x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x8x8xf32>)
    attributes {dist.local} {
  %o = dist.axis_offset <{"dp"}> size 2 on @mesh : index
  %xa = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x4x8xf32> -> tensor<4x4x8xf32>
  %read = nn.gelu <tanh> %xa : tensor<4x4x8xf32>
  %p = nn.experts <silu> of 8 %xa, %ia, %gates, %wg, %wg, %wd offset %o
      : tensor<4x4x8xf32>, tensor<4x4x2xi32>, tensor<4x4x2xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32> -> tensor<4x4x8xf32>
  %y = dist.reduce_scatter <sum> %p dim 0 over <{"dp"}> on @mesh : tensor<4x4x8xf32> -> tensor<1x4x8xf32>
  %negated = arith.negf %p : tensor<4x4x8xf32>
  %xb = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x4x8xf32> -> tensor<4x4x8xf32>
  %r1 = nn.expert_rows %xb, %ia offset %o : tensor<4x4x8xf32>, tensor<4x4x2xi32> -> tensor<4x4x2x8xf32>
  %r2 = nn.expert_rows %xb, %other offset %o : tensor<4x4x8xf32>, tensor<4x4x2xi32> -> tensor<4x4x2x8xf32>
  %xc = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x4x8xf32> -> tensor<4x4x8xf32>
  %r3 = nn.expert_rows %xc, %ia : tensor<4x4x8xf32>, tensor<4x4x2xi32> -> tensor<4x4x8x8xf32>
  return %read, %y, %negated, %r1, %r2, %r3
      : tensor<4x4x8xf32>, tensor<1x4x8xf32>, tensor<4x4x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x8x8xf32>
}

// -----

dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"

// Tokens that a task keeps are read by later tasks with the ids that it keeps; those of %b are read with
// other ids.
// CHECK: func @tasks
func.func @tasks(%xs: tensor<2x1x4x8xf32>, %is: tensor<2x2x4x2xi32>, %os: tensor<2x2x4x2xi32>, %gates: tensor<2x4x2xf32>,
                 %wg: tensor<2x8x6xf32>, %wd: tensor<2x6x8xf32>)
    -> (tensor<2x2x4x2x8xf32>, tensor<2x2x4x2x8xf32>) attributes {dist.local, dist.pp_rank = 1 : i64} {
  %o = dist.axis_offset <{"dp"}> size 2 on @mesh : index
  %r:2 = dist.pipeline paths [[0, 1]] micro_batches 2 batch(%xs, %is, %os)
      list "rA0.0 F0.0 BW0.0 rA0.1 F0.1 BW0.1"
      : (tensor<2x1x4x8xf32>, tensor<2x2x4x2xi32>, tensor<2x2x4x2xi32>) -> (tensor<2x2x4x2x8xf32>, tensor<2x2x4x2x8xf32>) {
    dist.task F 0 (%x = batch 0 : tensor<1x4x8xf32>, %ids = batch 1 : tensor<2x4x2xi32>, %s = recv 0 : tensor<f32>) {
      // CHECK: dist.dispatch
      %a = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x4x8xf32> -> tensor<2x4x8xf32>
      %y = nn.experts <silu> of 4 %a, %ids, %gates, %wg, %wg, %wd offset %o
          : tensor<2x4x8xf32>, tensor<2x4x2xi32>, tensor<2x4x2xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32> -> tensor<2x4x8xf32>
      // CHECK: dist.all_gather
      %b = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x4x8xf32> -> tensor<2x4x8xf32>
      %z = nn.experts <gelu> of 4 %b, %ids, %gates, %wg, %wg, %wd offset %o
          : tensor<2x4x8xf32>, tensor<2x4x2xi32>, tensor<2x4x2xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32> -> tensor<2x4x8xf32>
      dist.task_yield keep(%ids, %a, %b : tensor<2x4x2xi32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    }
    dist.task BW 0 (%ids = F 0 : tensor<2x4x2xi32>, %a = F 1 : tensor<2x4x8xf32>, %b = F 2 : tensor<2x4x8xf32>, %others = batch 2 : tensor<2x4x2xi32>) {
      %ra = nn.expert_rows %a, %ids offset %o : tensor<2x4x8xf32>, tensor<2x4x2xi32> -> tensor<2x4x2x8xf32>
      %rb = nn.expert_rows %b, %others offset %o : tensor<2x4x8xf32>, tensor<2x4x2xi32> -> tensor<2x4x2x8xf32>
      dist.task_yield store [0, 1](%ra, %rb : tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>)
    }
  }
  return %r#0, %r#1 : tensor<2x2x4x2x8xf32>, tensor<2x2x4x2x8xf32>
}

// -----

dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"

// Tokens that B passes on to W are read there with other ids.
// CHECK: func @passed_on
// CHECK-NOT: dist.dispatch
func.func @passed_on(%xs: tensor<2x1x4x8xf32>, %is: tensor<2x2x4x2xi32>, %os: tensor<2x2x4x2xi32>, %gates: tensor<2x4x2xf32>,
                     %wg: tensor<2x8x6xf32>, %wd: tensor<2x6x8xf32>) -> tensor<2x2x4x2x8xf32>
    attributes {dist.local, dist.pp_rank = 1 : i64} {
  %o = dist.axis_offset <{"dp"}> size 2 on @mesh : index
  %r = dist.pipeline paths [[0, 1]] micro_batches 2 batch(%xs, %is, %os)
      list "rA0.0 F0.0 B0.0 W0.0 rA0.1 F0.1 B0.1 W0.1"
      : (tensor<2x1x4x8xf32>, tensor<2x2x4x2xi32>, tensor<2x2x4x2xi32>) -> tensor<2x2x4x2x8xf32> {
    dist.task F 0 (%x = batch 0 : tensor<1x4x8xf32>, %ids = batch 1 : tensor<2x4x2xi32>, %s = recv 0 : tensor<f32>) {
      %a = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x4x8xf32> -> tensor<2x4x8xf32>
      %y = nn.experts <silu> of 4 %a, %ids, %gates, %wg, %wg, %wd offset %o
          : tensor<2x4x8xf32>, tensor<2x4x2xi32>, tensor<2x4x2xf32>, tensor<2x8x6xf32>, tensor<2x6x8xf32> -> tensor<2x4x8xf32>
      dist.task_yield keep(%a : tensor<2x4x8xf32>)
    }
    dist.task B 0 (%a = F 0 : tensor<2x4x8xf32>) {
      dist.task_yield keep(%a : tensor<2x4x8xf32>)
    }
    dist.task W 0 (%a = B 0 : tensor<2x4x8xf32>, %others = batch 2 : tensor<2x4x2xi32>) {
      %ra = nn.expert_rows %a, %others offset %o : tensor<2x4x8xf32>, tensor<2x4x2xi32> -> tensor<2x4x2x8xf32>
      dist.task_yield store [0](%ra : tensor<2x4x2x8xf32>)
    }
  }
  return %r : tensor<2x2x4x2x8xf32>
}
