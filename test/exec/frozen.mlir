// Adapters on frozen weights, and a target without gradients: training steps on
// several ranks compute the same as on one rank.
// RUN: tessera verify %s --mesh dp=2 --strategy dp --steps 2 | FileCheck %s
// RUN: tessera verify %s --mesh dp=2 --strategy dp,zero=1 | FileCheck %s
// RUN: tessera verify %s --mesh dp=2 --strategy dp,zero=2 --micro-batches 2 | FileCheck %s
// RUN: tessera verify %s --mesh dp=2,tp=2 --strategy dp,tp,zero=3 --micro-batches 2 | FileCheck %s
// RUN: tessera verify %s --mesh dp=4 --strategy dp,zero=3 --precision bf16 | FileCheck %s
// RUN: tessera verify %s --mesh tp=2 --strategy tp --precision fp8 | FileCheck %s
// RUN: tessera verify %s --mesh pp=2 --strategy pp --micro-batches 2 2> %t.log | FileCheck %s --check-prefix=STAGES
// CHECK: grad_norm {{.*}} yes
// CHECK: partition proven
// STAGES: grad_norm {{.*}} yes
// STAGES: pipeline proven

// A frozen parameter has neither gradient nor state; no stop_gradient is left.
// RUN: tessera compile %s --mesh dp=4 --strategy dp,zero=3 --precision bf16 --compile-to train --quiet | FileCheck %s --check-prefix=TRAIN
// TRAIN: @train_step(
// TRAIN-SAME: {dist.donate = 0 : i64, {{.*}}nn.frozen, nn.param = "blocks.0.w"}
// TRAIN-NOT: nn.of = "blocks.{{[01]}}.w"
// TRAIN: nn.of = "blocks.0.down", nn.state = "blocks.0.down.master"
// TRAIN-NOT: nn.of = "blocks.{{[01]}}.w"
// TRAIN: return
// TRAIN-NOT: nn.stop_gradient

// The executable of the step.
// RUN: tessera verify %s --mesh dp=2,tp=2 --strategy dp,tp,zero=3 --no-proof --dump %t.data > /dev/null
// RUN: tessera compile %s --mesh dp=2,tp=2 --strategy dp,tp,zero=3 --quiet -o %t.prog
// RUN: %t.prog --inputs %t.data --compare %t.data/expected | FileCheck %s --check-prefix=PROG
// PROG: blocks.0.w: largest difference 0, largest magnitude
func.func @forward(%x: tensor<8x6xf32> {nn.input = "x", nn.dims = ["batch", "embed"]},
    %w0: tensor<6x10xf32> {nn.param = "blocks.0.w", nn.dims = ["embed", "ffn"], nn.frozen},
    %down0: tensor<6x2xf32> {nn.param = "blocks.0.down", nn.dims = ["embed", "rank"]},
    %up0: tensor<2x10xf32> {nn.param = "blocks.0.up", nn.dims = ["rank", "ffn"]},
    %w1: tensor<10x6xf32> {nn.param = "blocks.1.w", nn.dims = ["ffn", "embed"], nn.frozen},
    %down1: tensor<10x2xf32> {nn.param = "blocks.1.down", nn.dims = ["ffn", "rank"]},
    %up1: tensor<2x6xf32> {nn.param = "blocks.1.up", nn.dims = ["rank", "embed"]})
    -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.einsum "be,ef->bf" %x, %w0 : tensor<8x6xf32>, tensor<6x10xf32> -> tensor<8x10xf32>
  %1 = nn.einsum "be,er->br" %x, %down0 : tensor<8x6xf32>, tensor<6x2xf32> -> tensor<8x2xf32>
  %2 = nn.einsum "br,rf->bf" %1, %up0 : tensor<8x2xf32>, tensor<2x10xf32> -> tensor<8x10xf32>
  %3 = arith.addf %0, %2 : tensor<8x10xf32>
  %4 = nn.gelu <tanh> %3 : tensor<8x10xf32>
  %5 = nn.einsum "bf,fe->be" %4, %w1 : tensor<8x10xf32>, tensor<10x6xf32> -> tensor<8x6xf32>
  %6 = nn.einsum "bf,fr->br" %4, %down1 : tensor<8x10xf32>, tensor<10x2xf32> -> tensor<8x2xf32>
  %7 = nn.einsum "br,re->be" %6, %up1 : tensor<8x2xf32>, tensor<2x6xf32> -> tensor<8x6xf32>
  %8 = arith.addf %5, %7 {nn.dims = ["batch", "embed"]} : tensor<8x6xf32>
  %9 = math.tanh %8 : tensor<8x6xf32>
  %10 = nn.stop_gradient %9 : tensor<8x6xf32>
  %11 = arith.subf %8, %10 : tensor<8x6xf32>
  %12 = arith.mulf %11, %11 : tensor<8x6xf32>
  %13 = nn.reduce <sum> %12 dims [0, 1] : tensor<8x6xf32> -> tensor<f32>
  return %13 : tensor<f32>
}
