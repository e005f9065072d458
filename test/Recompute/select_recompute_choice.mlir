// RUN: tessera-opt %s --dist-select-recompute=policy=full | FileCheck %s

// Two blocks of x + (the two largest of x w1) w2. What was picked is computed
// again, with the positions that the forward chose.

// CHECK-LABEL: func @blocks
// CHECK: %[[IDS:.*]] = nn.top_k 2
// CHECK: nn.top_k 2
// CHECK-NOT: nn.top_k
// CHECK: %[[H:.*]] = nn.einsum "bd,df->bf" %arg0, %arg1 {dist.recompute}
// CHECK-NOT: nn.top_k
// CHECK: nn.take_along_axis %[[H]], %[[IDS]] {dist.recompute}
// CHECK-NOT: nn.top_k

func.func @blocks(%arg0: tensor<4x4xf32> {nn.input = "x"}, %arg1: tensor<4x10xf32> {nn.param = "blocks.0.w1"}, %arg2: tensor<2x4xf32> {nn.param = "blocks.0.w2"}, %arg3: tensor<4x10xf32> {nn.param = "blocks.1.w1"}, %arg4: tensor<2x4xf32> {nn.param = "blocks.1.w2"}, %arg5: tensor<4xf32> {nn.param = "head"}, %arg6: tensor<f32>) -> (tensor<f32>, tensor<4x10xf32> {nn.output = "blocks.0.w1.grad"}, tensor<2x4xf32> {nn.output = "blocks.0.w2.grad"}, tensor<4x10xf32> {nn.output = "blocks.1.w1.grad"}, tensor<2x4xf32> {nn.output = "blocks.1.w2.grad"}, tensor<4xf32> {nn.output = "head.grad"}) {
  %0 = nn.einsum "bd,df->bf" %arg0, %arg1 : tensor<4x4xf32>, tensor<4x10xf32> -> tensor<4x10xf32>
  %i0 = nn.top_k 2 %0 : tensor<4x10xf32> -> tensor<4x2xi32>
  %1 = nn.take_along_axis %0, %i0 : tensor<4x10xf32>, tensor<4x2xi32> -> tensor<4x2xf32>
  %2 = nn.einsum "bf,fd->bd" %1, %arg2 : tensor<4x2xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  %3 = arith.addf %arg0, %2 : tensor<4x4xf32>
  %4 = nn.einsum "bd,df->bf" %3, %arg3 : tensor<4x4xf32>, tensor<4x10xf32> -> tensor<4x10xf32>
  %i1 = nn.top_k 2 %4 : tensor<4x10xf32> -> tensor<4x2xi32>
  %5 = nn.take_along_axis %4, %i1 : tensor<4x10xf32>, tensor<4x2xi32> -> tensor<4x2xf32>
  %6 = nn.einsum "bf,fd->bd" %5, %arg4 : tensor<4x2xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
  %7 = arith.addf %3, %6 : tensor<4x4xf32>
  %8 = nn.einsum "bd,d->b" %7, %arg5 : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  %9 = nn.reduce <sum> %8 dims [0] : tensor<4xf32> -> tensor<f32>
  %10 = nn.broadcast %arg6 dims [] {dist.backward} : tensor<f32> -> tensor<4xf32>
  %11 = nn.einsum "b,d->bd" %10, %arg5 {dist.backward} : tensor<4xf32>, tensor<4xf32> -> tensor<4x4xf32>
  %12 = nn.einsum "bd,b->d" %7, %10 {dist.backward} : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  %13 = nn.einsum "bd,fd->bf" %11, %arg4 {dist.backward} : tensor<4x4xf32>, tensor<2x4xf32> -> tensor<4x2xf32>
  %14 = nn.einsum "bf,bd->fd" %5, %11 {dist.backward} : tensor<4x2xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %15 = nn.take_along_axis_backward %13, %i1 {dist.backward} : tensor<4x2xf32>, tensor<4x2xi32> -> tensor<4x10xf32>
  %16 = nn.einsum "bf,df->bd" %15, %arg3 {dist.backward} : tensor<4x10xf32>, tensor<4x10xf32> -> tensor<4x4xf32>
  %17 = nn.einsum "bd,bf->df" %3, %15 {dist.backward} : tensor<4x4xf32>, tensor<4x10xf32> -> tensor<4x10xf32>
  %18 = arith.addf %11, %16 {dist.backward} : tensor<4x4xf32>
  %19 = nn.einsum "bd,fd->bf" %18, %arg2 {dist.backward} : tensor<4x4xf32>, tensor<2x4xf32> -> tensor<4x2xf32>
  %20 = nn.einsum "bf,bd->fd" %1, %18 {dist.backward} : tensor<4x2xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %21 = nn.take_along_axis_backward %19, %i0 {dist.backward} : tensor<4x2xf32>, tensor<4x2xi32> -> tensor<4x10xf32>
  %22 = nn.einsum "bd,bf->df" %arg0, %21 {dist.backward} : tensor<4x4xf32>, tensor<4x10xf32> -> tensor<4x10xf32>
  return %9, %22, %20, %17, %14, %12 : tensor<f32>, tensor<4x10xf32>, tensor<2x4xf32>, tensor<4x10xf32>, tensor<2x4xf32>, tensor<4xf32>
}
