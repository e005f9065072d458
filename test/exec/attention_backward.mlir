// Gradients of attention sharded over each of its dimensions.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @batch
// CHECK-COUNT-3: yes
// CHECK-NEXT: no collectives
func.func @batch(
    %g: tensor<2x5x2x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
    %q: tensor<2x5x2x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
    %k: tensor<2x6x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>},
    %v: tensor<2x6x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>},
    %o: tensor<2x5x2x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
    %l: tensor<2x5x2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>})
    -> (tensor<2x5x2x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}, {}]>},
        tensor<2x6x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>},
        tensor<2x6x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}, {}]>}) {
  %0:3 = nn.attention_backward scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<2x5x2x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x3xf32>,
        tensor<2x5x2x2x3xf32>, tensor<2x5x2x2xf32>
  return %0#0, %0#1, %0#2 : tensor<2x5x2x2x4xf32>, tensor<2x6x2x4xf32>, tensor<2x6x2x3xf32>
}

// Groups need no communication; dk and dv are sums over the heads of a group.
// CHECK-LABEL: @heads
// CHECK-COUNT-3: yes
// CHECK-NEXT: collective
// CHECK-NEXT: all_reduce 2
func.func @heads(
    %g: tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>},
    %q: tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>},
    %k: tensor<2x5x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %v: tensor<2x5x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %o: tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>},
    %l: tensor<2x5x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}]>})
    -> (tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {"x"}, {}]>},
        tensor<2x5x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
        tensor<2x5x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>}) {
  %0:3 = nn.attention_backward causal scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<2x5x4x2x4xf32>, tensor<2x5x4x4xf32>, tensor<2x5x4x4xf32>,
        tensor<2x5x4x2x4xf32>, tensor<2x5x4x2xf32>
  return %0#0, %0#1, %0#2 : tensor<2x5x4x2x4xf32>, tensor<2x5x4x4xf32>, tensor<2x5x4x4xf32>
}

// Three groups on four ranks.
// CHECK-LABEL: @uneven_groups
// CHECK-COUNT-3: yes
// CHECK-NEXT: no collectives
func.func @uneven_groups(
    %g: tensor<2x5x3x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}, {}]>},
    %q: tensor<2x5x3x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}, {}]>},
    %k: tensor<2x5x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %v: tensor<2x5x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
    %o: tensor<2x5x3x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}, {}]>},
    %l: tensor<2x5x3x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>})
    -> (tensor<2x5x3x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}, {}]>},
        tensor<2x5x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>},
        tensor<2x5x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}, {}]>}) {
  %0:3 = nn.attention_backward causal scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<2x5x3x1x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>,
        tensor<2x5x3x1x4xf32>, tensor<2x5x3x1xf32>
  return %0#0, %0#1, %0#2 : tensor<2x5x3x1x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>
}

// Three heads on two ranks: the padded one adds nothing to dk and dv.
// CHECK-LABEL: @uneven_heads
// CHECK-COUNT-3: yes
// CHECK-NEXT: collective
// CHECK-NEXT: all_reduce 2
func.func @uneven_heads(
    %g: tensor<1x5x2x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}, {}]>},
    %q: tensor<1x5x2x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}, {}]>},
    %k: tensor<1x5x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %v: tensor<1x5x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %o: tensor<1x5x2x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}, {}]>},
    %l: tensor<1x5x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}]>})
    -> (tensor<1x5x2x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}, {}]>},
        tensor<1x5x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
        tensor<1x5x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>}) {
  %0:3 = nn.attention_backward scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<1x5x2x3x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>,
        tensor<1x5x2x3x4xf32>, tensor<1x5x2x3xf32>
  return %0#0, %0#1, %0#2 : tensor<1x5x2x3x4xf32>, tensor<1x5x2x4xf32>, tensor<1x5x2x4xf32>
}

// dk and dv are sums over queries, which know their positions: one bucket.
// CHECK-LABEL: @queries
// CHECK-COUNT-3: yes
// CHECK-NEXT: collective
// CHECK-NEXT: all_reduce 1
func.func @queries(
    %g: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %q: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %k: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %v: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %o: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %l: tensor<1x8x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
        tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
        tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>}) {
  %0:3 = nn.attention_backward causal scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>,
        tensor<1x8x2x1x4xf32>, tensor<1x8x2x1xf32>
  return %0#0, %0#1, %0#2 : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
}

// A sequence that does not divide: padded queries are masked.
// CHECK-LABEL: @uneven_queries
// CHECK-COUNT-3: yes
// CHECK-NEXT: collective
// CHECK-NEXT: all_reduce 2
func.func @uneven_queries(
    %g: tensor<1x7x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %q: tensor<1x7x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %k: tensor<1x9x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %v: tensor<1x9x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %o: tensor<1x7x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %l: tensor<1x7x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<1x7x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
        tensor<1x9x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
        tensor<1x9x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>}) {
  %0:3 = nn.attention_backward scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<1x7x2x1x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>,
        tensor<1x7x2x1x4xf32>, tensor<1x7x2x1xf32>
  return %0#0, %0#1, %0#2 : tensor<1x7x2x1x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>
}

