// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// Gradients and optimizers have the same printed and parsed form.

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<2x8x4x1x64xf32>, %k: tensor<2x8x4x64xf32>, %at: index,
                     %starts: tensor<2x8xi32>)
    -> tensor<2x8x4x1x64xf32> {
  // CHECK: %[[O:.*]], %[[LSE:.*]] = nn.attention causal scale 1.250000e-01 %arg0, %arg1, %arg1 q_offset %arg2 : {{.*}} -> tensor<2x8x4x1x64xf32> stats tensor<2x8x4x1xf32>
  %o, %lse = nn.attention causal scale 0.125 %q, %k, %k q_offset %at
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
      -> tensor<2x8x4x1x64xf32> stats tensor<2x8x4x1xf32>
  // CHECK: nn.attention_backward causal scale 1.250000e-01 keys 7 %[[O]], %arg0, %arg1, %arg1, %[[O]], %[[LSE]] q_offset %arg2
  %dq, %dk, %dv = nn.attention_backward causal scale 0.125 keys 7 %o, %q, %k, %k, %o, %lse q_offset %at
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>,
        tensor<2x8x4x1x64xf32>, tensor<2x8x4x1xf32>
  %qh = tensor.empty() : tensor<2x8x4x1x64xbf16>
  %kh = tensor.empty() : tensor<2x8x4x64xbf16>
  // CHECK: nn.attention_backward scale 1.250000e-01 {{.*}}, tensor<2x8x4x1xf32> -> tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
  %dq3, %dk3, %dv3 = nn.attention_backward scale 0.125 %qh, %qh, %kh, %kh, %qh, %lse
      : tensor<2x8x4x1x64xbf16>, tensor<2x8x4x64xbf16>, tensor<2x8x4x64xbf16>,
        tensor<2x8x4x1x64xbf16>, tensor<2x8x4x1xf32>
      -> tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>
  // CHECK: nn.attention_backward causal window 3 scale 1.250000e-01 %[[O]]
  %dq1, %dk1, %dv1 = nn.attention_backward causal window 3 scale 0.125 %o, %q, %k, %k, %o, %lse
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>,
        tensor<2x8x4x1x64xf32>, tensor<2x8x4x1xf32>
  // CHECK: nn.attention_backward causal scale 1.250000e-01 order <shards = 2, size = 16> %[[O]], {{.*}} q_offset %arg2 starts %arg3 : tensor<2x8xi32> : tensor<2x8x4x1x64xf32>
  %dq2, %dk2, %dv2 = nn.attention_backward causal scale 0.125 order <shards = 2, size = 16> %o, %q, %k, %k, %o, %lse q_offset %at
      starts %starts : tensor<2x8xi32>
      : tensor<2x8x4x1x64xf32>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf32>,
        tensor<2x8x4x1x64xf32>, tensor<2x8x4x1xf32>
  // CHECK: nn.rope inverse %{{.*}} dim 1
  %r = nn.rope inverse %dq dim 1 theta 1.0e4 : tensor<2x8x4x1x64xf32>
  return %r : tensor<2x8x4x1x64xf32>
}

// CHECK-LABEL: func @norms
func.func @norms(%x: tensor<2x8x16xbf16>, %gamma: tensor<16xbf16>)
    -> (tensor<2x8x16xbf16>, tensor<2x8x16xbf16>) {
  // CHECK: nn.layer_norm {{.*}} stats tensor<2x8xf32>, tensor<2x8xf32>
  %y, %mean, %rstd = nn.layer_norm %x, %gamma, %gamma eps 1.0e-5
      : tensor<2x8x16xbf16>, tensor<16xbf16>, tensor<16xbf16> stats tensor<2x8xf32>, tensor<2x8xf32>
  // CHECK: nn.layer_norm_backward
  %dx = nn.layer_norm_backward %y, %x, %gamma, %mean, %rstd
      : tensor<2x8x16xbf16>, tensor<16xbf16>, tensor<2x8xf32>
  // CHECK: nn.rms_norm {{.*}} stats tensor<2x8xf32>
  %z, %root = nn.rms_norm %x, %gamma eps 1.0e-5
      : tensor<2x8x16xbf16>, tensor<16xbf16> stats tensor<2x8xf32>
  // CHECK: nn.rms_norm_backward
  %dz = nn.rms_norm_backward %z, %x, %gamma, %root
      : tensor<2x8x16xbf16>, tensor<16xbf16>, tensor<2x8xf32>
  return %dx, %dz : tensor<2x8x16xbf16>, tensor<2x8x16xbf16>
}

