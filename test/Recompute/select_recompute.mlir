// RUN: tessera-opt %s --dist-select-recompute=policy=none | FileCheck %s --check-prefix=NONE
// RUN: tessera-opt %s --dist-select-recompute=policy=selective | FileCheck %s --check-prefix=SELECTIVE
// RUN: tessera-opt %s --dist-select-recompute=policy=full | FileCheck %s --check-prefix=FULL
// RUN: tessera-opt %s --dist-select-recompute=policy=auto=448 | FileCheck %s --check-prefix=AUTO
// RUN: tessera-opt %s --dist-select-recompute=policy=full --remarks-filter=training -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: not tessera-opt %s --dist-select-recompute=policy=some 2>&1 | FileCheck %s --check-prefix=WORD

// Upstream passes do not merge rematerialized ops.
// RUN: tessera-opt %s --dist-select-recompute=policy=full --cse --canonicalize | FileCheck %s --check-prefix=FULL

// Two blocks of x + gelu(x w1) w2, one local program. The first block's gelu
// is recomputed from its matmul's result, which is kept; so is the last
// block's.

// NONE-LABEL: func @blocks
// NONE-NOT: dist.recompute

// SELECTIVE-LABEL: func @blocks
// SELECTIVE-COUNT-2: nn.gelu <tanh>
// SELECTIVE: nn.broadcast
// SELECTIVE: nn.gelu <tanh> %{{.*}} {dist.recompute}
// SELECTIVE: nn.gelu_backward
// SELECTIVE: nn.gelu <tanh> %{{.*}} {dist.recompute}
// SELECTIVE: nn.gelu_backward
// SELECTIVE-NOT: dist.recompute

// Block by block: the matmul is recomputed from the block's input.
// FULL-LABEL: func @blocks
// FULL: %[[H0:.*]] = nn.einsum "bd,df->bf" %arg0, %arg1
// FULL: %[[Y0:.*]] = nn.einsum "bf,fd->bd"
// FULL: %[[X1:.*]] = arith.addf %arg0, %[[Y0]]
// FULL: nn.broadcast
// FULL: %[[H1:.*]] = nn.einsum "bd,df->bf" %[[X1]], %arg3 {dist.recompute}
// FULL: nn.gelu <tanh> %[[H1]] {dist.recompute}
// FULL: nn.gelu_backward <tanh> %{{.*}}, %[[H1]]
// FULL: %[[R0:.*]] = nn.einsum "bd,df->bf" %arg0, %arg1 {dist.recompute}
// FULL: nn.gelu <tanh> %[[R0]] {dist.recompute}
// FULL: nn.gelu_backward <tanh> %{{.*}}, %[[R0]]
// FULL-NOT: dist.recompute

// 768 bytes would be kept: two times 64 of sums, and four times 160 of matmuls
// and activations. Two activations must be recomputed.
// AUTO-LABEL: func @blocks
// AUTO-COUNT-2: dist.recompute
// AUTO-NOT: dist.recompute

// REMARK: full: keeps 128 of 768 bytes for the backward and repeats 4 ops
// WORD: error: expects recompute none, selective, full or auto=<bytes> but got 'some'

func.func @blocks(%arg0: tensor<4x4xf32> {nn.input = "x"}, %arg1: tensor<4x10xf32> {nn.param = "blocks.0.w1"}, %arg2: tensor<10x4xf32> {nn.param = "blocks.0.w2"}, %arg3: tensor<4x10xf32> {nn.param = "blocks.1.w1"}, %arg4: tensor<10x4xf32> {nn.param = "blocks.1.w2"}, %arg5: tensor<4xf32> {nn.param = "head"}, %arg6: tensor<f32>) -> (tensor<f32>, tensor<4x10xf32> {nn.output = "blocks.0.w1.grad"}, tensor<10x4xf32> {nn.output = "blocks.0.w2.grad"}, tensor<4x10xf32> {nn.output = "blocks.1.w1.grad"}, tensor<10x4xf32> {nn.output = "blocks.1.w2.grad"}, tensor<4xf32> {nn.output = "head.grad"}) {
  %0 = nn.einsum "bd,df->bf" %arg0, %arg1 : tensor<4x4xf32>, tensor<4x10xf32> -> tensor<4x10xf32>
  %1 = nn.gelu <tanh> %0 : tensor<4x10xf32>
  %2 = nn.einsum "bf,fd->bd" %1, %arg2 : tensor<4x10xf32>, tensor<10x4xf32> -> tensor<4x4xf32>
  %3 = arith.addf %arg0, %2 : tensor<4x4xf32>
  %4 = nn.einsum "bd,df->bf" %3, %arg3 : tensor<4x4xf32>, tensor<4x10xf32> -> tensor<4x10xf32>
  %5 = nn.gelu <tanh> %4 : tensor<4x10xf32>
  %6 = nn.einsum "bf,fd->bd" %5, %arg4 : tensor<4x10xf32>, tensor<10x4xf32> -> tensor<4x4xf32>
  %7 = arith.addf %3, %6 : tensor<4x4xf32>
  %8 = nn.einsum "bd,d->b" %7, %arg5 : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  %9 = nn.reduce <sum> %8 dims [0] : tensor<4xf32> -> tensor<f32>
  %10 = nn.broadcast %arg6 dims [] {dist.backward} : tensor<f32> -> tensor<4xf32>
  %11 = nn.einsum "b,d->bd" %10, %arg5 {dist.backward} : tensor<4xf32>, tensor<4xf32> -> tensor<4x4xf32>
  %12 = nn.einsum "bd,b->d" %7, %10 {dist.backward} : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  %13 = nn.einsum "bd,fd->bf" %11, %arg4 {dist.backward} : tensor<4x4xf32>, tensor<10x4xf32> -> tensor<4x10xf32>
  %14 = nn.einsum "bf,bd->fd" %5, %11 {dist.backward} : tensor<4x10xf32>, tensor<4x4xf32> -> tensor<10x4xf32>
  %15 = nn.gelu_backward <tanh> %13, %4 {dist.backward} : tensor<4x10xf32>
  %16 = nn.einsum "bf,df->bd" %15, %arg3 {dist.backward} : tensor<4x10xf32>, tensor<4x10xf32> -> tensor<4x4xf32>
  %17 = nn.einsum "bd,bf->df" %3, %15 {dist.backward} : tensor<4x4xf32>, tensor<4x10xf32> -> tensor<4x10xf32>
  %18 = arith.addf %11, %16 {dist.backward} : tensor<4x4xf32>
  %19 = nn.einsum "bd,fd->bf" %18, %arg2 {dist.backward} : tensor<4x4xf32>, tensor<10x4xf32> -> tensor<4x10xf32>
  %20 = nn.einsum "bf,bd->fd" %1, %18 {dist.backward} : tensor<4x10xf32>, tensor<4x4xf32> -> tensor<10x4xf32>
  %21 = nn.gelu_backward <tanh> %19, %0 {dist.backward} : tensor<4x10xf32>
  %22 = nn.einsum "bd,bf->df" %arg0, %21 {dist.backward} : tensor<4x4xf32>, tensor<4x10xf32> -> tensor<4x10xf32>
  return %9, %22, %20, %17, %14, %12 : tensor<f32>, tensor<4x10xf32>, tensor<10x4xf32>, tensor<4x10xf32>, tensor<10x4xf32>, tensor<4xf32>
}
