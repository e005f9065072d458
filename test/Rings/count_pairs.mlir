// RUN: tessera-opt %s --dist-count-pairs | FileCheck %s

dist.mesh @mesh ["cp"=4]

// Queries 0 to 7 see 36 keys, queries 24 to 31 see 228.
// CHECK: func @causal
// CHECK-SAME: dist.pairs = array<i64: 36, 228>
func.func @causal(%q: tensor<2x8x2x2x16xf32>, %k: tensor<2x32x2x16xf32>) -> tensor<2x8x2x2x16xf32> attributes {dist.local} {
  %p = dist.axis_offset <{"cp"}> size 8 on @mesh : index
  %0 = nn.attention causal scale 0.25 %q, %k, %k q_offset %p : tensor<2x8x2x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x8x2x2x16xf32>
  return %0 : tensor<2x8x2x2x16xf32>
}

// In zig-zag order all devices have equally many.
// CHECK: func @zigzag
// CHECK-SAME: dist.pairs = array<i64: 132, 132>
func.func @zigzag(%q: tensor<2x8x2x2x16xf32>, %k: tensor<2x32x2x16xf32>) -> tensor<2x8x2x2x16xf32> attributes {dist.local} {
  %p = dist.axis_offset <{"cp"}> size 8 on @mesh : index
  %0 = nn.attention causal scale 0.25 order <shards = 4, size = 32> %q, %k, %k q_offset %p : tensor<2x8x2x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x8x2x2x16xf32>
  return %0 : tensor<2x8x2x2x16xf32>
}

// Padded keys never count.
// CHECK: func @full
// CHECK-SAME: dist.pairs = array<i64: 240, 240>
func.func @full(%q: tensor<2x8x2x2x16xf32>, %k: tensor<2x32x2x16xf32>) -> tensor<2x8x2x2x16xf32> attributes {dist.local} {
  %0 = nn.attention scale 0.25 keys 30 %q, %k, %k : tensor<2x8x2x2x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x8x2x2x16xf32>
  return %0 : tensor<2x8x2x2x16xf32>
}

// CHECK: func @none() attributes {dist.local} {
func.func @none() attributes {dist.local} {
  return
}
