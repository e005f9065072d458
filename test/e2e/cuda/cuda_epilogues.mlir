// Matmuls of a GPU with all epilogues, on an emulated one, against the
// interpreter: by the host's code, by the runtime's kernels, and by a library
// with cuBLASLt's rules; odd sizes, which it does not support, and even ones.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera compile %s --target cuda-emulated --compile-to=rt | FileCheck %s --check-prefix=CALLS
// RUN: tessera compile %s --target cuda-emulated --epilogues=off --compile-to=rt | FileCheck %s --check-prefix=OFF --implicit-check-not=matmul_fused
// OFF: rt.call_matmul <
// RUN: tessera verify %s --partitioned %s --dump %t/data
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/prog
// RUN: env TESSERA_EMULATOR_SEED=1 %t/prog --inputs %t/data --compare %t/data/expected | %python %S/../Inputs/within.py 1e-6 | FileCheck %s
// RUN: env TESSERA_EMULATOR_SEED=2 TESSERA_EMULATE_KERNELS=1 %t/prog --inputs %t/data --compare %t/data/expected | %python %S/../Inputs/within.py 1e-6 | FileCheck %s
// RUN: env TESSERA_EMULATE_LIBRARIES=1 TESSERA_CUDA_LIBRARY_PATH=%bin/../test/runtime/device/fakes/good %t/prog --tune=off --no-graph --inputs %t/data --compare %t/data/expected | %python %S/../Inputs/within.py 1e-6 | FileCheck %s
// RUN: sed 's/xf32>/xbf16>/g' %s > %t/bf16.mlir
// RUN: tessera compile %t/bf16.mlir --target cuda-emulated --compile-to=rt | FileCheck %s --check-prefix=CALLS
// RUN: tessera verify %t/bf16.mlir --partitioned %t/bf16.mlir --dump %t/bf16.data
// RUN: tessera compile %t/bf16.mlir --target cuda-emulated --quiet -o %t/bf16
// RUN: env TESSERA_EMULATE_KERNELS=1 %t/bf16 --inputs %t/bf16.data --compare %t/bf16.data/expected | %python %S/../Inputs/within.py 1e-2 | FileCheck %s --check-prefix=BF16
// RUN: env TESSERA_EMULATE_LIBRARIES=1 TESSERA_CUDA_LIBRARY_PATH=%bin/../test/runtime/device/fakes/good %t/bf16 --tune=off --no-graph --inputs %t/bf16.data --compare %t/bf16.data/expected | %python %S/../Inputs/within.py 1e-2 | FileCheck %s --check-prefix=BF16

// CALLS-DAG: rt.call_matmul_fused <gelu> {{.*}} bias {{[0-9]+}} : {{b?f[0-9]+}} aux
// CALLS-DAG: rt.call_matmul_fused <gelu> {{.*}} bias {{[0-9]+}} : {{b?f[0-9]+$}}
// CALLS-DAG: rt.call_matmul_fused <gelu_gradient> {{.*}} bias {{.*}} aux
// CALLS-DAG: rt.call_matmul_fused <gelu_gradient> {{.*}}] aux
// CALLS-DAG: rt.call_matmul_fused <bias> {{.*}} add {{.*}} bias
// CALLS-DAG: rt.call_matmul_fused <none> {{.*}} add
// CALLS-DAG: rt.call_matmul_fused <lhs_sums>
// CALLS-DAG: rt.call_matmul_fused <rhs_sums>

// CHECK: {{^}}10 results within 1e-06
// BF16: {{^}}10 results within 0.01

dist.mesh @mesh ["x"=1]
func.func @matmuls(%x: tensor<33x24xf32>, %w: tensor<24x40xf32>, %b: tensor<40xf32>, %g: tensor<33x9xf32>, %v: tensor<40x9xf32>,
                    %odd: tensor<24x25xf32>, %oddbias: tensor<25xf32>, %r: tensor<33x25xf32>, %h: tensor<33x7xf32>, %u: tensor<7x25xf32>) -> (
    tensor<33x40xf32> {nn.output = "kept_gelu"}, tensor<33x40xf32> {nn.output = "its_gradient"}, tensor<40xf32> {nn.output = "its_bias"},
    tensor<33x25xf32> {nn.output = "odd_gelu"}, tensor<33x25xf32> {nn.output = "residual"}, tensor<33x25xf32> {nn.output = "added"},
    tensor<33x40xf32> {nn.output = "other_gradient"}, tensor<24x40xf32> {nn.output = "weight"}, tensor<40xf32> {nn.output = "rhs_sums"}, tensor<7xf32> {nn.output = "lhs_sums"}) attributes {dist.local} {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<33x24xf32>, tensor<24x40xf32> -> tensor<33x40xf32>
  %1 = nn.broadcast %b dims [1] : tensor<40xf32> -> tensor<33x40xf32>
  %2 = arith.addf %0, %1 : tensor<33x40xf32>
  %3 = nn.gelu <tanh> %2 : tensor<33x40xf32>
  %4 = nn.einsum "sd,fd->sf" %g, %v : tensor<33x9xf32>, tensor<40x9xf32> -> tensor<33x40xf32>
  %5 = nn.gelu_backward <tanh> %4, %2 : tensor<33x40xf32>
  %6 = nn.reduce <sum> %5 dims [0] : tensor<33x40xf32> -> tensor<40xf32>
  %7 = nn.einsum "sd,df->sf" %x, %odd : tensor<33x24xf32>, tensor<24x25xf32> -> tensor<33x25xf32>
  %8 = nn.broadcast %oddbias dims [1] : tensor<25xf32> -> tensor<33x25xf32>
  %9 = arith.addf %7, %8 : tensor<33x25xf32>
  %10 = nn.gelu <tanh> %9 : tensor<33x25xf32>
  %11 = nn.einsum "sd,df->sf" %h, %u : tensor<33x7xf32>, tensor<7x25xf32> -> tensor<33x25xf32>
  %12 = arith.addf %11, %8 : tensor<33x25xf32>
  %13 = arith.addf %r, %12 : tensor<33x25xf32>
  %14 = nn.einsum "sd,df->sf" %h, %u : tensor<33x7xf32>, tensor<7x25xf32> -> tensor<33x25xf32>
  %17 = arith.addf %14, %r : tensor<33x25xf32>
  %18 = nn.einsum "sd,fd->sf" %g, %v : tensor<33x9xf32>, tensor<40x9xf32> -> tensor<33x40xf32>
  %19 = nn.gelu_backward <tanh> %18, %3 : tensor<33x40xf32>
  %20 = nn.einsum "sd,sf->df" %x, %19 : tensor<33x24xf32>, tensor<33x40xf32> -> tensor<24x40xf32>
  %21 = nn.reduce <sum> %19 dims [0] : tensor<33x40xf32> -> tensor<40xf32>
  %22 = nn.reduce <sum> %h dims [0] : tensor<33x7xf32> -> tensor<7xf32>
  %23 = nn.einsum "sd,sf->df" %h, %g : tensor<33x7xf32>, tensor<33x9xf32> -> tensor<7x9xf32>
  %24 = nn.reduce <sum> %23 dims [1] : tensor<7x9xf32> -> tensor<7xf32>
  %25 = arith.addf %22, %24 : tensor<7xf32>
  return %3, %5, %6, %10, %13, %17, %19, %20, %21, %25 : tensor<33x40xf32>, tensor<33x40xf32>, tensor<40xf32>, tensor<33x25xf32>, tensor<33x25xf32>,
    tensor<33x25xf32>, tensor<33x40xf32>, tensor<24x40xf32>, tensor<40xf32>, tensor<7xf32>
}
