// RUN: tessera-opt %s --rt-convert-nn --rt-fuse-elementwise --rt-split-reductions --split-input-file | FileCheck %s

// A bias's gradient: blocks of 64 columns are the rows.
// CHECK: #map = affine_map<(d0, d1, d2, d3) -> (d1, d2, d0, d3)>
// CHECK: #map1 = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
// CHECK-LABEL: func.func @columns
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{\[\[}}0], [1], [2, 3]] {{.*}} : tensor<2x256x768xf32> into tensor<2x256x12x64xf32>
// CHECK: %[[S:.*]] = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction", "reduction", "parallel"]} ins(%[[X]] : {{.*}}) outs(%{{.*}} : tensor<12x64xf32>)
// CHECK: %[[R:.*]] = tensor.collapse_shape %[[S]] {{\[\[}}0, 1]] : tensor<12x64xf32> into tensor<768xf32>
// CHECK: return %[[R]]
func.func @columns(%x: tensor<2x256x768xf32>) -> tensor<768xf32> {
  %0 = nn.reduce <sum> %x dims [0, 1] : tensor<2x256x768xf32> -> tensor<768xf32>
  return %0 : tensor<768xf32>
}

// -----

// A norm's gain: the elementwise product moves with the sum; its operands
// without columns are unchanged.
// CHECK-LABEL: func.func @gain
// CHECK-COUNT-2: tensor.expand_shape
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}}, %arg2, %{{.*}} : tensor<512x12x64xf32>, tensor<512xf32>, tensor<512x12x64xf32>)
func.func @gain(%x: tensor<512x768xf32>, %g: tensor<512x768xf32>, %r: tensor<512xf32>) -> tensor<768xf32> {
  %b = nn.broadcast %r dims [0] : tensor<512xf32> -> tensor<512x768xf32>
  %y = arith.mulf %x, %b : tensor<512x768xf32>
  %0 = arith.mulf %y, %g : tensor<512x768xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<512x768xf32> -> tensor<768xf32>
  return %1 : tensor<768xf32>
}

// -----

// If there are enough dimensions, none is split.
// CHECK-LABEL: func.func @heads
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%arg0 : tensor<128x80x24xf32>) outs(%{{.*}} : tensor<80x24xf32>)
func.func @heads(%x: tensor<128x80x24xf32>) -> tensor<80x24xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<128x80x24xf32> -> tensor<80x24xf32>
  return %0 : tensor<80x24xf32>
}

// -----

// A full sum: a partial sum for each of the first loops, then their sum.
// CHECK-LABEL: func.func @whole
// CHECK: %[[P:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg0 {{.*}} outs(%{{.*}} : tensor<768xf32>)
// CHECK: %[[W:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[P]] : tensor<768xf32>) outs(%{{.*}} : tensor<f32>)
// CHECK: arith.addf
// CHECK: return %[[W]]
func.func @whole(%x: tensor<768x3072xf32>) -> tensor<f32> {
  %0 = nn.einsum "ab,ab->" %x, %x : tensor<768x3072xf32>, tensor<768x3072xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Small sums, and sums with rows, are unchanged.
// CHECK-LABEL: func.func @left_alone
// CHECK-COUNT-1: iterator_types = ["reduction", "parallel"]
// CHECK-COUNT-1: iterator_types = ["parallel", "reduction"]
// CHECK-NOT: linalg.generic
func.func @left_alone(%x: tensor<16x64xf32>, %y: tensor<512x768xf32>) -> (tensor<64xf32>, tensor<512xf32>) {
  %0 = nn.reduce <sum> %x dims [0] : tensor<16x64xf32> -> tensor<64xf32>
  %1 = nn.reduce <sum> %y dims [1] : tensor<512x768xf32> -> tensor<512xf32>
  return %0, %1 : tensor<64xf32>, tensor<512xf32>
}
