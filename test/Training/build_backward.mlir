// RUN: tessera-opt %s --dist-build-backward --split-input-file | FileCheck %s
// RUN: tessera-opt %s --dist-build-backward=params --split-input-file | FileCheck %s --check-prefix=PARAMS

// Contributions are added from the last use to the first.
// CHECK-LABEL: func @uses
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>, %[[SEED:.*]]: tensor<8xf32>)
// CHECK-SAME: -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
func.func @uses(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[Y]]
  %0 = arith.mulf %x, %y : tensor<8xf32>
  // CHECK: %[[R:.*]] = arith.addf %[[P]], %[[X]]
  %1 = arith.addf %0, %x : tensor<8xf32>
  // CHECK-NEXT: %[[DX:.*]] = arith.mulf %[[SEED]], %[[Y]]
  // CHECK-NEXT: %[[DY:.*]] = arith.mulf %[[X]], %[[SEED]]
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[SEED]], %[[DX]]
  // CHECK-NEXT: return %[[R]], %[[SUM]], %[[DY]]
  return %1 : tensor<8xf32>
}

// -----

// Only gradients of parameters: none is built for the input.
// PARAMS-LABEL: func @params
// PARAMS-SAME: -> (tensor<4x16xf32>, tensor<8x16xf32> {nn.output = "w.grad"})
func.func @params(%x: tensor<4x8xf32> {nn.input = "x"},
                  %w: tensor<8x16xf32> {nn.param = "w"}) -> tensor<4x16xf32> {
  // PARAMS: %[[Y:.*]] = nn.einsum "bi,ij->bj"
  %0 = nn.einsum "bi,ij->bj" %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  // PARAMS-NEXT: %[[DW:.*]] = nn.einsum "bi,bj->ij" %arg0, %arg2
  // PARAMS-NEXT: return %[[Y]], %[[DW]]
  return %0 : tensor<4x16xf32>
}

// -----

// Equal operands of a maximum share its gradient.
// CHECK-LABEL: func @largest
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>, %[[SEED:.*]]: tensor<8xf32>)
func.func @largest(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[GREATER:.*]] = arith.cmpf ogt, %[[X]], %[[Y]]
  // CHECK: %[[EQUAL:.*]] = arith.cmpf oeq, %[[X]], %[[Y]]
  // CHECK: %[[HALF:.*]] = arith.mulf %[[SEED]]
  // CHECK: %[[ELSE:.*]] = arith.select %[[EQUAL]], %[[HALF]], %[[ZERO:[a-z0-9_]+]] {
  // CHECK: %[[DX:.*]] = arith.select %[[GREATER]], %[[SEED]], %[[ELSE]]
  // CHECK: %[[LESS:.*]] = arith.select %[[EQUAL]], %[[HALF]], %[[SEED]]
  // CHECK: %[[DY:.*]] = arith.select %[[GREATER]], %[[ZERO]], %[[LESS]]
  // CHECK: return {{.*}}, %[[DX]], %[[DY]]
  %0 = arith.maximumf %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A value that counts as a constant has no gradient, and none is built.
// CHECK-LABEL: func @stopped
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[SEED:.*]]: tensor<8xf32>)
func.func @stopped(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[E:.*]] = math.exp %[[X]]
  %0 = math.exp %x : tensor<8xf32>
  // CHECK: %[[S:.*]] = nn.stop_gradient %[[E]]
  %1 = nn.stop_gradient %0 : tensor<8xf32>
  // CHECK: %[[T:.*]] = math.tanh %[[S]]
  %2 = math.tanh %1 : tensor<8xf32>
  // CHECK: %[[Y:.*]] = arith.mulf %[[T]], %[[X]]
  %3 = arith.mulf %2, %x : tensor<8xf32>
  // CHECK-NEXT: %[[DX:.*]] = arith.mulf %[[T]], %[[SEED]]
  // CHECK-NEXT: return %[[Y]], %[[DX]]
  return %3 : tensor<8xf32>
}

// -----

