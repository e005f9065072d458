// Experts, their rows and gradients, sharded along each of their dimensions:
// tokens, experts (6 of them do not divide), ffn and widths.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// Expert parallelism: ids, gates and x are gathered, and each device adds the
// experts that it holds.
// CHECK-LABEL: @experts_over_batch
// CHECK: yes
// CHECK-DAG: all_gather 3
// CHECK-DAG: reduce_scatter 1
// CHECK: proven
func.func @experts_over_batch(
    %x: tensor<4x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %i: tensor<4x3x2xi32> {nn.input = "ids", nn.vocab = 8 : i64, dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %g: tensor<4x3x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %a: tensor<8x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %b: tensor<8x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %c: tensor<8x10x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>})
    -> (tensor<4x3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>}) {
  %0 = nn.experts <silu> of 8 %x, %i, %g, %a, %b, %c
      {dist.factors = [#dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"y"}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>]}
      : tensor<4x3x6xf32>, tensor<4x3x2xi32>, tensor<4x3x2xf32>, tensor<8x6x10xf32>,
        tensor<8x10x5xf32> -> tensor<4x3x5xf32>
  return %0 : tensor<4x3x5xf32>
}

// Weights that stay where they are: no factors are told, bytes decide.
// CHECK-LABEL: @six_experts
// CHECK: yes
// CHECK: proven
func.func @six_experts(
    %x: tensor<40x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<40x3xi32> {nn.input = "ids", nn.vocab = 6 : i64, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %g: tensor<40x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %a: tensor<6x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %b: tensor<6x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %c: tensor<6x10x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>})
    -> (tensor<40x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = nn.experts <gelu> of 6 %x, %i, %g, %a, %b, %c
      : tensor<40x6xf32>, tensor<40x3xi32>, tensor<40x3xf32>, tensor<6x6x10xf32>,
        tensor<6x10x5xf32> -> tensor<40x5xf32>
  return %0 : tensor<40x5xf32>
}

// The ffn over one axis, experts over the other: both are summed.
// CHECK-LABEL: @experts_and_ffn
// CHECK: yes
// CHECK: all_reduce 1
// CHECK: proven
func.func @experts_and_ffn(
    %x: tensor<12x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %i: tensor<12x2xi32> {nn.input = "ids", nn.vocab = 8 : i64, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %g: tensor<12x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %a: tensor<8x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}]>},
    %b: tensor<8x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}]>},
    %c: tensor<8x10x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>})
    -> (tensor<12x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.experts <gelu_tanh> of 8 %x, %i, %g, %a, %b, %c
      : tensor<12x6xf32>, tensor<12x2xi32>, tensor<12x2xf32>, tensor<8x6x10xf32>,
        tensor<8x10x5xf32> -> tensor<12x5xf32>
  return %0 : tensor<12x5xf32>
}

// Stats keep the experts of their device, whole where the width of y is sharded.
// CHECK-LABEL: @stats
// CHECK: yes
// CHECK: proven
func.func @stats(
    %x: tensor<12x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %i: tensor<12x2xi32> {nn.input = "ids", nn.vocab = 8 : i64, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %g: tensor<12x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %a: tensor<8x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %b: tensor<8x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %c: tensor<8x10x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {"x"}]>})
    -> (tensor<12x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
        tensor<12x8x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>},
        tensor<12x8x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>}) {
  %0, %1, %2 = nn.experts <silu> of 8 %x, %i, %g, %a, %b, %c
      : tensor<12x6xf32>, tensor<12x2xi32>, tensor<12x2xf32>, tensor<8x6x10xf32>,
        tensor<8x10x5xf32> -> tensor<12x5xf32> stats tensor<12x8x10xf32>, tensor<12x8x10xf32>
  return %0, %1, %2 : tensor<12x5xf32>, tensor<12x8x10xf32>, tensor<12x8x10xf32>
}

// CHECK-LABEL: @rows
// CHECK: yes
// CHECK: no collectives
// CHECK: proven
func.func @rows(
    %x: tensor<12x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<12x2xi32> {nn.input = "ids", nn.vocab = 6 : i64, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<12x6x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>}) {
  %0 = nn.expert_rows %x, %i : tensor<12x6xf32>, tensor<12x2xi32> -> tensor<12x6x6xf32>
  return %0 : tensor<12x6x6xf32>
}

