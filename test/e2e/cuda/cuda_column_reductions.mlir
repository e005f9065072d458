// Column reductions in the kernels of their rows, on an emulated GPU, against
// the interpreter: gradients of norms with their gain and shift (in part of a
// warp, a warp, a block), a bias with an activation's gradient, odd numbers of
// chunks and columns. Threads run in another order in each run.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera compile %s --target cuda-emulated --compile-to=kernels --quiet | FileCheck %s --check-prefix=IR
// RUN: tessera verify %s --partitioned %s --dump %t/data
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/prog
// RUN: env TESSERA_EMULATOR_SEED=1 %t/prog --inputs %t/data --compare %t/data/expected | %python %S/../Inputs/within.py 1e-6 | FileCheck %s
// RUN: env TESSERA_EMULATOR_SEED=2 %t/prog --inputs %t/data --compare %t/data/expected | %python %S/../Inputs/within.py 1e-6 | FileCheck %s

// IR: -> (tensor<4x64x48xf32>, tensor<4x64x48xf32>, tensor<4x512x48xf32>)
// IR: -> (tensor<261x520xf32>, tensor<2088x520xf32>)
// IR: -> (tensor<259x33xf32>
// CHECK: {{^}}9 results within 1e-06

dist.mesh @mesh ["x"=1]
func.func @kernels(%d: tensor<4x512x48xf32>, %x: tensor<4x512x48xf32>, %g: tensor<48xf32>, %m: tensor<4x512xf32>, %r: tensor<4x512xf32>,
                   %dw: tensor<2088x520xf32>, %xw: tensor<2088x520xf32>, %gw: tensor<520xf32>, %rw: tensor<2088xf32>,
                   %do: tensor<2072x33xf32>, %xo: tensor<2072x33xf32>) -> (
    tensor<4x512x48xf32> {nn.output = "norm_dx"}, tensor<48xf32> {nn.output = "norm_dg"}, tensor<48xf32> {nn.output = "norm_db"},
    tensor<2088x520xf32> {nn.output = "wide_dx"}, tensor<520xf32> {nn.output = "wide_dg"},
    tensor<2072x33xf32> {nn.output = "odd_dx"}, tensor<33xf32> {nn.output = "odd_db"}, tensor<33xf32> {nn.output = "odd_sum"},
    tensor<2072xf32> {nn.output = "odd_rows"}) attributes {dist.local} {
  %dx = nn.layer_norm_backward %d, %x, %g, %m, %r : tensor<4x512x48xf32>, tensor<48xf32>, tensor<4x512xf32>
  %mb = nn.broadcast %m dims [0, 1] : tensor<4x512xf32> -> tensor<4x512x48xf32>
  %rb = nn.broadcast %r dims [0, 1] : tensor<4x512xf32> -> tensor<4x512x48xf32>
  %c = arith.subf %x, %mb : tensor<4x512x48xf32>
  %n = arith.mulf %c, %rb : tensor<4x512x48xf32>
  %dn = arith.mulf %d, %n : tensor<4x512x48xf32>
  %dg = nn.reduce <sum> %dn dims [0, 1] : tensor<4x512x48xf32> -> tensor<48xf32>
  %db = nn.reduce <sum> %d dims [0, 1] : tensor<4x512x48xf32> -> tensor<48xf32>

  %dxw = nn.rms_norm_backward %dw, %xw, %gw, %rw : tensor<2088x520xf32>, tensor<520xf32>, tensor<2088xf32>
  %rbw = nn.broadcast %rw dims [0] : tensor<2088xf32> -> tensor<2088x520xf32>
  %nw = arith.mulf %xw, %rbw : tensor<2088x520xf32>
  %dnw = arith.mulf %dw, %nw : tensor<2088x520xf32>
  %dgw = nn.reduce <sum> %dnw dims [0] : tensor<2088x520xf32> -> tensor<520xf32>

  // A value of the kernel that a matmul of another kernel reads as well.
  %do1 = nn.silu_backward %do, %xo : tensor<2072x33xf32>
  %dbo = nn.reduce <sum> %do1 dims [0] : tensor<2072x33xf32> -> tensor<33xf32>
  %so = nn.reduce <sum> %do dims [0] : tensor<2072x33xf32> -> tensor<33xf32>
  %ro = nn.reduce <sum> %do1 dims [1] : tensor<2072x33xf32> -> tensor<2072xf32>
  return %dx, %dg, %db, %dxw, %dgw, %do1, %dbo, %so, %ro : tensor<4x512x48xf32>, tensor<48xf32>, tensor<48xf32>, tensor<2088x520xf32>, tensor<520xf32>,
      tensor<2072x33xf32>, tensor<33xf32>, tensor<33xf32>, tensor<2072xf32>
}
