// A graph of StableHLO in MLIR's generic form is imported and partitioned.
//
// RUN: env PYTHONPATH=%src/examples/standalone/c %python %S/Inputs/imports.py %capi %s | FileCheck %s
// CHECK: func.func @forward(%{{.*}}: tensor<2x8xf32> {{{.*}}nn.input = "arg0"
// CHECK: math.tanh %{{.*}} : tensor<2x8xf32>
// CHECK-NOT: stablehlo

"func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4x8xf32>):
  %0 = "stablehlo.tanh"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  "func.return"(%0) : (tensor<4x8xf32>) -> ()
}) : () -> ()
