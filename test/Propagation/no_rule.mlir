// RUN: tessera-opt %s --dist-propagate-shardings --remarks-filter="propagation.*" 2>&1 | FileCheck %s

dist.mesh @mesh ["x"=4]

// One remark for each kind of op without a rule, not one for each op; its
// operands and results are replicated unless other ops shard them.
// CHECK-COUNT-1: remark: {{.*}}tensor.reshape has no sharding rule: its operands and results are replicated
// CHECK-COUNT-1: remark: {{.*}}scf.if has no sharding rule: its operands, what its regions use and its results are replicated
// CHECK-NOT: remark
// CHECK-LABEL: func @reshape
// CHECK: tensor.reshape
// CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]
func.func @reshape(
    %a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %shape: tensor<2xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = tensor.reshape %a(%shape) : (tensor<8xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %1 = tensor.reshape %a(%shape) : (tensor<8xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// An op with regions, which may use any value.
// CHECK-LABEL: func @branch
// CHECK: scf.if
// CHECK: dist.shardings = [#dist.sharding<@mesh, [{}]>]
func.func @branch(
    %a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %c: i1) -> tensor<8xf32> {
  %0 = scf.if %c -> tensor<8xf32> {
    scf.yield %a : tensor<8xf32>
  } else {
    %1 = arith.negf %a : tensor<8xf32>
    scf.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
