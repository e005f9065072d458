// Ops that matter to gradients alone are erased; a sharding stays.
// RUN: tessera-opt %s --nn-erase-stop-gradients | FileCheck %s

dist.mesh @mesh ["x"=2]

// CHECK-LABEL: func.func @plain
// CHECK-NEXT: %[[R:.*]] = arith.mulf %arg0, %arg1
// CHECK-NEXT: return %[[R]]
func.func @plain(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.stop_gradient %x : tensor<8xf32>
  %1 = arith.mulf %0, %y : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func.func @sharded
// CHECK-NEXT: %[[C:.*]] = dist.constraint %arg0
// CHECK-SAME: [{"x"}]
// CHECK-NEXT: return %[[C]]
func.func @sharded(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.stop_gradient %x {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
