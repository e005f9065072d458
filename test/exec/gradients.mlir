// Gradients of norms, lookups, the loss and activations, sharded over each of
// their dimensions.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @layer_norm_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @layer_norm_rows(
    %d: tensor<3x5x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>},
    %x: tensor<3x5x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>},
    %g: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %m: tensor<3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %r: tensor<3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<3x5x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>}) {
  %0 = nn.layer_norm_backward %d, %x, %g, %m, %r : tensor<3x5x12xf32>, tensor<12xf32>, tensor<3x5xf32>
  return %0 : tensor<3x5x12xf32>
}

// CHECK-LABEL: @layer_norm_hidden
// CHECK: yes
// CHECK: all_reduce
func.func @layer_norm_hidden(
    %d: tensor<3x4x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x"}]>},
    %x: tensor<3x4x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x"}]>},
    %g: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %m: tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %r: tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<3x4x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {"x"}]>}) {
  %0 = nn.layer_norm_backward %d, %x, %g, %m, %r : tensor<3x4x12xf32>, tensor<12xf32>, tensor<3x4xf32>
  return %0 : tensor<3x4x12xf32>
}

// The means divide by the true size and count no padding.
// CHECK-LABEL: @layer_norm_uneven
// CHECK: yes
// CHECK: all_reduce
func.func @layer_norm_uneven(
    %d: tensor<3x4x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>},
    %x: tensor<3x4x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>},
    %g: tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %m: tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %r: tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<3x4x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>}) {
  %0 = nn.layer_norm_backward %d, %x, %g, %m, %r : tensor<3x4x10xf32>, tensor<10xf32>, tensor<3x4xf32>
  return %0 : tensor<3x4x10xf32>
}

// CHECK-LABEL: @rms_norm_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @rms_norm_rows(
    %d: tensor<3x5x12xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>},
    %x: tensor<3x5x12xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>},
    %g: tensor<12xbf16> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %r: tensor<3x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<3x5x12xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}]>}) {
  %0 = nn.rms_norm_backward %d, %x, %g, %r : tensor<3x5x12xbf16>, tensor<12xbf16>, tensor<3x5xf32>
  return %0 : tensor<3x5x12xbf16>
}

// CHECK-LABEL: @rms_norm_uneven
// CHECK: yes
// CHECK: all_reduce
func.func @rms_norm_uneven(
    %d: tensor<3x4x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>},
    %x: tensor<3x4x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>},
    %g: tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %r: tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<3x4x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"y"}]>}) {
  %0 = nn.rms_norm_backward %d, %x, %g, %r : tensor<3x4x10xf32>, tensor<10xf32>, tensor<3x4xf32>
  return %0 : tensor<3x4x10xf32>
}

// Each rank sums its own tokens.
// CHECK-LABEL: @embedding_tokens
// CHECK: yes
// CHECK: all_reduce 1
func.func @embedding_tokens(
    %g: tensor<4x3x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>},
    %i: tensor<4x3xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.embedding_backward %g, %i : tensor<4x3x6xf32>, tensor<4x3xi32> -> tensor<11x6xf32>
  return %0 : tensor<11x6xf32>
}

// The padding of the tokens never counts.
// CHECK-LABEL: @embedding_uneven_tokens
// CHECK: yes
// CHECK: all_reduce 1
func.func @embedding_uneven_tokens(
    %g: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<7xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.embedding_backward %g, %i : tensor<7x6xf32>, tensor<7xi32> -> tensor<11x6xf32>
  return %0 : tensor<11x6xf32>
}

// CHECK-LABEL: @embedding_width
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @embedding_width(
    %g: tensor<5x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %i: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = nn.embedding_backward %g, %i : tensor<5x6xf32>, tensor<5xi32> -> tensor<11x6xf32>
  return %0 : tensor<11x6xf32>
}

// A vocabulary that does not divide: each rank sums into its rows.
// CHECK-LABEL: @embedding_rows
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @embedding_rows(
    %g: tensor<16x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %i: tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<11x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.embedding_backward %g, %i : tensor<16x6xf32>, tensor<16xi32> -> tensor<11x6xf32>
  return %0 : tensor<11x6xf32>
}

// CHECK-LABEL: @embedding_tokens_to_rows
// CHECK: yes
// CHECK: all_reduce
func.func @embedding_tokens_to_rows(
    %g: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<11x6xf64> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.embedding_backward %g, %i : tensor<8x6xf32>, tensor<8xi32> -> tensor<11x6xf64>
  return %0 : tensor<11x6xf64>
}

// Tokens and rows over one axis: the sums are scattered, in one collective; for
// so few bytes two gathers of the operands would take longer.
// CHECK-LABEL: @embedding_rows_and_tokens
// CHECK: yes
// CHECK: reduce_scatter 1
func.func @embedding_rows_and_tokens(
    %g: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %i: tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<12x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.embedding_backward %g, %i : tensor<8x6xf32>, tensor<8xi32> -> tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}

