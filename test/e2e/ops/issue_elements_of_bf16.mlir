// Vectors of bf16 that are built from elements move bits: no function of a
// compiler's library is called for them.

// RUN: tessera compile %s --target cuda-emulated --cpu x86-64-v3 --quiet -o %t
// RUN: llvm-nm %t | FileCheck %s --check-prefix=SYMBOLS --implicit-check-not=bfsf2 --implicit-check-not=sfbf2
// RUN: tessera compile %s --target cuda-emulated --cpu x86-64 --quiet -o %t
// RUN: llvm-nm %t | FileCheck %s --check-prefix=SYMBOLS --implicit-check-not=bfsf2 --implicit-check-not=sfbf2
// SYMBOLS: T tessera_program_step

dist.mesh @mesh ["x"=2, "y"=2, "z"=2]
func.func @main(%arg0: tensor<3xbf16> {dist.sharding = #dist.sharding<@mesh, [{"z", "x", "y"}]>}, %arg1: tensor<6xbf16>, %arg2: tensor<bf16>)
    -> (tensor<bf16> {dist.sharding = #dist.sharding<@mesh, [], replicated={"x"}>}, tensor<bf16> {dist.sharding = #dist.sharding<@mesh, [], unreduced={"y"}>}, tensor<i32>, tensor<2x6xbf16> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x", ?}], unreduced={"z"}>}, tensor<6x2xbf16>, tensor<6x3xbf16> {dist.sharding = #dist.sharding<@mesh, [{"y", "x"}, {"z"}]>}, tensor<6x6xbf16> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {"z"}]>}) {
  %v0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%arg1 : tensor<6xbf16>) outs(%arg2 : tensor<bf16>) {
  ^bb0(%r0_0: bf16, %r0_1: bf16):
    %r0_2 = arith.cmpf uge, %r0_0, %r0_0 : bf16
    %r0_3 = arith.cmpf one, %r0_0, %r0_0 : bf16
    %r0_4 = arith.cmpf ult, %r0_0, %r0_0 : bf16
    %r0_5 = arith.addf %r0_0, %r0_1 : bf16
    linalg.yield %r0_5 : bf16
  } -> tensor<bf16>
  %v1, %v2 = nn.arg_reduce <min> %arg1 dim 0 : tensor<6xbf16> -> tensor<bf16>, tensor<i32>
  %v3 = tensor.empty() : tensor<6x6xbf16>
  %v4 = linalg.broadcast ins(%arg2 : tensor<bf16>) outs(%v3 : tensor<6x6xbf16>) dimensions = [0, 1]
  %v5 = linalg.reduce { arith.addf } ins(%v4 : tensor<6x6xbf16>) outs(%arg1 : tensor<6xbf16>) dimensions = [1]
  %v6 = arith.constant dense<[[-2.00000000000000000e+00, -2.50000000000000000e-01, -1.00000000000000000e+00, -4.00000000000000000e+00, 4.00000000000000000e+00, 1.25000000000000000e+00], [-2.00000000000000000e+00, 1.50000000000000000e+00, 1.00000000000000000e+00, 0.00000000000000000e+00, 3.00000000000000000e+00, 2.00000000000000000e+00]]> : tensor<2x6xbf16>
  %v7 = arith.constant 0.00000000000000000e+00 : bf16
  %v8 = tensor.empty() {dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]} : tensor<2x6xbf16>
  %v9 = linalg.fill ins(%v7 : bf16) outs(%v8 : tensor<2x6xbf16>) -> tensor<2x6xbf16>
  %v10 = linalg.matmul ins(%v6, %v4 : tensor<2x6xbf16>, tensor<6x6xbf16>) outs(%v9 : tensor<2x6xbf16>) -> tensor<2x6xbf16>
  %v11 = nn.transpose %v9 [1, 0] : tensor<2x6xbf16> -> tensor<6x2xbf16>
  %v12 = arith.divf %v4, %v4 : tensor<6x6xbf16>
  %v13 = arith.constant dense<[[-5.00000000000000000e-01, -4.00000000000000000e+00, 3.00000000000000000e+00], [-5.00000000000000000e-01, -2.50000000000000000e-01, 1.00000000000000000e+00], [1.00000000000000000e+00, 2.50000000000000000e-01, -4.00000000000000000e+00], [-3.00000000000000000e+00, 2.50000000000000000e-01, -5.00000000000000000e-01], [5.00000000000000000e-01, -3.00000000000000000e+00, 2.50000000000000000e-01], [1.25000000000000000e+00, -4.00000000000000000e+00, 1.50000000000000000e+00]]> : tensor<6x3xbf16>
  %v14 = tensor.empty() {dist.shardings = [#dist.sharding<@mesh, [{"y"}p0, {"x"}]>]} : tensor<6x3xbf16>
  %v15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v5, %arg0, %v13 : tensor<6xbf16>, tensor<3xbf16>, tensor<6x3xbf16>) outs(%v14 : tensor<6x3xbf16>) {
  ^bb0(%r1_0: bf16, %r1_1: bf16, %r1_2: bf16, %r1_3: bf16):
    %r1_4 = math.absf %r1_0 : bf16
    %r1_5 = math.log10 %r1_2 : bf16
    %r1_6 = arith.cmpf ogt, %r1_5, %r1_1 : bf16
    linalg.yield %r1_5 : bf16
  } -> tensor<6x3xbf16>
  %v16 = tensor.empty() : tensor<6x6xbf16>
  %v17 = linalg.transpose ins(%v12 : tensor<6x6xbf16>) outs(%v16 : tensor<6x6xbf16>) permutation = [1, 0]
  return %v0, %v1, %v2, %v10, %v11, %v15, %v17 : tensor<bf16>, tensor<bf16>, tensor<i32>, tensor<2x6xbf16>, tensor<6x2xbf16>, tensor<6x3xbf16>, tensor<6x6xbf16>
}
