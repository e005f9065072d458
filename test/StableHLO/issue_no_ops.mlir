// A source without computation has no op of its dialect; it becomes a graph
// nevertheless.
// RUN: tessera import %s | FileCheck %s
// CHECK: module @jit_f {
// CHECK: func.func @forward(%[[X:.+]]: tensor<4xf32> {nn.param = "x"}, %[[Y:.+]]: tensor<3xi32> {nn.input = "y"}) ->
// CHECK-SAME: (tensor<3xi32> {nn.output = "0"}, tensor<4xf32> {nn.output = "1"})
// CHECK-NEXT: return %[[Y]], %[[X]]
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf32> {mhlo.layout_mode = "default"} loc("x"), %arg1: tensor<3xi32> loc("y"))
      -> (tensor<3xi32> {jax.result_info = "result[0]"}, tensor<4xf32> {jax.result_info = "result[1]"}) {
    %0:2 = call @swap(%arg0, %arg1) : (tensor<4xf32>, tensor<3xi32>) -> (tensor<3xi32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<3xi32>, tensor<4xf32>
  }
  func.func private @swap(%arg0: tensor<4xf32>, %arg1: tensor<3xi32>) -> (tensor<3xi32>, tensor<4xf32>) {
    return %arg1, %arg0 : tensor<3xi32>, tensor<4xf32>
  }
}

// A module without a function is not a graph.
// RUN: echo 'module {}' | not tessera import - 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: expects a module with a function but got one without