// CHECK-LABEL: @cross_entropy_tokens
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @cross_entropy_tokens(
    %g: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %x: tensor<5x11xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %l: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %m: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
    %s: tensor<5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<5x11xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = nn.cross_entropy_backward %g, %x, %l, %m, %s ignore -100 : tensor<5xf32>, tensor<5x11xf32>, tensor<5xi32>
  return %0 : tensor<5x11xf32>
}

// Each rank knows which of its classes is the label.
// CHECK-LABEL: @cross_entropy_classes
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @cross_entropy_classes(
    %g: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %x: tensor<6x11xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %l: tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %m: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %s: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<6x11xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.cross_entropy_backward %g, %x, %l, %m, %s ignore -100 : tensor<6xf32>, tensor<6x11xf32>, tensor<6xi32>
  return %0 : tensor<6x11xf32>
}

// CHECK-LABEL: @pick_classes
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @pick_classes(
    %g: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %i: tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<6x11xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.take_along_axis_backward %g, %i : tensor<6xf32>, tensor<6xi32> -> tensor<6x11xf32>
  return %0 : tensor<6x11xf32>
}

// CHECK-LABEL: @gelu_backward_tanh
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @gelu_backward_tanh(
    %g: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %x: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.gelu_backward <tanh> %g, %x : tensor<6x10xf32>
  return %0 : tensor<6x10xf32>
}

// CHECK-LABEL: @gelu_backward_erf
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @gelu_backward_erf(
    %g: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %x: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.gelu_backward <erf> %g, %x : tensor<6x10xf32>
  return %0 : tensor<6x10xf32>
}

// CHECK-LABEL: @silu_backward
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @silu_backward(
    %g: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %x: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.silu_backward %g, %x : tensor<6x10xf32>
  return %0 : tensor<6x10xf32>
}

// Statistics over a sharded and padded dimension.
// CHECK-LABEL: @layer_norm_stats
// CHECK-COUNT-3: yes
// CHECK: all_reduce 2
func.func @layer_norm_stats(
    %x: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %g: tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
        tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0, %1, %2 = nn.layer_norm %x, %g, %g eps 1.0e-5 : tensor<6x10xf32>, tensor<10xf32>, tensor<10xf32> stats tensor<6xf32>, tensor<6xf32>
  return %0, %1, %2 : tensor<6x10xf32>, tensor<6xf32>, tensor<6xf32>
}

// CHECK-LABEL: @rms_norm_stats
// CHECK-COUNT-2: yes
// CHECK: all_reduce 1
func.func @rms_norm_stats(
    %x: tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %g: tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<6x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
        tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0, %1 = nn.rms_norm %x, %g eps 1.0e-5 : tensor<6x10xf32>, tensor<10xf32> stats tensor<6xf32>
  return %0, %1 : tensor<6x10xf32>, tensor<6xf32>
}

// CHECK-LABEL: @cross_entropy_stats
// CHECK-COUNT-3: yes
// CHECK: all_reduce 2
func.func @cross_entropy_stats(
    %x: tensor<16x11xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %l: tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0, %1, %2 = nn.cross_entropy %x, %l ignore -100 : tensor<16x11xf32>, tensor<16xi32> -> tensor<16xf32> stats tensor<16xf32>, tensor<16xf32>
  return %0, %1, %2 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// The logsumexp over sharded and padded keys.
// CHECK-LABEL: @attention_stats
// CHECK-COUNT-2: yes
// CHECK: all_reduce 3
func.func @attention_stats(
    %q: tensor<1x3x2x1x4xf32>,
    %k: tensor<1x7x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>},
    %v: tensor<1x7x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}, {}, {}]>})
    -> (tensor<1x3x2x1x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}, {}]>},
        tensor<1x3x2x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>}) {
  %0, %1 = nn.attention scale 0.5 %q, %k, %v : tensor<1x3x2x1x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x3xf32> -> tensor<1x3x2x1x3xf32> stats tensor<1x3x2x1xf32>
  return %0, %1 : tensor<1x3x2x1x3xf32>, tensor<1x3x2x1xf32>
}

// CHECK-LABEL: @attention_stats_heads
// CHECK-COUNT-2: yes
// CHECK-NEXT: no collectives
func.func @attention_stats_heads(
    %q: tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}, {}]>},
    %k: tensor<2x5x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}]>})
    -> (tensor<2x5x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}, {}]>},
        tensor<2x5x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {"y"}, {}]>}) {
  %0, %1 = nn.attention causal scale 0.5 %q, %k, %k : tensor<2x5x4x2x4xf32>, tensor<2x5x4x4xf32>, tensor<2x5x4x4xf32> -> tensor<2x5x4x2x4xf32> stats tensor<2x5x4x2xf32>
  return %0, %1 : tensor<2x5x4x2x4xf32>, tensor<2x5x4x2xf32>
}
