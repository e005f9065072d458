// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(rt-split-reductions))' | FileCheck %s

// Columns with few rows: 512 chunks of 64 rows, each over all columns, then the
// chunks by blocks of 64 columns.
// CHECK-LABEL: func.func @bias(
// CHECK-SAME: %[[X:.*]]: tensor<32x1024x768xbf16>)
// CHECK: %[[Y:.*]] = tensor.expand_shape %[[X]] {{.*}} : tensor<32x1024x768xbf16> into tensor<32x16x64x768xbf16>
// CHECK: %[[P:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "parallel"]} ins(%[[Y]] : tensor<32x16x64x768xbf16>) outs(%{{.*}} : tensor<32x16x768xf32>)
// CHECK: %[[Q:.*]] = tensor.expand_shape %[[P]] {{.*}} : tensor<32x16x768xf32> into tensor<32x16x12x64xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "reduction", "parallel"]} ins(%[[Q]] : tensor<32x16x12x64xf32>) outs(%{{.*}} : tensor<12x64xf32>)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
// CHECK-NEXT: arith.addf %[[OUT]], %[[IN]]
// CHECK: %[[S:.*]] = tensor.collapse_shape %[[R]] {{.*}} : tensor<12x64xf32> into tensor<768xf32>
// CHECK: return %[[S]]
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#columns = affine_map<(d0, d1, d2) -> (d2)>
module attributes {rt.target = "cuda"} {
  func.func @bias(%x: tensor<32x1024x768xbf16>) -> tensor<768xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<768xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<768xf32>) -> tensor<768xf32>
    %r = linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x : tensor<32x1024x768xbf16>) outs(%f : tensor<768xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %w = arith.extf %in : bf16 to f32
      %s = arith.addf %out, %w : f32
      linalg.yield %s : f32
    } -> tensor<768xf32>
    return %r : tensor<768xf32>
  }
}

// -----

// Many rows need no chunks: the columns' rows come first.
// CHECK-LABEL: func.func @positions(
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}} : tensor<32x1024x768xf32>) outs(%{{.*}} : tensor<1024x768xf32>)
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#rows = affine_map<(d0, d1, d2) -> (d1, d2)>
module attributes {rt.target = "cuda"} {
  func.func @positions(%x: tensor<32x1024x768xf32>) -> tensor<1024x768xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1024x768xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x768xf32>) -> tensor<1024x768xf32>
    %r = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["reduction", "parallel", "parallel"]} ins(%x : tensor<32x1024x768xf32>) outs(%f : tensor<1024x768xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<1024x768xf32>
    return %r : tensor<1024x768xf32>
  }
}

// -----

// Chunks are equally long: 2018 rows have 2. The block's threads share each.
// CHECK-LABEL: func.func @prime(
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}} : tensor<2x1009x96xf32>) outs(%{{.*}} : tensor<2x96xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x48xf32>)
#all = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
module attributes {rt.target = "cuda"} {
  func.func @prime(%x: tensor<2018x96xf32>) -> tensor<96xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<96xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<96xf32>) -> tensor<96xf32>
    %r = linalg.generic {indexing_maps = [#all, #columns], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<2018x96xf32>) outs(%f : tensor<96xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    } -> tensor<96xf32>
    return %r : tensor<96xf32>
  }
}

// -----

// Squares of gradients of one size share code, whatever their shape: rows of a
// dividing length, and small tensors as one row.
// CHECK-LABEL: func.func @squares(
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %{{.*}} {{.*}} : tensor<768x12x64xf32> into tensor<589824xf32>
// CHECK: %[[ROWS:.*]] = tensor.expand_shape %[[FLAT]] {{.*}} : tensor<589824xf32> into tensor<576x1024xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[ROWS]] : tensor<576x1024xf32>) outs(%{{.*}} : tensor<576xf32>)
// CHECK: %[[SMALL:.*]] = tensor.collapse_shape %{{.*}} {{.*}} : tensor<12x64xf32> into tensor<768xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[SMALL]] : tensor<768xf32>) outs(%{{.*}} : tensor<f32>)
#three = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#none3 = affine_map<(d0, d1, d2) -> ()>
#two = affine_map<(d0, d1) -> (d0, d1)>
#none2 = affine_map<(d0, d1) -> ()>
module attributes {rt.target = "cuda"} {
  func.func @squares(%x: tensor<768x12x64xf32>, %b: tensor<12x64xf32>) -> (tensor<f32>, tensor<f32>) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %r = linalg.generic {indexing_maps = [#three, #none3], iterator_types = ["reduction", "reduction", "reduction"]} ins(%x : tensor<768x12x64xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %q = arith.mulf %in, %in : f32
      %s = arith.addf %out, %q : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %t = linalg.generic {indexing_maps = [#two, #none2], iterator_types = ["reduction", "reduction"]} ins(%b : tensor<12x64xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %q = arith.mulf %in, %in : f32
      %s = arith.addf %out, %q : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %r, %t : tensor<f32>, tensor<f32>
  }
}
