// RUN: tessera-opt %s --dist-expand-ring-attention | FileCheck %s

dist.mesh @mesh ["cp"=2]

// Chunks travel in their own type; results of each are in f32, with the position
// of its first key. The own chunk is number i, the neighbour's i + 1 modulo 2.
// CHECK-LABEL: func @forward
// CHECK-SAME: (%[[Q:.*]]: tensor<2x4x2x2x8xbf16>, %[[K:.*]]: tensor<2x4x2x8xbf16>, %[[V:.*]]: tensor<2x4x2x8xbf16>)
func.func @forward(%q: tensor<2x4x2x2x8xbf16>, %k: tensor<2x4x2x8xbf16>, %v: tensor<2x4x2x8xbf16>) -> tensor<2x4x2x2x8xbf16> attributes {dist.local} {
  // CHECK: %[[P:.*]] = dist.axis_offset <{"cp"}> size 4
  // CHECK-NOT: arith.extf
  // CHECK: %[[K1:.*]] = dist.collective_permute %[[K]] targets [1, 0] over <{"cp"}> on @mesh : tensor<2x4x2x8xbf16>
  // CHECK: %[[V1:.*]] = dist.collective_permute %[[V]] targets [1, 0]
  // CHECK: %[[O0:.*]], %[[L0:.*]] = nn.attention causal scale 2.500000e-01 %[[Q]], %[[K]], %[[V]] q_offset %[[P]] k_offset %{{.*}} : tensor<2x4x2x2x8xbf16>, tensor<2x4x2x8xbf16>, tensor<2x4x2x8xbf16> -> tensor<2x4x2x2x8xf32> stats tensor<2x4x2x2xf32>
  // CHECK-NOT: collective_permute
  // CHECK: %[[OFFSET:.*]] = arith.remui
  // CHECK: %[[O1:.*]], %[[L1:.*]] = nn.attention causal scale 2.500000e-01 %[[Q]], %[[K1]], %[[V1]] q_offset %[[P]] k_offset %[[OFFSET]]
  // CHECK: arith.maximumf %[[L0]], %[[L1]]
  // CHECK: arith.mulf %[[O0]]
  // CHECK: arith.mulf %[[O1]]
  // CHECK: %[[O:.*]] = arith.truncf
  // CHECK: return %[[O]] : tensor<2x4x2x2x8xbf16>
  %0 = dist.ring_attention (%q, %k, %v) : (tensor<2x4x2x2x8xbf16>, tensor<2x4x2x8xbf16>, tensor<2x4x2x8xbf16>) -> tensor<2x4x2x2x8xbf16> {
  ^bb0(%a: tensor<2x4x2x2x8xbf16>, %b: tensor<2x4x2x8xbf16>, %c: tensor<2x4x2x8xbf16>):
    %p = dist.axis_offset <{"cp"}> size 4 on @mesh : index
    %1 = dist.all_gather %b dim 1 over <{"cp"}> on @mesh : tensor<2x4x2x8xbf16> -> tensor<2x8x2x8xbf16>
    %2 = dist.all_gather %c dim 1 over <{"cp"}> on @mesh : tensor<2x4x2x8xbf16> -> tensor<2x8x2x8xbf16>
    %3 = nn.attention causal scale 0.25 %a, %1, %2 q_offset %p : tensor<2x4x2x2x8xbf16>, tensor<2x8x2x8xbf16>, tensor<2x8x2x8xbf16> -> tensor<2x4x2x2x8xbf16>
    dist.yield %3 : tensor<2x4x2x2x8xbf16>
  }
  return %0 : tensor<2x4x2x2x8xbf16>
}

