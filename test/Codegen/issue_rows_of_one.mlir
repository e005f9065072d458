// Rows of one element are planned for a GPU together with their sums.
// RUN: tessera-opt %s --compile-to=llvm | FileCheck %s
// CHECK: llvm.call @tessera_rt_launch_device
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#columns = affine_map<(d0, d1, d2) -> (d2)>
module attributes {rt.target = "cuda"} {
  func.func @neighbour(%x: tensor<32x1024x1xbf16> {dist.donate = 1 : i64}) -> (tensor<1xf32>, tensor<32x1024x1xbf16>) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
    %g = tensor.empty() : tensor<32x1024x1xbf16>
    %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<32x1024x1xbf16>) outs(%g : tensor<32x1024x1xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %n = arith.negf %in : bf16
      linalg.yield %n : bf16
    } -> tensor<32x1024x1xbf16>
    %r = linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x : tensor<32x1024x1xbf16>) outs(%f : tensor<1xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      %s = arith.addf %out, %w : f32
      linalg.yield %s : f32
    } -> tensor<1xf32>
    return %r, %y : tensor<1xf32>, tensor<32x1024x1xbf16>
  }
}
