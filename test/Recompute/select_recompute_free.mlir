// RUN: tessera-opt %s --dist-select-recompute=policy=none | FileCheck %s
// RUN: tessera-opt %s --dist-select-recompute=policy=none --remarks-filter=training -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// REMARK: none: keeps 128 of 192 bytes for the backward and repeats 1 ops

// A SwiGLU. The SiLU is recomputed for the backward of the product, since its
// input is kept for its own gradient; the product, which a matmul needs, is
// kept, and so is a sum whose operand has no other reason to be kept.
// CHECK-LABEL: func @swiglu
// CHECK: %[[S:.*]] = nn.silu %arg0
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[S]], %arg1
// CHECK: %[[A:.*]] = arith.addf
// CHECK: %[[R:.*]] = nn.silu %arg0 {dist.recompute}
// CHECK-NEXT: arith.mulf %arg3, %[[R]] {dist.backward}
// CHECK: nn.silu_backward %{{.*}}, %arg0 {dist.backward}
// CHECK: nn.einsum "bf,bd->fd" %[[P]], %arg4 {dist.backward}
// CHECK: arith.mulf %arg3, %[[A]] {dist.backward}
// CHECK-NOT: dist.recompute
func.func @swiglu(%g: tensor<2x8xf32>, %u: tensor<2x8xf32>, %w: tensor<8x4xf32>,
                  %dp: tensor<2x8xf32>, %dy: tensor<2x4xf32>)
    -> (tensor<2x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<8x4xf32>, tensor<2x8xf32>) {
  %s = nn.silu %g : tensor<2x8xf32>
  %p = arith.mulf %s, %u : tensor<2x8xf32>
  %y = nn.einsum "bf,fd->bd" %p, %w : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x4xf32>
  %m = arith.mulf %u, %u : tensor<2x8xf32>
  %a = arith.addf %m, %u : tensor<2x8xf32>
  %du = arith.mulf %dp, %s {dist.backward} : tensor<2x8xf32>
  %ds = arith.mulf %dp, %u {dist.backward} : tensor<2x8xf32>
  %dg = nn.silu_backward %ds, %g {dist.backward} : tensor<2x8xf32>
  %dw = nn.einsum "bf,bd->fd" %p, %dy {dist.backward} : tensor<2x8xf32>, tensor<2x4xf32> -> tensor<8x4xf32>
  %da = arith.mulf %dp, %a {dist.backward} : tensor<2x8xf32>
  return %y, %du, %dg, %dw, %da : tensor<2x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<8x4xf32>, tensor<2x8xf32>
}