// Each of two devices adds its own step to its neighbour's result for it.
// CHECK-LABEL: func @backward
func.func @backward(%g: tensor<2x4x2x2x8xf32>, %q: tensor<2x4x2x2x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %o: tensor<2x4x2x2x8xf32>, %l: tensor<2x4x2x2xf32>)
    -> (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>) attributes {dist.local} {
  // CHECK-COUNT-2: dist.collective_permute
  // CHECK: %[[DQ0:.*]], %[[DK0:.*]], %[[DV0:.*]] = nn.attention_backward
  // CHECK: %[[DQ1:.*]], %[[DK1:.*]], %[[DV1:.*]] = nn.attention_backward
  // CHECK: %[[DQ:.*]] = arith.addf %[[DQ0]], %[[DQ1]]
  // CHECK: %[[DK2:.*]] = dist.collective_permute %[[DK1]] targets [1, 0]
  // CHECK: %[[DV2:.*]] = dist.collective_permute %[[DV1]] targets [1, 0]
  // CHECK: %[[DK:.*]] = arith.addf %[[DK2]], %[[DK0]]
  // CHECK: %[[DV:.*]] = arith.addf %[[DV2]], %[[DV0]]
  // CHECK: return %[[DQ]], %[[DK]], %[[DV]]
  %0:3 = dist.ring_attention (%g, %q, %k, %v, %o, %l) : (tensor<2x4x2x2x8xf32>, tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x2x8xf32>, tensor<2x4x2x2xf32>) -> (tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>) {
  ^bb0(%e: tensor<2x4x2x2x8xf32>, %a: tensor<2x4x2x2x8xf32>, %b: tensor<2x4x2x8xf32>, %c: tensor<2x4x2x8xf32>, %d: tensor<2x4x2x2x8xf32>, %s: tensor<2x4x2x2xf32>):
    %1 = dist.all_gather %b dim 1 over <{"cp"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %2 = dist.all_gather %c dim 1 over <{"cp"}> on @mesh : tensor<2x4x2x8xf32> -> tensor<2x8x2x8xf32>
    %dq, %dk, %dv = nn.attention_backward scale 0.25 %e, %a, %1, %2, %d, %s : tensor<2x4x2x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x4x2x2x8xf32>, tensor<2x4x2x2xf32>
    %3 = dist.reduce_scatter <sum> %dk dim 1 over <{"cp"}> on @mesh : tensor<2x8x2x8xf32> -> tensor<2x4x2x8xf32>
    %4 = dist.reduce_scatter <sum> %dv dim 1 over <{"cp"}> on @mesh : tensor<2x8x2x8xf32> -> tensor<2x4x2x8xf32>
    dist.yield %dq, %3, %4 : tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>
}

dist.mesh @four ["cp"=4]

// A window of 16 reaches into one chunk of 32 before the own one: one transfer
// of keys and values, not three.
// CHECK-LABEL: func @window
func.func @window(%q: tensor<2x32x2x2x8xf32>, %k: tensor<2x32x2x8xf32>, %v: tensor<2x32x2x8xf32>) -> tensor<2x32x2x2x8xf32> attributes {dist.local} {
  // CHECK: dist.collective_permute %{{.*}} targets [1, 2, 3, 0]
  // CHECK: dist.collective_permute %{{.*}} targets [1, 2, 3, 0]
  // CHECK-NOT: dist.collective_permute
  // CHECK: nn.attention causal window 16
  // CHECK-NOT: dist.collective_permute
  // CHECK: nn.attention causal window 16
  // CHECK-NOT: nn.attention
  // CHECK: return
  %0 = dist.ring_attention (%q, %k, %v) : (tensor<2x32x2x2x8xf32>, tensor<2x32x2x8xf32>, tensor<2x32x2x8xf32>) -> tensor<2x32x2x2x8xf32> {
  ^bb0(%a: tensor<2x32x2x2x8xf32>, %b: tensor<2x32x2x8xf32>, %c: tensor<2x32x2x8xf32>):
    %p = dist.axis_offset <{"cp"}> size 32 on @four : index
    %1 = dist.all_gather %b dim 1 over <{"cp"}> on @four : tensor<2x32x2x8xf32> -> tensor<2x128x2x8xf32>
    %2 = dist.all_gather %c dim 1 over <{"cp"}> on @four : tensor<2x32x2x8xf32> -> tensor<2x128x2x8xf32>
    %3 = nn.attention causal window 16 scale 0.25 %a, %1, %2 q_offset %p : tensor<2x32x2x2x8xf32>, tensor<2x128x2x8xf32>, tensor<2x128x2x8xf32> -> tensor<2x32x2x2x8xf32>
    dist.yield %3 : tensor<2x32x2x2x8xf32>
  }
  return %0 : tensor<2x32x2x2x8xf32>
}

// The gradients go from that device back to the owner.
// CHECK-LABEL: func @window_backward
func.func @window_backward(%g: tensor<2x32x2x2x8xf32>, %q: tensor<2x32x2x2x8xf32>, %k: tensor<2x32x2x8xf32>, %v: tensor<2x32x2x8xf32>, %o: tensor<2x32x2x2x8xf32>, %l: tensor<2x32x2x2xf32>)
    -> (tensor<2x32x2x2x8xf32>, tensor<2x32x2x8xf32>, tensor<2x32x2x8xf32>) attributes {dist.local} {
  // CHECK-COUNT-2: dist.collective_permute %{{.*}} targets [1, 2, 3, 0]
  // CHECK-COUNT-2: nn.attention_backward causal window 16
  // CHECK-COUNT-2: dist.collective_permute %{{.*}} targets [3, 0, 1, 2]
  // CHECK-NOT: dist.collective_permute
  // CHECK: return
  %0:3 = dist.ring_attention (%g, %q, %k, %v, %o, %l) : (tensor<2x32x2x2x8xf32>, tensor<2x32x2x2x8xf32>, tensor<2x32x2x8xf32>, tensor<2x32x2x8xf32>, tensor<2x32x2x2x8xf32>, tensor<2x32x2x2xf32>) -> (tensor<2x32x2x2x8xf32>, tensor<2x32x2x8xf32>, tensor<2x32x2x8xf32>) {
  ^bb0(%e: tensor<2x32x2x2x8xf32>, %a: tensor<2x32x2x2x8xf32>, %b: tensor<2x32x2x8xf32>, %c: tensor<2x32x2x8xf32>, %d: tensor<2x32x2x2x8xf32>, %s: tensor<2x32x2x2xf32>):
    %p = dist.axis_offset <{"cp"}> size 32 on @four : index
    %1 = dist.all_gather %b dim 1 over <{"cp"}> on @four : tensor<2x32x2x8xf32> -> tensor<2x128x2x8xf32>
    %2 = dist.all_gather %c dim 1 over <{"cp"}> on @four : tensor<2x32x2x8xf32> -> tensor<2x128x2x8xf32>
    %dq, %dk, %dv = nn.attention_backward causal window 16 scale 0.25 %e, %a, %1, %2, %d, %s q_offset %p : tensor<2x32x2x2x8xf32>, tensor<2x128x2x8xf32>, tensor<2x128x2x8xf32>, tensor<2x32x2x2x8xf32>, tensor<2x32x2x2xf32>
    %3 = dist.reduce_scatter <sum> %dk dim 1 over <{"cp"}> on @four : tensor<2x128x2x8xf32> -> tensor<2x32x2x8xf32>
    %4 = dist.reduce_scatter <sum> %dv dim 1 over <{"cp"}> on @four : tensor<2x128x2x8xf32> -> tensor<2x32x2x8xf32>
    dist.yield %dq, %3, %4 : tensor<2x32x2x2x8xf32>, tensor<2x32x2x8xf32>, tensor<2x32x2x8xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<2x32x2x2x8xf32>, tensor<2x32x2x8xf32>, tensor<2x32x2x8xf32>
}

// In zig-zag order the own chunk is causal. For an earlier device's chunk all
// queries see the first half of the keys; for a later device's chunk the second
// half of the queries sees all keys. Both cases share an attention of halves:
// the device's number selects the operands.
// CHECK-LABEL: func @zigzag
// CHECK-SAME: (%[[Q:.*]]: tensor<2x8x2x2x8xf32>, %[[K:.*]]: tensor<2x8x2x8xf32>, %[[V:.*]]: tensor<2x8x2x8xf32>)
func.func @zigzag(%q: tensor<2x8x2x2x8xf32>, %k: tensor<2x8x2x8xf32>, %v: tensor<2x8x2x8xf32>) -> tensor<2x8x2x2x8xf32> attributes {dist.local} {
  // CHECK: %[[K1:.*]] = dist.collective_permute %[[K]]
  // CHECK: %[[V1:.*]] = dist.collective_permute %[[V]]
  // CHECK: %[[O:.*]], %[[L:.*]] = nn.attention causal scale 2.500000e-01 %[[Q]], %[[K]], %[[V]] :
  // CHECK: nn.attention scale 2.500000e-01 %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>,
  // CHECK: %[[I:.*]] = dist.axis_offset <{"cp"}> size 1
  // CHECK: %[[LATER:.*]] = arith.cmpi ult, %[[I]]
  // CHECK: %[[HALF:.*]] = arith.select %[[LATER]]
  // CHECK: tensor.extract_slice %[[Q]][0, %[[HALF]], 0, 0, 0]
  // CHECK: tensor.extract_slice %[[K1]][0, %[[HALF]], 0, 0]
  // CHECK: tensor.extract_slice %[[V1]][0, %[[HALF]], 0, 0]
  // CHECK: %{{.*}}, %[[L1:.*]] = nn.attention scale 2.500000e-01 %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x4x2x2x8xf32>, tensor<2x4x2x8xf32>,
  // CHECK: nn.mask_padding %[[L1]] dim 1 size 4 value 0xFF800000 : f32 offset %[[HALF]]
  // CHECK-NOT: nn.attention
  // CHECK: tensor.concat dim(1)
  %0 = dist.ring_attention (%q, %k, %v) : (tensor<2x8x2x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>) -> tensor<2x8x2x2x8xf32> {
  ^bb0(%a: tensor<2x8x2x2x8xf32>, %b: tensor<2x8x2x8xf32>, %c: tensor<2x8x2x8xf32>):
    %p = dist.axis_offset <{"cp"}> size 8 on @mesh : index
    %1 = dist.all_gather %b dim 1 over <{"cp"}> on @mesh : tensor<2x8x2x8xf32> -> tensor<2x16x2x8xf32>
    %2 = dist.all_gather %c dim 1 over <{"cp"}> on @mesh : tensor<2x8x2x8xf32> -> tensor<2x16x2x8xf32>
    %3 = nn.attention causal scale 0.25 order <shards = 2, size = 16> %a, %1, %2 q_offset %p : tensor<2x8x2x2x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32> -> tensor<2x8x2x2x8xf32>
    dist.yield %3 : tensor<2x8x2x2x8xf32>
  }
  return %0 : tensor<2x8x2x2x8xf32>
}

// Among four devices in zig-zag order a window of two reaches the neighbours on
// both sides, not the opposite device.
// CHECK-LABEL: func @zigzag_window
// CHECK: dist.collective_permute %{{.*}} targets [1, 2, 3, 0]
// CHECK: dist.collective_permute %{{.*}} targets [1, 2, 3, 0]
// CHECK: nn.attention causal window 2 scale 2.500000e-01 order <shards = 4, size = 32>
// CHECK: dist.collective_permute %{{.*}} targets [2, 3, 0, 1]
// CHECK: dist.collective_permute %{{.*}} targets [2, 3, 0, 1]
// CHECK: nn.attention causal window 2
// CHECK: nn.attention causal window 2
// CHECK-NOT: nn.attention
func.func @zigzag_window(%q: tensor<2x8x2x2x8xf32>, %k: tensor<2x8x2x8xf32>, %v: tensor<2x8x2x8xf32>) -> tensor<2x8x2x2x8xf32> attributes {dist.local} {
  %0 = dist.ring_attention (%q, %k, %v) : (tensor<2x8x2x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>) -> tensor<2x8x2x2x8xf32> {
  ^bb0(%a: tensor<2x8x2x2x8xf32>, %b: tensor<2x8x2x8xf32>, %c: tensor<2x8x2x8xf32>):
    %p = dist.axis_offset <{"cp"}> size 8 on @four : index
    %1 = dist.all_gather %b dim 1 over <{"cp"}> on @four : tensor<2x8x2x8xf32> -> tensor<2x32x2x8xf32>
    %2 = dist.all_gather %c dim 1 over <{"cp"}> on @four : tensor<2x8x2x8xf32> -> tensor<2x32x2x8xf32>
    %3 = nn.attention causal window 2 scale 0.25 order <shards = 4, size = 32> %a, %1, %2 q_offset %p : tensor<2x8x2x2x8xf32>, tensor<2x32x2x8xf32>, tensor<2x32x2x8xf32> -> tensor<2x8x2x2x8xf32>
    dist.yield %3 : tensor<2x8x2x2x8xf32>
  }
  return %0 : tensor<2x8x2x2x8xf32>
}
