// Kernels of a GPU of every kind, on an emulated one, against the interpreter:
// rows in part of a warp, a warp, a block's registers and a block's loops; odd
// lengths; column reductions in chunks; values that threads of a row exchange
// through shared memory. Threads run in another order in each run.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --partitioned %s --dump %t/data
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/prog
// RUN: env TESSERA_EMULATOR_SEED=1 %t/prog --inputs %t/data --compare %t/data/expected | %python %S/../Inputs/within.py 1e-5 | FileCheck %s
// RUN: env TESSERA_EMULATOR_SEED=2 %t/prog --inputs %t/data --compare %t/data/expected | %python %S/../Inputs/within.py 1e-5 | FileCheck %s
// RUN: sed 's/xf32>/xbf16>/g; s/: f32/: bf16/g; s/<f32>/<bf16>/g' %s > %t/bf16.mlir
// RUN: tessera verify %t/bf16.mlir --partitioned %t/bf16.mlir --dump %t/bf16.data
// RUN: tessera compile %t/bf16.mlir --target cuda-emulated --quiet -o %t/bf16
// RUN: env TESSERA_EMULATOR_SEED=3 %t/bf16 --inputs %t/bf16.data --compare %t/bf16.data/expected | %python %S/../Inputs/within.py 1e-2 | FileCheck %s --check-prefix=BF16

// CHECK: {{^}}21 results within 1e-05
// BF16: {{^}}21 results within 0.01

dist.mesh @mesh ["x"=1]
func.func @kernels(%tiny: tensor<300x9xf32>, %odd: tensor<7x33xf32>, %warp: tensor<400x768xf32>, %gain: tensor<768xf32>, %block: tensor<3x5000xf32>,
                   %long: tensor<2x40960xf32>, %longodd: tensor<3x9001xf32>, %middle: tensor<3x200x72xf32>, %first: tensor<50x6x16xf32>,
                   %tall: tensor<3000x40xf32>, %batch: tensor<64x100x48xf32>, %seventeen: tensor<5x700x17xf32>, %heads: tensor<4096x3x8xf32>,
                   %wide: tensor<40x1000xf32>, %bias: tensor<1000xf32>, %scalar: tensor<f32>) -> (
    tensor<300x9xf32> {nn.output = "tiny_softmax"}, tensor<7x33xf32> {nn.output = "odd_softmax"}, tensor<400x768xf32> {nn.output = "warp_norm"},
    tensor<3x5000xf32> {nn.output = "block_softmax"}, tensor<2x40960xf32> {nn.output = "long_softmax"}, tensor<3x9001xf32> {nn.output = "long_odd_softmax"},
    tensor<3x200x72xf32> {nn.output = "middle_softmax"}, tensor<50x6x16xf32> {nn.output = "first_softmax"}, tensor<40xf32> {nn.output = "tall_sum"},
    tensor<48xf32> {nn.output = "batch_sum"}, tensor<5x17xf32> {nn.output = "seventeen_sum"}, tensor<100x48xf32> {nn.output = "rows_sum"},
    tensor<100xf32> {nn.output = "outer_sum"}, tensor<4096x3xf32> {nn.output = "heads_sum"}, tensor<4096xf32> {nn.output = "heads_max"},
    tensor<f32> {nn.output = "all_sum"}, tensor<f32> {nn.output = "all_max"}, tensor<40x1000xf32> {nn.output = "biased"}, tensor<40xf32> {nn.output = "biased_sum"},
    tensor<40x1000xf32> {nn.output = "scaled"}, tensor<f32> {nn.output = "scalar_exp"}) attributes {dist.local} {
  %0 = nn.softmax %tiny dim 1 : tensor<300x9xf32>
  %1 = nn.softmax %odd dim 1 : tensor<7x33xf32>
  %2 = nn.rms_norm %warp, %gain eps 1.0e-5 : tensor<400x768xf32>, tensor<768xf32>
  %3 = nn.softmax %block dim 1 : tensor<3x5000xf32>
  %4 = nn.softmax %long dim 1 : tensor<2x40960xf32>
  %5 = nn.softmax %longodd dim 1 : tensor<3x9001xf32>
  %6 = nn.softmax %middle dim 1 : tensor<3x200x72xf32>
  %7 = nn.softmax %first dim 0 : tensor<50x6x16xf32>
  %8 = nn.reduce <sum> %tall dims [0] : tensor<3000x40xf32> -> tensor<40xf32>
  %9 = nn.reduce <sum> %batch dims [0, 1] : tensor<64x100x48xf32> -> tensor<48xf32>
  %10 = nn.reduce <sum> %seventeen dims [1] : tensor<5x700x17xf32> -> tensor<5x17xf32>
  %11 = nn.reduce <sum> %batch dims [0] : tensor<64x100x48xf32> -> tensor<100x48xf32>
  %12 = nn.reduce <sum> %batch dims [0, 2] : tensor<64x100x48xf32> -> tensor<100xf32>
  %13 = nn.reduce <sum> %heads dims [2] : tensor<4096x3x8xf32> -> tensor<4096x3xf32>
  %14 = nn.reduce <max> %13 dims [1] : tensor<4096x3xf32> -> tensor<4096xf32>
  %15 = nn.reduce <sum> %wide dims [0, 1] : tensor<40x1000xf32> -> tensor<f32>
  %16 = nn.reduce <max> %longodd dims [0, 1] : tensor<3x9001xf32> -> tensor<f32>
  %b = nn.broadcast %bias dims [1] : tensor<1000xf32> -> tensor<40x1000xf32>
  %17 = arith.addf %wide, %b : tensor<40x1000xf32>
  %18 = nn.reduce <sum> %17 dims [1] : tensor<40x1000xf32> -> tensor<40xf32>
  %s = nn.broadcast %18 dims [0] : tensor<40xf32> -> tensor<40x1000xf32>
  %19 = arith.mulf %17, %s : tensor<40x1000xf32>
  %20 = math.exp %scalar : tensor<f32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20
      : tensor<300x9xf32>, tensor<7x33xf32>, tensor<400x768xf32>, tensor<3x5000xf32>, tensor<2x40960xf32>, tensor<3x9001xf32>, tensor<3x200x72xf32>, tensor<50x6x16xf32>,
        tensor<40xf32>, tensor<48xf32>, tensor<5x17xf32>, tensor<100x48xf32>, tensor<100xf32>, tensor<4096x3xf32>, tensor<4096xf32>, tensor<f32>, tensor<f32>,
        tensor<40x1000xf32>, tensor<40xf32>, tensor<40x1000xf32>, tensor<f32>
}
