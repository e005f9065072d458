// Attention in zig-zag order over devices that do not divide its chunks: shards
// of 3 of 12 elements in chunks of 2, followed by three elements of padding. Keys
// are gathered, or go around a ring; padding is after all positions either way.
// RUN: tessera verify %s --passes "tessera-propagate,tessera-partition,dist-expand-ring-attention,dist-expand-order" --no-proof | FileCheck %s
// RUN: sed 's/factors = /ring = #dist.axes<{"x"}>, dist.factors = /' %s > %t.ring.mlir
// RUN: tessera verify %t.ring.mlir --passes "tessera-propagate,tessera-partition,dist-expand-ring-attention,dist-expand-order" --no-proof | FileCheck %s --check-prefixes=CHECK,RING
// CHECK: @f: 5 ranks
// CHECK-COUNT-4: yes
// CHECK-NOT: NO
// RING: collective_permute
dist.mesh @mesh ["x"=5]
func.func @f(%q: tensor<1x12x1x1x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>},
             %k: tensor<1x12x1x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
             %v: tensor<1x12x1x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
             %g: tensor<1x12x1x1x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>})
    -> (tensor<1x12x1x1x2xf32>, tensor<1x12x1x1x2xf32>,
        tensor<1x12x1x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
        tensor<1x12x1x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %o, %l = nn.attention causal scale 0.5 order <shards = 3, size = 12> %q, %k, %v {dist.factors = [#dist.axes<{}>, #dist.axes<{"x"}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>]} : tensor<1x12x1x1x2xf32>, tensor<1x12x1x2xf32>, tensor<1x12x1x2xf32> -> tensor<1x12x1x1x2xf32> stats tensor<1x12x1x1xf32>
  %dq, %dk, %dv = nn.attention_backward causal scale 0.5 order <shards = 3, size = 12> %g, %q, %k, %v, %o, %l {dist.factors = [#dist.axes<{}>, #dist.axes<{"x"}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>]} : tensor<1x12x1x1x2xf32>, tensor<1x12x1x2xf32>, tensor<1x12x1x2xf32>, tensor<1x12x1x1x2xf32>, tensor<1x12x1x1xf32>
  return %o, %dq, %dk, %dv : tensor<1x12x1x1x2xf32>, tensor<1x12x1x1x2xf32>, tensor<1x12x1x2xf32>, tensor<1x12x1x2xf32>
}