// dq is a sum over keys, which know their positions.
// CHECK-LABEL: @keys
// CHECK-COUNT-3: yes
// CHECK-NEXT: collective
// CHECK-NEXT: all_reduce 1
func.func @keys(
    %g: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
    %q: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
    %k: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %o: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
    %l: tensor<1x8x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>})
    -> (tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
        tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
        tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>}) {
  %0:3 = nn.attention_backward causal scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>,
        tensor<1x8x2x1x4xf32>, tensor<1x8x2x1xf32>
  return %0#0, %0#1, %0#2 : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
}

// No query sees padded keys.
// CHECK-LABEL: @uneven_keys
// CHECK-COUNT-3: yes
// CHECK-NEXT: collective
// CHECK-NEXT: all_reduce 1
func.func @uneven_keys(
    %g: tensor<1x5x2x1x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
    %q: tensor<1x5x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
    %k: tensor<1x7x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x7x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %o: tensor<1x5x2x1x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
    %l: tensor<1x5x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>})
    -> (tensor<1x5x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
        tensor<1x7x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
        tensor<1x7x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>}) {
  %0:3 = nn.attention_backward scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<1x5x2x1x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x3xf32>,
        tensor<1x5x2x1x3xf32>, tensor<1x5x2x1xf32>
  return %0#0, %0#1, %0#2 : tensor<1x5x2x1x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x3xf32>
}

// CHECK-LABEL: @queries_and_keys
// CHECK-COUNT-3: yes
// CHECK: all_reduce 2
func.func @queries_and_keys(
    %g: tensor<1x6x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>},
    %q: tensor<1x6x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>},
    %k: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %o: tensor<1x6x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>},
    %l: tensor<1x6x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>})
    -> (tensor<1x6x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>},
        tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
        tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>}) {
  %0:3 = nn.attention_backward causal scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<1x6x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>,
        tensor<1x6x2x1x4xf32>, tensor<1x6x2x1xf32>
  return %0#0, %0#1, %0#2 : tensor<1x6x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
}

// One axis for queries and keys: one of them is gathered.
// CHECK-LABEL: @sequence
// CHECK-COUNT-3: yes
// CHECK: all_gather
func.func @sequence(
    %g: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %q: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %k: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %o: tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
    %l: tensor<1x8x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<1x8x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}, {}]>},
        tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
        tensor<1x8x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>}) {
  %0:3 = nn.attention_backward causal scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>,
        tensor<1x8x2x1x4xf32>, tensor<1x8x2x1xf32>
  return %0#0, %0#1, %0#2 : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
}

// Scores contract the dim, their gradients the value dim.
// CHECK-LABEL: @dim
// CHECK-COUNT-3: yes
// CHECK-NEXT: collective
// CHECK-NEXT: all_reduce 3
func.func @dim(
    %g: tensor<1x5x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {"x"}]>},
    %q: tensor<1x5x2x1x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {"y"}]>},
    %k: tensor<1x6x2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"y"}]>},
    %v: tensor<1x6x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}]>},
    %o: tensor<1x5x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {"x"}]>},
    %l: tensor<1x5x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>})
    -> (tensor<1x5x2x1x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {"y"}]>},
        tensor<1x6x2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"y"}]>},
        tensor<1x6x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}]>}) {
  %0:3 = nn.attention_backward scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<1x5x2x1x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x4xf32>,
        tensor<1x5x2x1x4xf32>, tensor<1x5x2x1xf32>
  return %0#0, %0#1, %0#2 : tensor<1x5x2x1x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x4xf32>
}

// Neither divides.
// CHECK-LABEL: @uneven_dim
// CHECK-COUNT-3: yes
// CHECK-NEXT: collective
// CHECK-NEXT: all_reduce 3
func.func @uneven_dim(
    %g: tensor<1x5x2x1x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {"x"}]>},
    %q: tensor<1x5x2x1x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {"y"}]>},
    %k: tensor<1x6x2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"y"}]>},
    %v: tensor<1x6x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}]>},
    %o: tensor<1x5x2x1x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {"x"}]>},
    %l: tensor<1x5x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>})
    -> (tensor<1x5x2x1x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {"y"}]>},
        tensor<1x6x2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"y"}]>},
        tensor<1x6x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"x"}]>}) {
  %0:3 = nn.attention_backward scale 0.5 %g, %q, %k, %v, %o, %l
      : tensor<1x5x2x1x6xf32>, tensor<1x6x2x6xf32>, tensor<1x6x2x3xf32>,
        tensor<1x5x2x1x3xf32>, tensor<1x5x2x1xf32>
  return %0#0, %0#1, %0#2 : tensor<1x5x2x1x6xf32>, tensor<1x6x2x6xf32>, tensor<1x6x2x3xf32>
}
