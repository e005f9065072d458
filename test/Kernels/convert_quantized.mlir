// RUN: tessera-opt %s --rt-convert-nn --split-input-file | FileCheck %s
// RUN: tessera-opt %s --rt-convert-nn=widen-f8 --split-input-file | FileCheck %s --check-prefix=WIDE
// RUN: tessera-opt %s --rt-set-target=target=cuda --rt-convert-nn --split-input-file | FileCheck %s --check-prefix=CUDA
// RUN: tessera-opt %s --rt-set-target=target=cuda --rt-convert-nn --split-input-file --remarks-filter=conversion -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The host multiplies any layout; a GPU needs contiguous rows, so the weight is
// transposed.
// REMARK: MatmulNeedsTranspose {{.*}} CopiedBytes=512
// CHECK-LABEL: func.func @layer
// CHECK-NEXT: rt.scaled_matmul %arg0, %arg1 scales %arg2, %arg3 <{{.*}} lda = 32, ldb = 16, {{.*}} trans_a = 0, trans_b = 0>
// CUDA-LABEL: func.func @layer
// CUDA-NEXT: %[[W:.*]] = rt.copy %arg1 strides [0, 1, 16] base 0 : tensor<32x16xf8E4M3FN> -> tensor<1x16x32xf8E4M3FN>
// CUDA-NEXT: rt.scaled_matmul %arg0, %[[W]] scales %arg2, %arg3 <batch = 1, m = 16, n = 16, k = 32, lda = 32, ldb = 32, ldc = 16, {{.*}} trans_a = 0, trans_b = 1>
// WIDE-LABEL: func.func @layer
// WIDE-COUNT-2: linalg.generic
// WIDE: rt.matmul {{.*}} : tensor<16x32xbf16>, tensor<32x16xbf16> -> tensor<16x16xbf16>
func.func @layer(%x: tensor<16x32xf8E4M3FN>, %w: tensor<32x16xf8E4M3FN>, %sx: tensor<f32>, %sw: tensor<f32>) -> tensor<16x16xbf16> {
  %0 = nn.einsum "sd,df->sf" %x, %w scales %sx, %sw : tensor<16x32xf8E4M3FN>, tensor<32x16xf8E4M3FN> -> tensor<16x16xbf16>
  return %0 : tensor<16x16xbf16>
}

// -----

// A weight gradient contracts the outermost dimension of both operands.
// CHECK-LABEL: func.func @weight_gradient
// CHECK-NEXT: rt.scaled_matmul %arg0, %arg1 scales %arg2, %arg3 <{{.*}} trans_a = 1, trans_b = 0> : {{.*}} -> tensor<32x48xf32>
// CUDA-LABEL: func.func @weight_gradient
// CUDA-NEXT: %[[X:.*]] = rt.copy %arg0 strides [0, 1, 32] base 0 : tensor<16x32xf8E4M3FN> -> tensor<1x32x16xf8E4M3FN>
// CUDA-NEXT: %[[G:.*]] = rt.copy %arg1 strides [0, 1, 48] base 0 : tensor<16x48xf8E5M2> -> tensor<1x48x16xf8E5M2>
// CUDA-NEXT: rt.scaled_matmul %[[X]], %[[G]] scales %arg2, %arg3 <batch = 1, m = 32, n = 48, k = 16, lda = 16, ldb = 16, {{.*}} trans_a = 0, trans_b = 1>
func.func @weight_gradient(%x: tensor<16x32xf8E4M3FN>, %g: tensor<16x48xf8E5M2>, %sx: tensor<f32>, %sg: tensor<f32>) -> tensor<32x48xf32> {
  %0 = nn.einsum "sd,sf->df" %x, %g scales %sx, %sg : tensor<16x32xf8E4M3FN>, tensor<16x48xf8E5M2> -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32>
}

// -----

// An operand of two matmuls is transposed once.
// CUDA-LABEL: func.func @shared
// CUDA: %[[X:.*]] = rt.copy %arg0 strides
// CUDA: rt.scaled_matmul %[[X]],
// CUDA-NOT: rt.copy %arg0
// CUDA: rt.scaled_matmul %[[X]],
func.func @shared(%x: tensor<16x32xf8E4M3FN>, %g: tensor<16x48xf8E5M2>, %h: tensor<16x64xf8E5M2>, %s: tensor<f32>) -> (tensor<32x48xf32>, tensor<32x64xf32>) {
  %0 = nn.einsum "sd,sf->df" %x, %g scales %s, %s : tensor<16x32xf8E4M3FN>, tensor<16x48xf8E5M2> -> tensor<32x48xf32>
  %1 = nn.einsum "sd,sf->df" %x, %h scales %s, %s : tensor<16x32xf8E4M3FN>, tensor<16x64xf8E5M2> -> tensor<32x64xf32>
  return %0, %1 : tensor<32x48xf32>, tensor<32x64xf32>
}

// -----

// A result stored by columns swaps the operands, and their scales.
// CHECK-LABEL: func.func @swapped
// CHECK-NEXT: rt.scaled_matmul %arg1, %arg0 scales %arg3, %arg2 <{{.*}} m = 16, n = 48,
func.func @swapped(%x: tensor<48x32xf8E4M3FN>, %w: tensor<16x32xf8E5M2>, %sx: tensor<f32>, %sw: tensor<f32>) -> tensor<16x48xf32> {
  %0 = nn.einsum "sd,fd->fs" %x, %w scales %sx, %sw : tensor<48x32xf8E4M3FN>, tensor<16x32xf8E5M2> -> tensor<16x48xf32>
  return %0 : tensor<16x48xf32>
}

// -----

// Sizes that cuBLASLt does not support in 8 bits are multiplied in bf16.
// REMARK: MatmulInBF16 {{.*}} K=24
// CHECK-LABEL: func.func @odd
// CHECK-NEXT: rt.scaled_matmul
// CUDA-LABEL: func.func @odd
// CUDA-NOT: rt.scaled_matmul
// CUDA: rt.matmul {{.*}} : tensor<16x24xbf16>, tensor<24x16xbf16> -> tensor<16x16xbf16>
func.func @odd(%x: tensor<16x24xf8E4M3FN>, %w: tensor<24x16xf8E4M3FN>, %sx: tensor<f32>, %sw: tensor<f32>) -> tensor<16x16xbf16> {
  %0 = nn.einsum "sd,df->sf" %x, %w scales %sx, %sw : tensor<16x24xf8E4M3FN>, tensor<24x16xf8E4M3FN> -> tensor<16x16xbf16>
  return %0 : tensor<16x16xbf16>
}

// -----

// The factor is one number; elements are clamped to the type's largest.
// CHECK-LABEL: func.func @quantize
// CHECK: linalg.generic {{.*}} iterator_types = []
// CHECK: arith.divf %{{.*}} : f32
// CHECK: arith.bitcast
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK: arith.maximumf %{{.*}}, %cst
// CHECK: arith.minimumf
// CHECK: arith.truncf %{{.*}} : f32 to f8E5M2
func.func @quantize(%x: tensor<16x24xbf16>, %amax: tensor<bf16>) -> (tensor<16x24xf8E5M2>, tensor<f32>) {
  %0, %1 = nn.quantize %x by %amax : tensor<16x24xbf16>, tensor<bf16> -> tensor<16x24xf8E5M2>
  return %0, %1 : tensor<16x24xf8E5M2>, tensor<f32>
}
