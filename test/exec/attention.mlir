// Attention sharded over each of its dimensions.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @batch
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @batch(
    %q: tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
    %k: tensor<2x6x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>},
    %v: tensor<2x6x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>})
    -> (tensor<2x5x4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>}) {
  %0 = nn.attention scale 0.5 %q, %k, %v : tensor<2x5x4x2x4xf32>, tensor<2x6x4x4xf32>, tensor<2x6x4x3xf32> -> tensor<2x5x4x2x3xf32>
  return %0 : tensor<2x5x4x2x3xf32>
}

// Groups and heads of a group.
// CHECK-LABEL: @heads
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @heads(
    %q: tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>},
    %k: tensor<2x5x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %v: tensor<2x5x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>})
    -> (tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>}) {
  %0 = nn.attention causal scale 0.5 %q, %k, %v : tensor<2x5x4x2x4xf32>, tensor<2x5x4x4xf32>, tensor<2x5x4x4xf32> -> tensor<2x5x4x2x4xf32>
  return %0 : tensor<2x5x4x2x4xf32>
}

// Three groups on four ranks.
// CHECK-LABEL: @uneven_groups
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @uneven_groups(
    %q: tensor<2x5x3x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}, {}]>},
    %k: tensor<2x5x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %v: tensor<2x5x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>})
    -> (tensor<2x5x3x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}, {}]>}) {
  %0 = nn.attention causal scale 0.5 %q, %k, %v : tensor<2x5x3x1x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32> -> tensor<2x5x3x1x4xf32>
  return %0 : tensor<2x5x3x1x4xf32>
}

// Queries: the causal mask needs their positions.
// CHECK-LABEL: @queries
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @queries(
    %q: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %k: tensor<1x8x2x4xf32>, %v: tensor<1x8x2x4xf32>)
    -> (tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>}) {
  %0 = nn.attention causal scale 0.5 %q, %k, %v : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x8x2x1x4xf32>
  return %0 : tensor<1x8x2x1x4xf32>
}

// Queries and keys of one sequence that does not divide.
// CHECK-LABEL: @uneven_sequence
// CHECK: yes
func.func @uneven_sequence(
    %q: tensor<1x7x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %k: tensor<1x7x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x7x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<1x7x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>}) {
  %0 = nn.attention causal scale 0.5 %q, %k, %v : tensor<1x7x2x1x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x4xf32> -> tensor<1x7x2x1x4xf32>
  return %0 : tensor<1x7x2x1x4xf32>
}

// Keys only.
// CHECK-LABEL: @keys
// CHECK: yes
func.func @keys(%q: tensor<1x3x2x1x4xf32>,
    %k: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<1x3x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>}) {
  %0 = nn.attention scale 0.5 %q, %k, %v : tensor<1x3x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x3x2x1x4xf32>
  return %0 : tensor<1x3x2x1x4xf32>
}

// Keys that do not divide: no query sees the padding.
// CHECK-LABEL: @uneven_keys
// CHECK: yes
func.func @uneven_keys(%q: tensor<1x3x2x1x4xf32>,
    %k: tensor<1x6x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x6x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<1x3x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>}) {
  %0 = nn.attention scale 0.5 %q, %k, %v : tensor<1x3x2x1x4xf32>, tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32> -> tensor<1x3x2x1x4xf32>
  return %0 : tensor<1x3x2x1x4xf32>
}

// The dimension that the scores contract.
// CHECK-LABEL: @head_dim
// CHECK: yes
func.func @head_dim(
    %q: tensor<1x3x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {"x"}]>},
    %k: tensor<1x3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}]>},
    %v: tensor<1x3x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}]>})
    -> (tensor<1x3x2x1x4xf32>) {
  %0 = nn.attention causal scale 0.5 %q, %k, %v : tensor<1x3x2x1x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32> -> tensor<1x3x2x1x4xf32>
  return %0 : tensor<1x3x2x1x4xf32>
}
