// RUN: split-file %s %t
// RUN: tessera-opt %t/loss.mlir --compile-to="plan mesh=dp=2 strategy=dp,zero=2 training=micro-batches=2" | FileCheck %s
// RUN: tessera-opt %t/loss.mlir --compile-to="plan mesh=dp=2 strategy=dp,zero=1 forward" | FileCheck %s --check-prefix=FORWARD
// RUN: tessera-opt %t/loss.mlir --tessera-plan="mesh=dp=2 strategy=dp training=lr=0.5" | FileCheck %s --check-prefix=NAMED
// The same layout as fields of a plan.
// RUN: tessera-opt %t/loss.mlir --tessera-plan="training=dp=2,lr=0.5" | FileCheck %s --check-prefix=NAMED
// RUN: tessera-opt %t/logits.mlir --compile-to="train mesh=dp=2 strategy=dp" | FileCheck %s --check-prefix=LOGITS
// RUN: not tessera-opt %t/logits.mlir --dist-plan-training="settings=lr=1" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not tessera-opt %t/planned.mlir --dist-plan-training="settings=lr=1" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not tessera-opt %t/planned.mlir --dist-plan-training="strategy=dp,zero=3" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: tessera-opt %t/planned.mlir --dist-plan-training="strategy=dp,zero=1" | FileCheck %s --check-prefix=KEPT
// RUN: not tessera-opt %t/loss.mlir --dist-plan-training="settings=speed=1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tessera-opt %t/loss.mlir --dist-plan-training="settings=offload=host" 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not tessera-opt %t/loss.mlir --dist-plan-training="settings=dp=2,micro-batch=2" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not tessera-opt %t/loss.mlir --tessera-plan="mesh=dp" 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not tessera-opt %t/loss.mlir --tessera-plan="partition" 2>&1 | FileCheck %s --check-prefix=WORD

// A graph in bf16 is trained in bf16.
// CHECK: dist.plan = #dist.plan<dp = 2, zero = 2, micro_batch = 2, micro_batches = 2, precision = bf16>
// FORWARD-NOT: dist.plan
// FORWARD: func.func @forward
// NAMED: dist.plan = #dist.plan<dp = 2, micro_batch = 3, precision = bf16, lr = 5.000000e-01>
// LOGITS-NOT: dist.plan
// LOGITS: func.func @forward
// NOTHING: error: settings of training expect a function with parameters (nn.param) that returns "loss_sum" or "loss" (nn.output) but got none
// TWICE: error: expects settings of training or a dist.plan in the program but got both
// ZERO: error: expects the zero of the program's dist.plan, 1, but got zero=3
// KEPT: dist.plan = #dist.plan<zero = 1>
// STAGES: error: offload: expects none to be compiled but got host
// BATCH: error: global-batch: expects the 6 sequences of the program's batch but got 4
// MESH: error: expects a mesh such as dp=2,tp=4 but got 'dp'
// WORD: error: --tessera-plan expects mesh=..., strategy=..., training=..., cluster=..., ranks=..., memory-limit=... or forward but got 'partition'
// UNKNOWN: error: speed: expects a known field

//--- loss.mlir
func.func @forward(%x: tensor<6x8xbf16> {nn.dims = ["batch", "embed"]}, %w: tensor<8xbf16> {nn.param = "w", nn.dims = ["embed"]}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.einsum "bd,d->b" %x, %w : tensor<6x8xbf16>, tensor<8xbf16> -> tensor<6xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<6xf32> -> tensor<f32>
  return %1 : tensor<f32>
}
//--- logits.mlir
func.func @forward(%x: tensor<6x8xf32> {nn.dims = ["batch", "embed"]}, %w: tensor<8xf32> {nn.param = "w", nn.dims = ["embed"]}) -> tensor<6xf32> {
  %0 = nn.einsum "bd,d->b" %x, %w : tensor<6x8xf32>, tensor<8xf32> -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
//--- planned.mlir
module attributes {dist.plan = #dist.plan<zero = 1>} {
}