// CHECK-LABEL: func @loss
func.func @loss(%logits: tensor<2x8x64xf32>, %labels: tensor<2x8xi32>, %at: index)
    -> tensor<64x16xf32> {
  // CHECK: nn.cross_entropy {{.*}} stats tensor<2x8xf32>, tensor<2x8xf32>
  %l, %max, %log = nn.cross_entropy %logits, %labels ignore -100
      : tensor<2x8x64xf32>, tensor<2x8xi32> -> tensor<2x8xf32> stats tensor<2x8xf32>, tensor<2x8xf32>
  // CHECK: nn.cross_entropy_backward {{.*}} ignore -100 offset %arg2
  %d = nn.cross_entropy_backward %l, %logits, %labels, %max, %log ignore -100 offset %at
      : tensor<2x8xf32>, tensor<2x8x64xf32>, tensor<2x8xi32>
  // CHECK: nn.cross_entropy_backward {{.*}} ignore -100 classes 50 offset %arg2
  %c = nn.cross_entropy_backward %l, %logits, %labels, %max, %log ignore -100 classes 50 offset %at
      : tensor<2x8xf32>, tensor<2x8x64xf32>, tensor<2x8xi32>
  // CHECK: nn.gelu_backward <tanh>
  %g = nn.gelu_backward <tanh> %d, %logits : tensor<2x8x64xf32>
  // CHECK: nn.silu_backward
  %s = nn.silu_backward %g, %logits : tensor<2x8x64xf32>
  // CHECK: nn.take_along_axis_backward
  %p = nn.take_along_axis_backward %l, %labels : tensor<2x8xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  // CHECK: nn.embedding_backward
  %e = nn.embedding_backward %p, %labels : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xf32>
  return %e : tensor<64x16xf32>
}

// CHECK-LABEL: func @optimizers
func.func @optimizers(%p: tensor<8x16xf32>, %m: tensor<8x16xf32>, %g: tensor<8x16xbf16>,
                      %lr: tensor<f32>, %skip: tensor<i1>)
    -> tensor<8x16xf32> {
  // CHECK: nn.adamw {{.*}} skip %arg4 : tensor<i1> beta1
  %p1, %m1, %v1 = nn.adamw %p, %m, %m, %g scale %lr lr %lr corrections %lr, %lr skip %skip : tensor<i1>
      beta1 0.9 beta2 0.95 eps 1.0e-8 weight_decay 0.1
      : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xbf16>, tensor<f32>
  // CHECK: nn.sgd {{.*}} velocity %{{.*}} : tensor<8x16xf32> momentum {{.*}} -> tensor<8x16xf32>
  %p2, %u = nn.sgd %p1, %g scale %lr lr %lr velocity %m1 : tensor<8x16xf32> momentum 0.9 weight_decay 0.0
      : tensor<8x16xf32>, tensor<8x16xbf16>, tensor<f32> -> tensor<8x16xf32>
  // CHECK: nn.sgd {{.*}} weight_decay
  %p3 = nn.sgd %p2, %g scale %lr lr %lr momentum 0.0 weight_decay 0.0
      : tensor<8x16xf32>, tensor<8x16xbf16>, tensor<f32>
  return %p3 : tensor<8x16xf32>
}

// CHECK-LABEL: func @accumulate
func.func @accumulate(%x: tensor<2x8x16xf32>, %tokens: tensor<4x2x8xi32>) -> tensor<64x16xf32> {
  // CHECK: dist.accumulate 4(%arg1) : (tensor<4x2x8xi32>) -> tensor<64x16xf32> {
  %sum = dist.accumulate 4 (%tokens) : (tensor<4x2x8xi32>) -> tensor<64x16xf32> {
  ^bb0(%part: tensor<2x8xi32>):
    %g = nn.embedding_backward %x, %part
        : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xf32>
    // CHECK: dist.yield %{{.*}} : tensor<64x16xf32>
    dist.yield %g : tensor<64x16xf32>
  }
  return %sum : tensor<64x16xf32>
}
