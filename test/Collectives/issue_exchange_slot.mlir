// RUN: tessera-opt %s --rt-start-collectives | FileCheck %s

// The sends of an exchange have a slot that no collective in flight has; it is
// free again afterwards.
dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"

// CHECK-LABEL: func.func @across
// CHECK: %[[F:.*]] = dist.start %arg0 {rt.slot = 0 : i64}
// CHECK: dist.exchange(%arg1) {{.*}} {rt.slot = 1 : i64}
// CHECK: dist.start %arg1 {rt.slot = 1 : i64}
// CHECK: dist.wait %[[F]], %arg0 {rt.slot = 0 : i64}
func.func @across(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {dist.pp_rank = 0 : i64} {
  %f = dist.start %x : tensor<4xf32> -> !dist.future<tensor<4xf32>> {
  ^bb0(%a: tensor<4xf32>):
    %r = dist.all_reduce <sum> %a over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
    dist.yield %r : tensor<4xf32>
  }
  %0 = dist.exchange (%y) from [0] among [0, 1] : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.all_reduce <sum> %y over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = dist.wait %f, %x : !dist.future<tensor<4xf32>>, tensor<4xf32> -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
