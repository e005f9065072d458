// RUN: tessera-opt %s --dist-pack-rows | FileCheck %s
// RUN: sed '1i module attributes {dist.plan = #dist.plan<moe_room = 1.5>} {' %s | sed '$a }' | tessera-opt --dist-pack-rows | FileCheck %s --check-prefix=ROOM

// Room for 1.5 times 128 rows, those of an even load; as many as tokens can have where experts are not
// known.
// ROOM: func @step
// ROOM-COUNT-2: dist.pack_rows {{.*}} -> tensor<192x96xf32>
// ROOM: func @one
// ROOM: dist.pack_rows {{.*}} -> tensor<8x4xbf16>

dist.mesh @mesh ["dp"=2]

// Stats go through rows: 2 of 4 held experts for each of 128 tokens. What the backward makes is
// marked as its op.
// CHECK: func @step
func.func @step(%x: tensor<4x32x64xf32>, %ids: tensor<4x32x2xi32>, %gates: tensor<4x32x2xf32>,
                %wg: tensor<4x64x96xf32>, %wd: tensor<4x96x64xf32>)
    -> (tensor<4x32x64xf32>, tensor<4x32x64xf32>) attributes {dist.local} {
  // CHECK: %[[O:.+]] = dist.axis_offset
  %o = dist.axis_offset <{"dp"}> size 4 on @mesh : index
  // CHECK: %{{.+}}, %[[S:.+]]:2 = nn.experts
  %y, %g, %u = nn.experts <silu> of 8 %x, %ids, %gates, %wg, %wg, %wd offset %o
      : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<4x64x96xf32>, tensor<4x96x64xf32>
      -> tensor<4x32x64xf32> stats tensor<4x32x4x96xf32>, tensor<4x32x4x96xf32>
  // CHECK-DAG: %[[R0:.+]] = dist.pack_rows %[[S]]#0 by %arg1 offset %[[O]] : tensor<4x32x4x96xf32>, tensor<4x32x2xi32> -> tensor<256x96xf32>
  // CHECK-DAG: %[[R1:.+]] = dist.pack_rows %[[S]]#1 by %arg1 offset %[[O]] : tensor<4x32x4x96xf32>, tensor<4x32x2xi32> -> tensor<256x96xf32>
  // CHECK-DAG: %[[G:.+]] = dist.unpack_rows %[[R0]] by %arg1 offset %[[O]] {dist.backward}
  // CHECK-DAG: %[[U:.+]] = dist.unpack_rows %[[R1]] by %arg1 offset %[[O]] {dist.backward}
  // CHECK: nn.experts_backward {{.*}} %[[G]], %[[U]] offset
  %dx, %dgates, %dg, %du = nn.experts_backward <silu> of 8 %y, %ids, %gates, %wg, %wg, %wd, %g, %u offset %o {dist.backward}
      : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<4x64x96xf32>, tensor<4x96x64xf32>, tensor<4x32x4x96xf32>
      -> tensor<4x32x64xf32>
  // CHECK-NOT: pack_rows
  return %y, %dx : tensor<4x32x64xf32>, tensor<4x32x64xf32>
}

// One held expert has at most a row for each token.
// CHECK: func @one
func.func @one(%x: tensor<8x4xbf16>, %ids: tensor<8x2xi32>) -> tensor<8x1x4xbf16> attributes {dist.local} {
  // CHECK: dist.pack_rows {{.*}} -> tensor<8x4xbf16>
  %r = nn.expert_rows %x, %ids : tensor<8x4xbf16>, tensor<8x2xi32> -> tensor<8x1x4xbf16>
  // CHECK: %[[V:.+]] = dist.unpack_rows
  // CHECK-NEXT: return %[[V]]
  return %r : tensor<8x1x4xbf16>
}

// A program on all devices has no rows.
// CHECK: func @global
// CHECK-NOT: pack_rows
func.func @global(%x: tensor<8x4xf32>, %ids: tensor<8x2xi32>) -> tensor<8x2x4xf32> {
  %r = nn.expert_rows %x, %ids : tensor<8x4xf32>, tensor<8x2xi32> -> tensor<8x2x4xf32>
  return %r : tensor<8x2x4xf32>
}
