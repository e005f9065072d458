// Loops without elements have no rows to share.
// RUN: tessera-opt %s --rt-outline-kernels | FileCheck %s
// CHECK-LABEL: func.func @host
// CHECK: tensor<64x0xf32>
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0) -> (d0)>
module {
  func.func @host(%x: tensor<64x0xf32>, %s: tensor<64xf32>) -> (tensor<64xf32>, tensor<64x0xf32>) {
    %e = tensor.empty() : tensor<64xf32>
    %0 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%s : tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %l = math.log %in : f32
      linalg.yield %l : f32
    } -> tensor<64xf32>
    %f = tensor.empty() : tensor<64x0xf32>
    %1 = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<64x0xf32>, tensor<64xf32>) outs(%f : tensor<64x0xf32>) {
    ^bb0(%in: f32, %l: f32, %out: f32):
      %d = arith.subf %in, %l : f32
      linalg.yield %d : f32
    } -> tensor<64x0xf32>
    return %0, %1 : tensor<64xf32>, tensor<64x0xf32>
  }
}
