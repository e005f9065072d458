// RUN: tessera-opt %s --dist-split-stages --dist-check-pipelines | FileCheck %s
// RUN: sed 's/schedule = "1f1b"/stage_layers = even/' %s | tessera-opt --dist-split-stages | FileCheck %s --check-prefix=EVEN

// The first of four blocks has as many matmuls as the others together. The plan
// names the blocks of each stage.
// CHECK: #dist.plan<pp = 2, micro_batches = 4, stage_layers = "1,3">
// CHECK-LABEL: func.func @step_0
// CHECK-SAME: nn.param = "blocks.0.w"
// CHECK-NOT: nn.param = "blocks.1.w"
// CHECK-LABEL: func.func @step_1
// CHECK-SAME: nn.param = "blocks.1.w"
// EVEN: stage_layers = "2,2"
// EVEN-LABEL: func.func @step_0
// EVEN-SAME: nn.param = "blocks.1.w"

module attributes {dist.plan = #dist.plan<pp = 2, micro_batches = 4, schedule = "1f1b">} {
dist.mesh @mesh ["pp"=2] stage "pp"
func.func @step(%t: tensor<4x512x2048xf32>,
                %w0: tensor<2048x2048xf32> {nn.param = "blocks.0.w"},
                %w1: tensor<2048x2048xf32> {nn.param = "blocks.1.w"},
                %w2: tensor<2048x2048xf32> {nn.param = "blocks.2.w"},
                %w3: tensor<2048x2048xf32> {nn.param = "blocks.3.w"})
    -> tensor<f32> attributes {dist.local} {
  %0 = dist.accumulate 4 (%t) : (tensor<4x512x2048xf32>) -> tensor<f32> {
  ^bb0(%x: tensor<512x2048xf32>):
    %a = nn.einsum "bd,df->bf" %x, %w0 : tensor<512x2048xf32>, tensor<2048x2048xf32> -> tensor<512x2048xf32>
    %b = nn.einsum "bd,df->bf" %a, %w0 : tensor<512x2048xf32>, tensor<2048x2048xf32> -> tensor<512x2048xf32>
    %c = nn.einsum "bd,df->bf" %b, %w0 : tensor<512x2048xf32>, tensor<2048x2048xf32> -> tensor<512x2048xf32>
    %d = nn.einsum "bd,df->bf" %c, %w1 : tensor<512x2048xf32>, tensor<2048x2048xf32> -> tensor<512x2048xf32>
    %e = nn.einsum "bd,df->bf" %d, %w2 : tensor<512x2048xf32>, tensor<2048x2048xf32> -> tensor<512x2048xf32>
    %f = nn.einsum "bd,df->bf" %e, %w3 : tensor<512x2048xf32>, tensor<2048x2048xf32> -> tensor<512x2048xf32>
    // A stage does not begin at an unused op.
    %dead = nn.einsum "bd,df->bf" %f, %w3 : tensor<512x2048xf32>, tensor<2048x2048xf32> -> tensor<512x2048xf32>
    %loss = nn.reduce <sum> %f dims [0, 1] : tensor<512x2048xf32> -> tensor<f32>
    dist.yield %loss : tensor<f32>
  }
  return %0 : tensor<f32>
}
}
