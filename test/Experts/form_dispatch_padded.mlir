// RUN: tessera-opt %s --split-input-file --verify-diagnostics --dist-form-dispatch=dispatch=padded | FileCheck %s

// Of 32 tokens a device of four expects 15 for each other, and there is room for 1.5 times these. Tokens are
// selected by a device's own ids and placed by those of all; a sum comes back the other way.
// CHECK: func @layer(%[[X:[a-z0-9]+]]: tensor<1x32x64xf32>, %[[IDS:[a-z0-9]+]]:
module attributes {dist.plan = #dist.plan<moe_room = 1.5>} {
  dist.mesh @mesh ["dp"=4]
  func.func @layer(%x: tensor<1x32x64xf32>, %ids: tensor<1x32x2xi32>, %gates: tensor<4x32x2xf32>,
                   %wg: tensor<2x64x96xf32>, %wd: tensor<2x96x64xf32>) -> tensor<1x32x64xf32> attributes {dist.local} {
    // CHECK-DAG: %[[OWN:.+]] = rt.route %{{.+}} experts 4 of 4 room 128 each [23, 15] layer 3 : tensor<1x32x4xi32> -> tensor<261xi32>
    // CHECK-DAG: %[[IA:.+]] = dist.all_gather %[[IDS]]
    // CHECK: %[[ALL:.+]] = rt.route %{{.+}} experts 4 of 4 room 128 each [23, 15] layer 3 : tensor<4x32x1xi32> -> tensor<261xi32>
    // CHECK: %[[SENT:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<4x23x64xf32>)
    // CHECK: tensor.extract %[[OWN]]
    // CHECK: dist.all_to_all %[[SENT]] gather 1 split 0 over <{"dp"}> on @mesh : tensor<4x23x64xf32> -> tensor<1x92x64xf32>
    // CHECK: linalg.generic
    // CHECK: tensor.extract %[[ALL]]
    // CHECK: nn.experts <silu> of 8 %{{.+}}, %[[IA]]
    // CHECK: %[[BACK:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<4x23x64xf32>)
    // CHECK: tensor.extract %[[ALL]]
    // CHECK: dist.all_to_all %[[BACK]] gather 1 split 0 over <{"dp"}> on @mesh : tensor<4x23x64xf32> -> tensor<1x92x64xf32>
    // CHECK: linalg.generic {{.+}} iterator_types = ["parallel", "parallel", "reduction"]
    // CHECK: tensor.extract %[[OWN]]
    // CHECK-NOT: rt.route
    // CHECK-NOT: reduce_scatter
    %o = dist.axis_offset <{"dp"}> size 2 on @mesh : index
    %xa = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x32x64xf32> -> tensor<4x32x64xf32>
    %ia = dist.all_gather %ids dim 0 over <{"dp"}> on @mesh : tensor<1x32x2xi32> -> tensor<4x32x2xi32>
    %p = nn.experts <silu> of 8 %xa, %ia, %gates, %wg, %wg, %wd offset %o {dist.layer = 3 : i64}
        : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<2x64x96xf32>, tensor<2x96x64xf32>
        -> tensor<4x32x64xf32>
    %y = dist.reduce_scatter <sum> %p dim 0 over <{"dp"}> on @mesh : tensor<4x32x64xf32> -> tensor<1x32x64xf32>
    return %y : tensor<1x32x64xf32>
  }
}

// -----

// Room for all tokens is an all-gather.
// CHECK: func @whole
// CHECK-NOT: all_to_all
// CHECK: dist.all_gather %{{.+}} : tensor<1x32x64xf32>
module attributes {dist.plan = #dist.plan<moe_room = 2.5>} {
  dist.mesh @mesh ["dp"=4]
  func.func @whole(%x: tensor<1x32x64xf32>, %ids: tensor<4x32x2xi32>, %gates: tensor<4x32x2xf32>,
                   %wg: tensor<2x64x96xf32>, %wd: tensor<2x96x64xf32>) -> tensor<4x32x64xf32> attributes {dist.local} {
    %o = dist.axis_offset <{"dp"}> size 2 on @mesh : index
    %xa = dist.all_gather %x dim 0 over <{"dp"}> on @mesh : tensor<1x32x64xf32> -> tensor<4x32x64xf32>
    %p = nn.experts <silu> of 8 %xa, %ids, %gates, %wg, %wg, %wd offset %o
        : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<2x64x96xf32>, tensor<2x96x64xf32>
        -> tensor<4x32x64xf32>
    return %p : tensor<4x32x64xf32>
  }
}

// -----

// expected-error @+1 {{dispatch padded expects a plan with moe-room, the room for tokens from one device to another over those of an even load, but got none}}
func.func @no_room() { return }