// A frozen parameter has no gradient.
// PARAMS-LABEL: func @frozen
// PARAMS-SAME: -> (tensor<4x16xf32>, tensor<16x8xf32> {nn.output = "b.grad"})
func.func @frozen(%x: tensor<4x8xf32> {nn.input = "x"},
                  %a: tensor<8x16xf32> {nn.param = "a", nn.frozen},
                  %b: tensor<16x8xf32> {nn.param = "b"}) -> tensor<4x16xf32> {
  %0 = nn.einsum "bi,ji->bj" %x, %b : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %1 = nn.einsum "bi,ij->bj" %x, %a : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %2 = arith.addf %0, %1 : tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// -----

// No gradient reaches the argument of a comparison, nor an unused argument.
// CHECK-LABEL: func @zero
func.func @zero(%x: tensor<8xf32>, %y: tensor<8xf32>, %unused: tensor<8xf32>)
    -> tensor<8xf32> {
  %0 = arith.cmpf olt, %x, %y : tensor<8xf32>
  %c = arith.constant dense<1.0> : tensor<8xf32>
  // CHECK: %[[R:.*]] = arith.select
  %1 = arith.select %0, %y, %c : tensor<8xi1>, tensor<8xf32>
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.0
  // CHECK: %[[DY:.*]] = arith.select %{{.*}}, %arg3, %[[ZERO]]
  // CHECK-NEXT: %[[DX:.*]] = arith.constant dense<0.0
  // CHECK-NEXT: %[[DU:.*]] = arith.constant dense<0.0
  // CHECK-NEXT: return %[[R]], %[[DX]], %[[DY]], %[[DU]]
  return %1 : tensor<8xf32>
}

// -----

// Statistics are saved if the gradient needs them; the gradient of a value in
// the residual stream has its dimension names.
// CHECK-LABEL: func @residual
func.func @residual(%x: tensor<2x8x16xbf16>, %gamma: tensor<16xbf16>)
    -> tensor<2x8x16xbf16> {
  // CHECK: %[[X:.*]] = arith.mulf %arg0, %arg0 {nn.dims = ["batch", "seq", "embed"]}
  %0 = arith.mulf %x, %x {nn.dims = ["batch", "seq", "embed"]} : tensor<2x8x16xbf16>
  // CHECK: %[[Y:.*]], %[[RSTD:.*]] = nn.rms_norm %[[X]], %arg1 {{.*}} stats tensor<2x8xf32>
  %1 = nn.rms_norm %0, %gamma eps 1.0e-5 : tensor<2x8x16xbf16>, tensor<16xbf16>
  %2 = arith.addf %0, %1 : tensor<2x8x16xbf16>
  // CHECK: %[[DN:.*]] = nn.rms_norm_backward %arg2, %[[X]], %arg1, %[[RSTD]] {dist.backward} :
  // The gradient of gamma sums in f32.
  // CHECK: %[[SUM:.*]] = nn.reduce <sum> %{{.*}} dims [0, 1] {dist.backward} : tensor<2x8x16xf32>
  // CHECK: %[[DX:.*]] = arith.addf %arg2, %[[DN]] {dist.backward, nn.dims = ["batch", "seq", "embed"]}
  // CHECK: %[[DGAMMA:.*]] = arith.truncf %[[SUM]]
  // CHECK: arith.mulf %[[DX]], %arg0
  return %2 : tensor<2x8x16xbf16>
}

// -----

// CHECK-LABEL: func @transformer
func.func @transformer(%table: tensor<64x16xf32>, %ids: tensor<2x8xi32>,
                       %w: tensor<16x2x1x8xf32>) -> tensor<2x8x2x1x8xf32> {
  %0 = nn.embedding %table, %ids : tensor<64x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  %1 = nn.einsum "bsd,dgrk->bsgrk" %0, %w
      : tensor<2x8x16xf32>, tensor<16x2x1x8xf32> -> tensor<2x8x2x1x8xf32>
  %2 = nn.rope %1 dim 1 theta 1.0e4 : tensor<2x8x2x1x8xf32>
  %3 = tensor.collapse_shape %1 [[0], [1], [2, 3], [4]]
      : tensor<2x8x2x1x8xf32> into tensor<2x8x2x8xf32>
  // CHECK: %[[O:.*]], %[[LSE:.*]] = nn.attention causal {{.*}} stats tensor<2x8x2x1xf32>
  %4 = nn.attention causal scale 0.5 %2, %3, %3
      : tensor<2x8x2x1x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32> -> tensor<2x8x2x1x8xf32>
  // CHECK-NEXT: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = nn.attention_backward causal {{.*}} %arg3, %{{.*}}, %[[O]], %[[LSE]]
  // CHECK-NEXT: %[[DKV:.*]] = arith.addf %[[DK]], %[[DV]]
  // CHECK-NEXT: %[[D:.*]] = tensor.expand_shape %[[DKV]]
  // CHECK-NEXT: %[[DR:.*]] = nn.rope inverse %[[DQ]] dim 1
  // CHECK-NEXT: %[[DP:.*]] = arith.addf %[[D]], %[[DR]]
  // CHECK-NEXT: %[[DX:.*]] = nn.einsum "bsgrk,dgrk->bsd" %[[DP]], %arg2
  // CHECK-NEXT: %[[DW:.*]] = nn.einsum "bsd,bsgrk->dgrk" %{{.*}}, %[[DP]]
  // CHECK-NEXT: %[[DT:.*]] = nn.embedding_backward %[[DX]], %arg1
  // CHECK-NEXT: return %[[O]], %[[DT]], %[[DW]]
  return %4 : tensor<2x8x2x1x8xf32>
}

// -----

// The loss needs the labels and the logsumexp of each token.
// CHECK-LABEL: func @loss
func.func @loss(%logits: tensor<2x8x64xbf16>, %labels: tensor<2x8xi32>) -> tensor<f32> {
  // CHECK: %{{.*}}, %[[STATS:.*]]:2 = nn.cross_entropy
  %0 = nn.cross_entropy %logits, %labels ignore -100
      : tensor<2x8x64xbf16>, tensor<2x8xi32> -> tensor<2x8xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
  // CHECK: %[[D:.*]] = nn.broadcast %arg2 dims [] {dist.backward} : tensor<f32> -> tensor<2x8xf32>
  // CHECK-NEXT: nn.cross_entropy_backward %[[D]], %arg0, %arg1, %[[STATS]]#0, %[[STATS]]#1 ignore -100
  return %1 : tensor<f32>
}
