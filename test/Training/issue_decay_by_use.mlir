// Matrices that a matmul or an embedding reads decay, whatever the names of
// their dimensions, also after ops that only move elements; biases of heads,
// the scales of norms and vectors do not.
// RUN: tessera-opt %s --dist-plan-training="settings=precision=f32,weight-decay=0.1" --dist-build-train-step | FileCheck %s

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[TABLE:[^ ]+]]: tensor<32x16xf32> {{{[^}]*}}nn.param = "table"
// CHECK-SAME: %[[Q:[^ ]+]]: tensor<16x4x4xf32> {{{[^}]*}}nn.param = "q"
// CHECK-SAME: %[[BQ:[^ ]+]]: tensor<4x4xf32> {{{[^}]*}}nn.param = "bq"
// CHECK-SAME: %[[UP:[^ ]+]]: tensor<64x16xf32> {{{[^}]*}}nn.param = "up"
// CHECK-SAME: %[[GAMMA:[^ ]+]]: tensor<16xf32> {{{[^}]*}}nn.param = "gamma"
// CHECK-SAME: %[[SCALE:[^ ]+]]: tensor<4x4xf32> {{{[^}]*}}nn.param = "scale"
// CHECK: nn.adamw %[[TABLE]], {{.*}} weight_decay 1.0{{0*}}e-01 :
// CHECK: nn.adamw %[[Q]], {{.*}} weight_decay 1.0{{0*}}e-01 :
// CHECK: nn.adamw %[[BQ]], {{.*}} weight_decay 0.0{{0*}}e+00 :
// CHECK: nn.adamw %[[UP]], {{.*}} weight_decay 1.0{{0*}}e-01 :
// CHECK: nn.adamw %[[GAMMA]], {{.*}} weight_decay 0.0{{0*}}e+00 :
// CHECK: nn.adamw %[[SCALE]], {{.*}} weight_decay 0.0{{0*}}e+00 :
func.func @forward(
    %table: tensor<32x16xf32> {nn.param = "table", nn.dims = ["a", "b"]},
    %q: tensor<16x4x4xf32> {nn.param = "q", nn.dims = ["c", "heads", "d"]},
    %bq: tensor<4x4xf32> {nn.param = "bq", nn.dims = ["embed", "embed"]},
    %up: tensor<64x16xf32> {nn.param = "up"}, %gamma: tensor<16xf32> {nn.param = "gamma"},
    %scale: tensor<4x4xf32> {nn.param = "scale"}, %ids: tensor<2x8xi32> {nn.input = "ids"})
    -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.embedding %table, %ids : tensor<32x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  %1 = nn.rms_norm %0, %gamma eps 1.0e-5 : tensor<2x8x16xf32>, tensor<16xf32>
  %2 = nn.einsum "abc,cde->abde" %1, %q : tensor<2x8x16xf32>, tensor<16x4x4xf32> -> tensor<2x8x4x4xf32>
  %3 = nn.broadcast %bq dims [2, 3] : tensor<4x4xf32> -> tensor<2x8x4x4xf32>
  %4 = arith.addf %2, %3 : tensor<2x8x4x4xf32>
  %5 = nn.einsum "abde,de->abde" %4, %scale : tensor<2x8x4x4xf32>, tensor<4x4xf32> -> tensor<2x8x4x4xf32>
  %6 = tensor.collapse_shape %5 [[0], [1], [2, 3]] : tensor<2x8x4x4xf32> into tensor<2x8x16xf32>
  %turned = nn.transpose %up [1, 0] : tensor<64x16xf32> -> tensor<16x64xf32>
  %half = arith.constant dense<0.5> : tensor<16x64xf32>
  %halved = arith.mulf %turned, %half : tensor<16x64xf32>
  %7 = nn.einsum "abc,cd->abd" %6, %halved : tensor<2x8x16xf32>, tensor<16x64xf32> -> tensor<2x8x64xf32>
  %8 = nn.reduce <sum> %7 dims [0, 1, 2] : tensor<2x8x64xf32> -> tensor<f32>
  return %8 : tensor<f32>
}
