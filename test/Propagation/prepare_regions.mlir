// RUN: split-file %s %t
// RUN: tessera-opt %t/main.mlir --dist-prepare-regions --remarks-filter="propagation.*" 2>&1 | FileCheck %s
// RUN: not tessera-opt %t/recursive.mlir --dist-prepare-regions 2>&1 | FileCheck %s --check-prefix=RECURSIVE
// RUN: not tessera-opt %t/external.mlir --dist-prepare-regions 2>&1 | FileCheck %s --check-prefix=EXTERNAL

//--- main.mlir
// Dropped shardings are reported once.
// CHECK-COUNT-1: remark: {{.*}}dist.constraint is dropped: scf.if, in which it is, runs whole on every device
// CHECK-NOT: remark

dist.mesh @mesh ["x"=4]

func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.negf %0 : tensor<4xf32>
  return %1, %x : tensor<4xf32>, tensor<4xf32>
}

// Calls of calls in a branch are inlined, calls outside of it stay.
// CHECK-LABEL: func @branch
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>
// CHECK: %[[Y:.*]]:2 = call @outer
// CHECK: scf.if
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[Y]]#0
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[T]] : tensor<4xf32>
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[N]], %[[Y]]#0 : tensor<4xf32>
// CHECK-NEXT: scf.yield %[[S]]
// CHECK-NOT: dist.constraint
func.func @branch(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %y:2 = func.call @outer(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %0 = scf.if %c -> tensor<4xf32> {
    %1:2 = func.call @outer(%y#0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %2 = dist.constraint %1#0 <@mesh, [{"x"}]> : tensor<4xf32>
    %3 = arith.addf %2, %1#1 {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<4xf32>
    scf.yield %3 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

//--- recursive.mlir
// RECURSIVE: error: 'func.call' op expects calls that end, but @f calls itself
func.func @f(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = scf.if %c -> tensor<4xf32> {
    %1 = func.call @f(%x, %c) : (tensor<4xf32>, i1) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

//--- external.mlir
// EXTERNAL: error: 'func.call' op expects a callee in this module with a body of one block where it is in a region
func.func private @far(tensor<4xf32>) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = scf.if %c -> tensor<4xf32> {
    %1 = func.call @far(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
