// A sum of columns and a kernel of the same rows: consecutive chunks of rows in
// one kernel, where the sum comes before the result that may overwrite its
// operand; then the sum of the chunks.
// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(rt-split-reductions))' | FileCheck %s
// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(rt-split-reductions),rt-outline-kernels,rt-verify-kernels)' | FileCheck %s --check-prefix=KERNEL
// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(rt-split-reductions),rt-outline-kernels,func.func(rt-start-collectives,rt-plan-arena),rt-lower-to-rt)' | FileCheck %s --check-prefix=CODE

// CHECK: #[[$PARTS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1 floordiv 32, d2)>
// CHECK-LABEL: func.func @neighbour(
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[$PARTS]]], iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}} : tensor<32x1024x768xbf16>) outs(%{{.*}} : tensor<32x32x768xf32>)
// CHECK: tensor.expand_shape %[[P]]
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "reduction", "parallel"]}

// KERNEL: rt.kernel @[[K:.*]](%{{.*}}) : (tensor<32x1024x768xbf16>) -> (tensor<32x32x768xf32>, tensor<32x1024x768xbf16>)
// KERNEL: func.func private @[[K]](
// KERNEL-SAME: rt.reuse = array<i64: 1, 0>, rt.rows = 32768
// KERNEL: linalg.generic {{.*}}["parallel", "reduction", "parallel"]
// KERNEL: linalg.generic {{.*}}["parallel", "parallel", "parallel"]

// 1024 chunks, one per block, which has a thread for each eight columns. Their
// sums stay in registers from row to row; each element is read once.
// CODE: gpu.func @{{.*}}known_block_size = array<i32: 96, 1, 1>
// CODE: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(
// CODE: vector.load {{.*}} vector<8xbf16>
// CODE-NOT: vector.load
// CODE: scf.yield
// CODE: memref.store
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#columns = affine_map<(d0, d1, d2) -> (d2)>
module attributes {rt.target = "cuda"} {
  func.func @neighbour(%x: tensor<32x1024x768xbf16> {dist.donate = 1 : i64}) -> (tensor<768xf32>, tensor<32x1024x768xbf16>) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<768xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<768xf32>) -> tensor<768xf32>
    %g = tensor.empty() : tensor<32x1024x768xbf16>
    %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<32x1024x768xbf16>) outs(%g : tensor<32x1024x768xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %n = arith.negf %in : bf16
      linalg.yield %n : bf16
    } -> tensor<32x1024x768xbf16>
    %r = linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x : tensor<32x1024x768xbf16>) outs(%f : tensor<768xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      %s = arith.addf %out, %w : f32
      linalg.yield %s : f32
    } -> tensor<768xf32>
    return %r, %y : tensor<768xf32>, tensor<32x1024x768xbf16>
  }
}

// -----

// Too few rows for chunks of eight.
// CHECK-LABEL: func.func @few(
// CHECK-NOT: floordiv
// CHECK: return
#all = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
module attributes {rt.target = "cuda"} {
  func.func @few(%x: tensor<1024x768xbf16>) -> (tensor<768xf32>, tensor<1024x768xbf16>) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<768xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<768xf32>) -> tensor<768xf32>
    %g = tensor.empty() : tensor<1024x768xbf16>
    %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1024x768xbf16>) outs(%g : tensor<1024x768xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %n = arith.negf %in : bf16
      linalg.yield %n : bf16
    } -> tensor<1024x768xbf16>
    %r = linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<1024x768xbf16>) outs(%f : tensor<768xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      %s = arith.addf %out, %w : f32
      linalg.yield %s : f32
    } -> tensor<768xf32>
    return %r, %y : tensor<768xf32>, tensor<1024x768xbf16>
  }
}
