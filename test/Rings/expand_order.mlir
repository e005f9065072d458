// RUN: tessera-opt %s --dist-expand-order | FileCheck %s

dist.mesh @mesh ["cp"=2]

// All keys are sorted by position: the first, third, fourth and second chunk of
// chunks 0, 3, 1, 2. Each chunk of queries has its own position.
// CHECK-LABEL: func @gathered
// CHECK-SAME: (%[[Q:.*]]: tensor<2x8x2x1x4xbf16>, %[[K:.*]]: tensor<2x16x2x4xbf16>, %[[S:.*]]: tensor<2x8xi32>)
func.func @gathered(%q: tensor<2x8x2x1x4xbf16>, %k: tensor<2x16x2x4xbf16>, %s: tensor<2x8xi32>) -> tensor<2x8x2x1x4xbf16> attributes {dist.local} {
  // CHECK: %[[P:.*]] = dist.axis_offset
  %p = dist.axis_offset <{"cp"}> size 8 on @mesh : index
  // CHECK: arith.divui
  // CHECK: %[[P0:.*]] = arith.addi
  // CHECK: arith.divui
  // CHECK: %[[P1:.*]] = arith.addi
  // CHECK: %[[Q0:.*]] = tensor.extract_slice %[[Q]][0, 0, 0, 0, 0] [2, 4, 2, 1, 4]
  // CHECK: %[[Q1:.*]] = tensor.extract_slice %[[Q]][0, 4, 0, 0, 0] [2, 4, 2, 1, 4]
  // CHECK: %[[K0:.*]] = tensor.extract_slice %[[K]][0, 0, 0, 0]
  // CHECK: %[[K1:.*]] = tensor.extract_slice %[[K]][0, 8, 0, 0]
  // CHECK: %[[K2:.*]] = tensor.extract_slice %[[K]][0, 12, 0, 0]
  // CHECK: %[[K3:.*]] = tensor.extract_slice %[[K]][0, 4, 0, 0]
  // CHECK: %[[KEYS:.*]] = tensor.concat dim(1) %[[K0]], %[[K1]], %[[K2]], %[[K3]]
  // CHECK: %[[VALUES:.*]] = tensor.concat dim(1)
  // CHECK: %[[S0:.*]] = tensor.extract_slice %[[S]][0, 0] [2, 4]
  // CHECK: %[[S1:.*]] = tensor.extract_slice %[[S]][0, 4] [2, 4]
  // CHECK: %[[O0:.*]] = nn.attention causal scale 5.000000e-01 %[[Q0]], %[[KEYS]], %[[VALUES]] q_offset %[[P0]] starts %[[S0]]
  // CHECK: %[[O1:.*]] = nn.attention causal scale 5.000000e-01 %[[Q1]], %[[KEYS]], %[[VALUES]] q_offset %[[P1]] starts %[[S1]]
  // CHECK: %[[O:.*]] = tensor.concat dim(1) %[[O0]], %[[O1]]
  // CHECK: return %[[O]]
  %0 = nn.attention causal scale 0.5 order <shards = 2, size = 16> %q, %k, %k q_offset %p starts %s : tensor<2x8xi32> : tensor<2x8x2x1x4xbf16>, tensor<2x16x2x4xbf16>, tensor<2x16x2x4xbf16> -> tensor<2x8x2x1x4xbf16>
  return %0 : tensor<2x8x2x1x4xbf16>
}

// All queries are one attention; its result gets their order.
// CHECK-LABEL: func @whole
// CHECK-COUNT-3: tensor.concat
// CHECK: %[[O:.*]], %[[L:.*]] = nn.attention causal scale 5.000000e-01 %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x16x2x1x4xf32>
// CHECK: tensor.extract_slice %[[O]][0, 0, 0, 0, 0]
// CHECK: tensor.extract_slice %[[O]][0, 12, 0, 0, 0]
// CHECK: tensor.extract_slice %[[O]][0, 4, 0, 0, 0]
// CHECK: tensor.extract_slice %[[O]][0, 8, 0, 0, 0]
// CHECK-COUNT-2: tensor.concat
func.func @whole(%q: tensor<2x16x2x1x4xf32>, %k: tensor<2x16x2x4xf32>) -> (tensor<2x16x2x1x4xf32>, tensor<2x16x2x1xf32>) {
  %0, %l = nn.attention causal scale 0.5 order <shards = 2, size = 16> %q, %k, %k : tensor<2x16x2x1x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32> -> tensor<2x16x2x1x4xf32> stats tensor<2x16x2x1xf32>
  return %0, %l : tensor<2x16x2x1x4xf32>, tensor<2x16x2x1xf32>
}

// Gradients of keys from each chunk of queries are added in f32.
// CHECK-LABEL: func @gradients
// CHECK: %[[DQ0:.*]], %[[DK0:.*]], %[[DV0:.*]] = nn.attention_backward
// CHECK: %[[WIDE:.*]] = arith.extf %[[DK0]]
// CHECK: %{{.*}}, %[[DK1:.*]], %{{.*}} = nn.attention_backward
// CHECK: %[[WIDE1:.*]] = arith.extf %[[DK1]]
// CHECK: arith.addf %[[WIDE]], %[[WIDE1]]
// CHECK: arith.truncf
func.func @gradients(%g: tensor<2x8x2x1x4xbf16>, %q: tensor<2x8x2x1x4xbf16>, %k: tensor<2x16x2x4xbf16>, %l: tensor<2x8x2x1xf32>) -> tensor<2x16x2x4xbf16> attributes {dist.local} {
  %p = dist.axis_offset <{"cp"}> size 8 on @mesh : index
  %dq, %dk, %dv = nn.attention_backward causal scale 0.5 order <shards = 2, size = 16> %g, %q, %k, %k, %g, %l q_offset %p : tensor<2x8x2x1x4xbf16>, tensor<2x16x2x4xbf16>, tensor<2x16x2x4xbf16>, tensor<2x8x2x1x4xbf16>, tensor<2x8x2x1xf32>
  return %dk : tensor<2x16x2x4xbf16>
}

// Padding stays after the sequence, whose chunks are sorted.
// CHECK-LABEL: func @padded
// CHECK-SAME: (%[[Q:.*]]: tensor<1x18x1x1x2xf32>, %[[K:.*]]: tensor<1x18x1x2xf32>)
// CHECK: %[[Q3:.*]] = tensor.extract_slice %[[Q]][0, 4, 0, 0, 0] [1, 4, 1, 1, 2]
// CHECK: %[[PADDING:.*]] = tensor.extract_slice %[[Q]][0, 16, 0, 0, 0] [1, 2, 1, 1, 2]
// CHECK: %[[QUERIES:.*]] = tensor.concat dim(1) %{{.*}}, %{{.*}}, %{{.*}}, %[[Q3]], %[[PADDING]]
// CHECK: %[[KEYS:.*]] = tensor.concat dim(1) {{.*}}tensor<1x18x1x2xf32>
// CHECK: nn.attention causal scale 5.000000e-01 keys 16 %[[QUERIES]], %[[KEYS]]
// CHECK: tensor.concat
func.func @padded(%q: tensor<1x18x1x1x2xf32>, %k: tensor<1x18x1x2xf32>) -> tensor<1x18x1x1x2xf32> {
  %o = nn.attention causal scale 0.5 keys 16 order <shards = 2, size = 16> %q, %k, %k : tensor<1x18x1x1x2xf32>, tensor<1x18x1x2xf32>, tensor<1x18x1x2xf32> -> tensor<1x18x1x1x2xf32>
  return %o : tensor<1x18x1x1x2xf32>
}