// The gradients of x and of gates are sums over devices, those of stats stay.
// CHECK-LABEL: @backward
// CHECK: yes
// CHECK: proven
func.func @backward(
    %y: tensor<12x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<12x2xi32> {nn.input = "ids", nn.vocab = 6 : i64, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %g: tensor<12x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %a: tensor<6x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %b: tensor<6x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %c: tensor<6x10x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
    %s: tensor<12x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>})
    -> (tensor<12x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
        tensor<12x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
        tensor<12x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>},
        tensor<12x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>}) {
  %0, %1, %2, %3 = nn.experts_backward <silu> of 6 %y, %i, %g, %a, %b, %c, %s, %s
      : tensor<12x5xf32>, tensor<12x2xi32>, tensor<12x2xf32>, tensor<6x6x10xf32>,
        tensor<6x10x5xf32>, tensor<12x6x10xf32> -> tensor<12x6xf32>
  return %0, %1, %2, %3 : tensor<12x6xf32>, tensor<12x2xf32>, tensor<12x6x10xf32>, tensor<12x6x10xf32>
}

// Nine tokens on two devices: rows of padding add nothing.
// CHECK-LABEL: @weight_gradient
// CHECK: yes
// CHECK: all_reduce
// CHECK: proven
func.func @weight_gradient(
    %r: tensor<9x8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>},
    %y: tensor<9x8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>},
    %i: tensor<9x2xi32> {nn.input = "ids", nn.vocab = 8 : i64, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %g: tensor<9x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %s: tensor<9x8x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>})
    -> (tensor<8x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
        tensor<8x6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>},
        tensor<8x10x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}, {}]>}) {
  %0, %1, %2 = nn.experts_weight_gradient <gelu> of 8 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<9x8x6xf32>, tensor<9x8x5xf32>, tensor<9x2xi32>, tensor<9x2xf32>, tensor<9x8x10xf32>
        -> tensor<8x6x10xf32>, tensor<8x10x5xf32>
  return %0, %1, %2 : tensor<8x6x10xf32>, tensor<8x6x10xf32>, tensor<8x10x5xf32>
}

// Routing: rows of scores are whole, gates are picked where scores are.
// CHECK-LABEL: @routing
// CHECK: yes
// CHECK: no collectives
// CHECK: proven
func.func @routing(%x: tensor<9x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<9x4xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
        tensor<9x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %i = nn.top_k 4 groups 2 of 4 by <sum2> %x : tensor<9x16xf32> -> tensor<9x4xi32>
  %g = nn.take_along_axis %x, %i : tensor<9x16xf32>, tensor<9x4xi32> -> tensor<9x4xf32>
  return %i, %g : tensor<9x4xi32>, tensor<9x4xf32>
}

// Scores that are sharded by expert are gathered.
// CHECK-LABEL: @routing_of_shards
// CHECK: yes
// CHECK: all_gather
// CHECK: proven
func.func @routing_of_shards(%x: tensor<9x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<9x4xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %i = nn.top_k 4 smallest %x : tensor<9x16xf32> -> tensor<9x4xi32>
  return %i : tensor<9x4xi32>
}

// Each device holds some positions, and the others are 0 in its part.
// CHECK-LABEL: @several_picks
// CHECK: yes
// CHECK: all_reduce 1
// CHECK: proven
func.func @several_picks(
    %x: tensor<9x11xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %i: tensor<9x3xi32> {nn.input = "ids", nn.vocab = 11 : i64, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<9x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %g = nn.take_along_axis %x, %i : tensor<9x11xf32>, tensor<9x3xi32> -> tensor<9x3xf32>
  return %g : tensor<9x3xf32>
}

// CHECK-LABEL: @several_picks_backward
// CHECK: yes
// CHECK: proven
func.func @several_picks_backward(
    %d: tensor<9x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %i: tensor<9x4xi32> {nn.input = "ids", nn.vocab = 11 : i64, dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<9x11xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = nn.take_along_axis_backward %d, %i : tensor<9x4xf32>, tensor<9x4xi32> -> tensor<9x11xf32>
  return %0 : tensor<9x11xf32>
}

// Sequences that are sharded are gathered before they are counted.
// CHECK-LABEL: @capacity
// CHECK: yes
// CHECK: all_gather 2
// CHECK: proven
func.func @capacity(
    %i: tensor<4x8x2xi32> {nn.input = "ids", nn.vocab = 4 : i64, dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>},
    %s: tensor<4x8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>})
    -> (tensor<4x8x2xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>}) {
  %0 = nn.expert_capacity 3 of 4 %i, %s : tensor<4x8x2xi32>, tensor<4x8x2xf32>
  return %0 : tensor<4x8x2xi32>
}
