// RUN: tessera-opt %s --split-input-file --rt-outline-kernels | FileCheck %s

// A value that all threads of a row read must not be overwritten while some of
// them still read it: the sums (one element per row) get their own memory, the
// rows may overwrite %x. On the host one thread has a row, so both may.
// CHECK-LABEL: func.func private @kernel_0(
// CHECK-SAME: tensor<64xf32>, %{{.*}}: tensor<64x128xf32>) -> (tensor<64xf32>, tensor<64x128xf32>) attributes {rt.kernel, rt.reuse = array<i64: 1, 1>, rt.rows = 64 : i64}
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0) -> (d0)>
module attributes {rt.target = "cuda"} {
  func.func @scale(%x: tensor<64x128xf32>, %s: tensor<64xf32>) -> (tensor<64xf32>, tensor<64x128xf32>) {
    %e = tensor.empty() : tensor<64xf32>
    %0 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%s : tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %l = math.log %in : f32
      linalg.yield %l : f32
    } -> tensor<64xf32>
    %f = tensor.empty() : tensor<64x128xf32>
    %1 = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<64x128xf32>, tensor<64xf32>) outs(%f : tensor<64x128xf32>) {
    ^bb0(%in: f32, %l: f32, %out: f32):
      %d = arith.subf %in, %l : f32
      linalg.yield %d : f32
    } -> tensor<64x128xf32>
    return %0, %1 : tensor<64xf32>, tensor<64x128xf32>
  }
}

// -----

// CHECK-LABEL: func.func private @kernel_0(
// CHECK-SAME: attributes {rt.kernel, rt.reuse = array<i64: 0, 0, 1, 1>, rt.rows = 64 : i64}
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0) -> (d0)>
module {
  func.func @host(%x: tensor<64x128xf32>, %s: tensor<64xf32>) -> (tensor<64xf32>, tensor<64x128xf32>) {
    %e = tensor.empty() : tensor<64xf32>
    %0 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%s : tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %l = math.log %in : f32
      linalg.yield %l : f32
    } -> tensor<64xf32>
    %f = tensor.empty() : tensor<64x128xf32>
    %1 = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<64x128xf32>, tensor<64xf32>) outs(%f : tensor<64x128xf32>) {
    ^bb0(%in: f32, %l: f32, %out: f32):
      %d = arith.subf %in, %l : f32
      linalg.yield %d : f32
    } -> tensor<64x128xf32>
    return %0, %1 : tensor<64xf32>, tensor<64x128xf32>
  }
}

// -----

// A row of 8192 f32 is 32 kB: too much for the shared memory of a block, so the
// exponentials are a result.
// CHECK-LABEL: func.func private @kernel_0(
// CHECK-SAME: tensor<4x8192xf32>) -> (tensor<4x8192xf32>, tensor<4x8192xf32>)
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
module attributes {rt.target = "cuda"} {
  func.func @long(%x: tensor<4x8192xf32>) -> tensor<4x8192xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x8192xf32>
    %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8192xf32>) outs(%e : tensor<4x8192xf32>) {
    ^bb0(%in: f32, %out: f32):
      %p = math.exp %in : f32
      linalg.yield %p : f32
    } -> tensor<4x8192xf32>
    %g = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%zero : f32) outs(%g : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<4x8192xf32>) outs(%f : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %2 = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<4x8192xf32>, tensor<4xf32>) outs(%e : tensor<4x8192xf32>) {
    ^bb0(%in: f32, %s: f32, %out: f32):
      %d = arith.divf %in, %s : f32
      linalg.yield %d : f32
    } -> tensor<4x8192xf32>
    return %2 : tensor<4x8192xf32>
  }
}

// -----

// No value is too large if there are no rows.
// CHECK-LABEL: func.func private @kernel_0(
// CHECK-SAME: tensor<0x8192xf32>) -> tensor<0x8192xf32>
#all = affine_map<(d0, d1) -> (d0, d1)>
module attributes {rt.target = "cuda"} {
  func.func @empty(%x: tensor<0x8192xf32>) -> tensor<0x8192xf32> {
    %e = tensor.empty() : tensor<0x8192xf32>
    %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<0x8192xf32>) outs(%e : tensor<0x8192xf32>) {
    ^bb0(%in: f32, %out: f32):
      %p = math.exp %in : f32
      linalg.yield %p : f32
    } -> tensor<0x8192xf32>
    %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<0x8192xf32>) outs(%e : tensor<0x8192xf32>) {
    ^bb0(%in: f32, %out: f32):
      %p = math.log %in : f32
      linalg.yield %p : f32
    } -> tensor<0x8192xf32>
    return %1 : tensor<0x8192xf32>
  }
}
