// RUN: tessera-opt %s | tessera-opt | FileCheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | FileCheck %s

// A matmul with each kind of epilogue.

// CHECK-LABEL: func.func @records(
func.func @records(%x: tensor<8x16xbf16>, %w: tensor<16x4xbf16>, %t: tensor<16x8xbf16>,
                   %r: tensor<8x4xbf16>, %v: tensor<4xbf16>, %f: tensor<2x2xf32>) {
  // CHECK: rt.matmul_fused <none> %{{.*}}, %{{.*}} <batch = 1, {{.*}}> init %{{.*}} : tensor<8x4xbf16> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16>
  %0 = rt.matmul_fused <none> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> init %r : tensor<8x4xbf16> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16>
  // CHECK: rt.matmul_fused <bias> %{{.*}}, %{{.*}} <batch = 1, {{.*}}> init %{{.*}} : tensor<8x4xbf16> bias %{{.*}} : tensor<2x2xf32> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16>
  %1 = rt.matmul_fused <bias> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> init %r : tensor<8x4xbf16> bias %f : tensor<2x2xf32> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16>
  // CHECK: rt.matmul_fused <gelu> %{{.*}}, %{{.*}} <batch = 1, {{.*}}> bias %{{.*}} : tensor<4xbf16> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16> extra tensor<8x4xbf16>
  %2:2 = rt.matmul_fused <gelu> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> bias %v : tensor<4xbf16> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16> extra tensor<8x4xbf16>
  // CHECK: rt.matmul_fused <gelu> %{{.*}}, %{{.*}} <batch = 1, {{.*}}> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16>{{$}}
  %3 = rt.matmul_fused <gelu> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16>
  // CHECK: rt.matmul_fused <gelu_gradient> %{{.*}}, %{{.*}} <batch = 1, {{.*}}> argument %{{.*}} : tensor<8x4xbf16> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16> extra tensor<4xf32>
  %4:2 = rt.matmul_fused <gelu_gradient> %x, %w <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> argument %2#1 : tensor<8x4xbf16> : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xbf16> extra tensor<4xf32>
  // CHECK: rt.matmul_fused <lhs_sums> %{{.*}}, %{{.*}} <batch = 1, {{.*}}> : tensor<16x8xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32> extra tensor<8xf32>
  %5:2 = rt.matmul_fused <lhs_sums> %t, %w <batch = 1, m = 8, n = 4, k = 16, lda = 8, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 1, trans_b = 0> : tensor<16x8xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32> extra tensor<8xf32>
  // CHECK: rt.matmul_fused <rhs_sums> %{{.*}}, %{{.*}} <batch = 1, {{.*}}> init %{{.*}} : tensor<8x4xf32> : tensor<16x8xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32> extra tensor<2x2xf32>
  %6:2 = rt.matmul_fused <rhs_sums> %t, %w <batch = 1, m = 8, n = 4, k = 16, lda = 8, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 1, trans_b = 0> init %5#0 : tensor<8x4xf32> : tensor<16x8xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32> extra tensor<2x2xf32>
  return
}

// CHECK-LABEL: func.func @calls(
func.func @calls() {
  // CHECK: rt.call_matmul_fused <none> <batch = 1, {{.*}}> bf16 -> bf16 at [0, 64, 128] add 256{{$}}
  rt.call_matmul_fused <none> <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> bf16 -> bf16 at [0, 64, 128] add 256
  // CHECK: rt.call_matmul_fused <gelu> <batch = 1, {{.*}}> bf16 -> bf16 at [0, 64, 128] bias 256 : bf16 aux 512{{$}}
  rt.call_matmul_fused <gelu> <batch = 1, m = 8, n = 4, k = 16, lda = 16, ldb = 4, ldc = 4, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0> bf16 -> bf16 at [0, 64, 128] bias 256 : bf16 aux 512
  return
}
