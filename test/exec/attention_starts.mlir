// Attention within documents, and its gradients, sharded over each of their
// dimensions: starts are sharded like queries.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @batch
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @batch(
    %q: tensor<2x9x2x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
    %k: tensor<2x9x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>},
    %v: tensor<2x9x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>},
    %s: tensor<2x9xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2x9x2x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>}) {
  %0 = nn.attention causal scale 0.5 %q, %k, %v starts %s : tensor<2x9xi32> : tensor<2x9x2x2x4xf32>, tensor<2x9x2x4xf32>, tensor<2x9x2x3xf32> -> tensor<2x9x2x2x3xf32>
  return %0 : tensor<2x9x2x2x3xf32>
}

// Positions of keys do not move with the queries.
// CHECK-LABEL: @queries
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @queries(
    %q: tensor<1x16x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %k: tensor<1x16x2x4xf32>, %v: tensor<1x16x2x4xf32>,
    %s: tensor<1x16xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<1x16x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>}) {
  %0 = nn.attention causal window 5 scale 0.5 %q, %k, %v starts %s : tensor<1x16xi32> : tensor<1x16x2x1x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32> -> tensor<1x16x2x1x4xf32>
  return %0 : tensor<1x16x2x1x4xf32>
}

// The same holds if there is no causal mask.
// CHECK-LABEL: @keys
// CHECK: yes
func.func @keys(%q: tensor<1x8x2x1x4xf32>,
    %k: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %s: tensor<1x8xi32>)
    -> (tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>}) {
  %0 = nn.attention scale 0.5 %q, %k, %v starts %s : tensor<1x8xi32> : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x8x2x1x4xf32>
  return %0 : tensor<1x8x2x1x4xf32>
}

// CHECK-LABEL: @heads
// CHECK: yes
func.func @heads(
    %q: tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>},
    %k: tensor<2x5x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %v: tensor<2x5x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %s: tensor<2x5xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>}) {
  %0 = nn.attention causal scale 0.5 %q, %k, %v starts %s : tensor<2x5xi32> : tensor<2x5x4x2x4xf32>, tensor<2x5x4x4xf32>, tensor<2x5x4x4xf32> -> tensor<2x5x4x2x4xf32>
  return %0 : tensor<2x5x4x2x4xf32>
}

// Gradients: by queries and keys that do not divide.
// CHECK-LABEL: @uneven_gradients
// CHECK: yes
func.func @uneven_gradients(
    %g: tensor<1x7x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %q: tensor<1x7x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %k: tensor<1x7x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x7x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %s: tensor<1x7xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<1x7x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
        tensor<1x7x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
        tensor<1x7x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>}) {
  %o, %l = nn.attention causal scale 0.5 %q, %k, %v starts %s : tensor<1x7xi32> : tensor<1x7x2x1x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x4xf32> -> tensor<1x7x2x1x4xf32> stats tensor<1x7x2x1xf32>
  %dq, %dk, %dv = nn.attention_backward causal scale 0.5 %g, %q, %k, %v, %o, %l starts %s : tensor<1x7xi32> : tensor<1x7x2x1x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x1x4xf32>, tensor<1x7x2x1xf32>
  return %dq, %dk, %dv : tensor<1x7x2x1x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x4xf32>
}

// Gradients of keys: each device's own, from all queries.
// CHECK-LABEL: @key_gradients
// CHECK: yes
func.func @key_gradients(
    %g: tensor<2x8x2x2x4xf32>, %q: tensor<2x8x2x2x4xf32>,
    %k: tensor<2x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<2x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %o: tensor<2x8x2x2x4xf32>, %l: tensor<2x8x2x2xf32>, %s: tensor<2x8xi32>)
    -> (tensor<2x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
        tensor<2x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>}) {
  %dq, %dk, %dv = nn.attention_backward causal scale 0.5 %g, %q, %k, %v, %o, %l starts %s : tensor<2x8xi32> : tensor<2x8x2x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x2x4xf32>, tensor<2x8x2x2xf32>
  return %dk, %dv : tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>
}
