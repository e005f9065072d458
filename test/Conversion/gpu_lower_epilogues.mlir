// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(rt-set-target{target=cuda},func.func(rt-convert-nn,rt-fuse-matmul-beta,rt-fuse-elementwise,rt-fuse-epilogues),rt-outline-kernels,rt-verify-kernels,func.func(rt-start-collectives,rt-plan-arena),rt-lower-to-rt{program=test})' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: tessera-opt %t.mlir --split-input-file -o %t.again.mlir
// RUN: diff %t.mlir %t.again.mlir
// RUN: tessera-opt %t.mlir --split-input-file --rt-convert-to-llvm | FileCheck %s --check-prefix=LLVM

// A residual has its own offset, and nothing is copied.
// CHECK-LABEL: func.func @step()
// CHECK-NEXT: rt.call_matmul_fused <bias> <{{.*}}> bf16 -> bf16 at [{{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}] add {{[0-9]+}} bias {{[0-9]+}} : bf16
// CHECK-NEXT: return
// LLVM: llvm.call @tessera_rt_matmul_fused(%{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
func.func @residual(%x: tensor<16x24xbf16>, %w: tensor<24x32xbf16>, %b: tensor<32xbf16>, %r: tensor<16x32xbf16>) -> tensor<16x32xbf16> {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %1 = nn.broadcast %b dims [1] : tensor<32xbf16> -> tensor<16x32xbf16>
  %2 = arith.addf %0, %1 : tensor<16x32xbf16>
  %3 = arith.addf %r, %2 : tensor<16x32xbf16>
  return %3 : tensor<16x32xbf16>
}

// -----

// A summand that dies there is overwritten.
// CHECK-LABEL: func.func @step()
// CHECK-NEXT: rt.call_matmul <{{.*}}> bf16 -> bf16 at [{{[0-9]+}}, {{[0-9]+}}, [[Y:[0-9]+]]]
// CHECK-NEXT: rt.call_matmul_fused <none> <{{.*}}> bf16 -> bf16 at [{{[0-9]+}}, {{[0-9]+}}, [[Y]]] add [[Y]]{{$}}
// CHECK-NEXT: return
func.func @in_place(%a: tensor<16x24xbf16>, %u: tensor<24x32xbf16>, %b: tensor<16x24xbf16>, %v: tensor<24x32xbf16>) -> tensor<16x32xbf16> {
  %0 = nn.einsum "sd,df->sf" %a, %u : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %1 = nn.einsum "sd,df->sf" %b, %v : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %2 = arith.addf %0, %1 : tensor<16x32xbf16>
  return %2 : tensor<16x32xbf16>
}

// -----

// GELU writes its argument, its gradient reads it, sums use the call's bias.
// CHECK-LABEL: func.func @step()
// CHECK-NEXT: rt.call_matmul_fused <gelu> <{{.*}}> bf16 -> bf16 at {{\[}}[[X0:[0-9]+]], {{[0-9]+}}, {{[0-9]+}}] bias {{[0-9]+}} : bf16 aux [[X:[0-9]+]]
// CHECK-NEXT: rt.call_matmul_fused <gelu_gradient> <{{.*}}> bf16 -> bf16 at [{{[0-9]+}}, {{[0-9]+}}, [[DX:[0-9]+]]] aux [[X]]
// CHECK-NEXT: rt.call_matmul_fused <rhs_sums> <{{.*}}> bf16 -> f32 at {{\[}}[[X0]], [[DX]], {{[0-9]+}}] bias {{[0-9]+}} : f32
// CHECK-NEXT: return
func.func @gelu(%x: tensor<16x24xbf16>, %w: tensor<24x32xbf16>, %b: tensor<32xbf16>, %g: tensor<16x8xbf16>, %v: tensor<32x8xbf16>) -> (tensor<16x32xbf16>, tensor<32xf32>, tensor<24x32xf32>) {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<16x24xbf16>, tensor<24x32xbf16> -> tensor<16x32xbf16>
  %1 = nn.broadcast %b dims [1] : tensor<32xbf16> -> tensor<16x32xbf16>
  %2 = arith.addf %0, %1 : tensor<16x32xbf16>
  %3 = nn.gelu <tanh> %2 : tensor<16x32xbf16>
  %4 = nn.einsum "sd,fd->sf" %g, %v : tensor<16x8xbf16>, tensor<32x8xbf16> -> tensor<16x32xbf16>
  %5 = nn.gelu_backward <tanh> %4, %2 : tensor<16x32xbf16>
  %6 = arith.extf %5 : tensor<16x32xbf16> to tensor<16x32xf32>
  %7 = nn.reduce <sum> %6 dims [0] : tensor<16x32xf32> -> tensor<32xf32>
  %8 = nn.einsum "sd,sf->df" %x, %5 : tensor<16x24xbf16>, tensor<16x32xbf16> -> tensor<24x32xf32>
  return %3, %7, %8 : tensor<16x32xbf16>, tensor<32xf32>, tensor<24x32xf32>
}
