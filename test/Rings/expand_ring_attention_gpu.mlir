// RUN: tessera-opt %s --dist-expand-ring-attention | FileCheck %s
// RUN: sed 's/rt.target = "cuda"//' %s | tessera-opt --dist-expand-ring-attention | FileCheck %s --check-prefix=HOST

// Gradients of a step have the operands' type on a GPU, f32 on the host. Halves
// are summed separately, in f32, starting with the received sums, and sent as one.
// CHECK-LABEL: func @zigzag_backward
// CHECK: %[[OWN:.*]], %{{.*}}, %{{.*}} = nn.attention_backward causal {{.*}} tensor<2x8x2x2xf32>{{ *$}}
// CHECK: %[[DQ:.*]] = tensor.extract_slice %[[OWN]][0, 0, 0, 0, 0]
// CHECK-COUNT-2: nn.attention_backward scale {{.*}} tensor<2x4x2x2xf32>{{ *$}}
// CHECK: %[[SUM0:.*]] = arith.extf %[[DQ]]
// CHECK: arith.addf %[[SUM0]]
// CHECK: %[[SENT:.*]] = tensor.concat dim(1) {{.*}} -> tensor<2x8x2x8xf32>
// CHECK: %[[RECEIVED:.*]] = dist.collective_permute %[[SENT]] targets [1, 2, 0] {{.*}} -> tensor<2x8x2x8xf32>
// CHECK: %[[FIRST:.*]] = tensor.extract_slice %[[RECEIVED]][0, 0, 0, 0]
// CHECK: %[[SUM:.*]] = arith.addf %[[FIRST]]
// CHECK: tensor.concat dim(1) %[[SUM]]
// CHECK: %[[A:.*]] = arith.truncf
// CHECK: %[[B:.*]] = arith.truncf
// CHECK: tensor.concat dim(1) %[[A]], %[[B]] {{.*}} -> tensor<2x8x2x2x8xbf16>
// HOST-COUNT-5: nn.attention_backward {{.*}} -> tensor<{{.*}}xf32>, tensor<{{.*}}xf32>, tensor<{{.*}}xf32>
module attributes {rt.target = "cuda"} {
  dist.mesh @mesh ["cp"=3]
  func.func @zigzag_backward(%g: tensor<2x8x2x2x8xbf16>, %q: tensor<2x8x2x2x8xbf16>, %k: tensor<2x8x2x8xbf16>, %v: tensor<2x8x2x8xbf16>, %o: tensor<2x8x2x2x8xbf16>, %l: tensor<2x8x2x2xf32>)
      -> (tensor<2x8x2x2x8xbf16>, tensor<2x8x2x8xbf16>, tensor<2x8x2x8xbf16>) attributes {dist.local} {
    %0:3 = dist.ring_attention (%g, %q, %k, %v, %o, %l) : (tensor<2x8x2x2x8xbf16>, tensor<2x8x2x2x8xbf16>, tensor<2x8x2x8xbf16>, tensor<2x8x2x8xbf16>, tensor<2x8x2x2x8xbf16>, tensor<2x8x2x2xf32>) -> (tensor<2x8x2x2x8xbf16>, tensor<2x8x2x8xbf16>, tensor<2x8x2x8xbf16>) {
    ^bb0(%e: tensor<2x8x2x2x8xbf16>, %a: tensor<2x8x2x2x8xbf16>, %b: tensor<2x8x2x8xbf16>, %c: tensor<2x8x2x8xbf16>, %d: tensor<2x8x2x2x8xbf16>, %s: tensor<2x8x2x2xf32>):
      %p = dist.axis_offset <{"cp"}> size 8 on @mesh : index
      %1 = dist.all_gather %b dim 1 over <{"cp"}> on @mesh : tensor<2x8x2x8xbf16> -> tensor<2x24x2x8xbf16>
      %2 = dist.all_gather %c dim 1 over <{"cp"}> on @mesh : tensor<2x8x2x8xbf16> -> tensor<2x24x2x8xbf16>
      %dq, %dk, %dv = nn.attention_backward causal scale 0.25 order <shards = 3, size = 24> %e, %a, %1, %2, %d, %s q_offset %p : tensor<2x8x2x2x8xbf16>, tensor<2x24x2x8xbf16>, tensor<2x24x2x8xbf16>, tensor<2x8x2x2x8xbf16>, tensor<2x8x2x2xf32>
      %3 = dist.reduce_scatter <sum> %dk dim 1 over <{"cp"}> on @mesh : tensor<2x24x2x8xbf16> -> tensor<2x8x2x8xbf16>
      %4 = dist.reduce_scatter <sum> %dv dim 1 over <{"cp"}> on @mesh : tensor<2x24x2x8xbf16> -> tensor<2x8x2x8xbf16>
      dist.yield %dq, %3, %4 : tensor<2x8x2x2x8xbf16>, tensor<2x8x2x8xbf16>, tensor<2x8x2x8xbf16>
    }
    return %0#0, %0#1, %0#2 : tensor<2x8x2x2x8xbf16>, tensor<2x8x2x8xbf16>, tensor<2x8x2x8xbf16>
  }
}
