// RUN: split-file %s %t
// RUN: tessera-opt %t/even.mlir --dist-order-sequence | FileCheck %s --check-prefix=EVEN
// RUN: tessera-opt %t/plain.mlir --split-input-file --dist-order-sequence | FileCheck %s --check-prefix=PLAIN
// RUN: tessera-opt %t/refused.mlir --split-input-file --dist-order-sequence --remarks-filter='strategy' --remark-policy=all 2>&1 | FileCheck %s --check-prefix=REFUSED

// All values along the sequence get the order: inputs, positions, attention,
// results. A reduction over the sequence needs none.
//--- even.mlir
// EVEN: module attributes {dist.context = {batch = #dist.axes<{}>, heads = #dist.axes<{}>, method = "all_gather", ordered, seq = #dist.axes<{"cp"}>}}
module attributes {dist.context = {method = "all_gather", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  // EVEN: func @f(%{{.*}}: tensor<2x32xi32> {nn.dims = ["batch", "seq"], nn.input = "tokens", nn.order = [unit, #nn.zigzag<shards = 4, size = 32>]},
  // EVEN-SAME: %{{.*}}: tensor<2x32xi32> {nn.dims = ["batch", "seq"], nn.input = "starts", nn.order = [unit, #nn.zigzag<shards = 4, size = 32>]},
  // EVEN-SAME: %{{.*}}: tensor<64x32xf32> {nn.param = "wte"}, %{{.*}}: tensor<32x32xf32> {nn.param = "wpe"})
  // EVEN-SAME: -> (tensor<2x32x2x1x16xf32> {nn.order = [unit, #nn.zigzag<shards = 4, size = 32>, unit, unit, unit]}, tensor<f32>)
  func.func @f(%tokens: tensor<2x32xi32> {nn.input = "tokens", nn.dims = ["batch", "seq"]},
               %starts: tensor<2x32xi32> {nn.input = "starts", nn.dims = ["batch", "seq"]},
               %wte: tensor<64x32xf32> {nn.param = "wte"}, %wpe: tensor<32x32xf32> {nn.param = "wpe"})
      -> (tensor<2x32x2x1x16xf32>, tensor<f32>) {
    %x = nn.embedding %wte, %tokens : tensor<64x32xf32>, tensor<2x32xi32> -> tensor<2x32x32xf32>
    // EVEN: nn.iota order <shards = 4, size = 32> : tensor<32xi32>
    %i = nn.iota : tensor<32xi32>
    %p = nn.embedding %wpe, %i : tensor<32x32xf32>, tensor<32xi32> -> tensor<32x32xf32>
    %w = nn.broadcast %p dims [1, 2] : tensor<32x32xf32> -> tensor<2x32x32xf32>
    %y = arith.addf %x, %w : tensor<2x32x32xf32>
    %h = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [2, 32, 2, 16] : tensor<2x32x32xf32> into tensor<2x32x2x16xf32>
    // EVEN: nn.rope %{{.*}} dim 1 theta 1.000000e+04 order <shards = 4, size = 32>
    %k = nn.rope %h dim 1 theta 1.0e4 : tensor<2x32x2x16xf32>
    %q = tensor.expand_shape %k [[0], [1], [2], [3, 4]] output_shape [2, 32, 2, 1, 16] : tensor<2x32x2x16xf32> into tensor<2x32x2x1x16xf32>
    // EVEN: nn.attention causal scale 2.500000e-01 order <shards = 4, size = 32>
    %o = nn.attention causal scale 0.25 %q, %k, %h starts %starts : tensor<2x32xi32> : tensor<2x32x2x1x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x1x16xf32>
    %s = nn.reduce <sum> %o dims [0, 1, 2, 3, 4] : tensor<2x32x2x1x16xf32> -> tensor<f32>
    return %o, %s : tensor<2x32x2x1x16xf32>, tensor<f32>
  }
}

//--- plain.mlir
// PLAIN-NOT: zigzag
// PLAIN-NOT: order <
// PLAIN-NOT: ordered
// A window has the same work on all devices.
module attributes {dist.context = {method = "all_gather", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @window(%q: tensor<2x32x2x1x16xf32> {nn.input = "q", nn.dims = ["batch", "seq", "g", "r", "k"]}, %k: tensor<2x32x2x16xf32> {nn.input = "k", nn.dims = ["batch", "seq", "g", "k"]}) -> tensor<2x32x2x1x16xf32> {
    %o = nn.attention causal window 8 scale 0.25 %q, %k, %k : tensor<2x32x2x1x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x1x16xf32>
    return %o : tensor<2x32x2x1x16xf32>
  }
}
// -----
// Whole queries leave no devices to balance.
module attributes {dist.context = {method = "all_to_all", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=2]
  func.func @heads(%q: tensor<2x32x2x1x16xf32> {nn.input = "q", nn.dims = ["batch", "seq", "g", "r", "k"]}, %k: tensor<2x32x2x16xf32> {nn.input = "k", nn.dims = ["batch", "seq", "g", "k"]}) -> tensor<2x32x2x1x16xf32> {
    %o = nn.attention causal scale 0.25 %q, %k, %k : tensor<2x32x2x1x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x1x16xf32>
    return %o : tensor<2x32x2x1x16xf32>
  }
}
// -----
// 36 is not a multiple of 8.
module attributes {dist.context = {method = "ring", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @uneven(%q: tensor<2x36x2x1x16xf32> {nn.input = "q", nn.dims = ["batch", "seq", "g", "r", "k"]}, %k: tensor<2x36x2x16xf32> {nn.input = "k", nn.dims = ["batch", "seq", "g", "k"]}) -> tensor<2x36x2x1x16xf32> {
    %o = nn.attention causal scale 0.25 %q, %k, %k : tensor<2x36x2x1x16xf32>, tensor<2x36x2x16xf32>, tensor<2x36x2x16xf32> -> tensor<2x36x2x1x16xf32>
    return %o : tensor<2x36x2x1x16xf32>
  }
}

//--- refused.mlir
// An op that needs plain order keeps the sequence in it; a remark names the op.
// REFUSED: SequenceOrder
// REFUSED-SAME: the sequence stays in plain order: tensor.extract_slice
module attributes {dist.context = {method = "all_gather", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @slice(%q: tensor<2x32x2x1x16xf32> {nn.input = "q", nn.dims = ["batch", "seq", "g", "r", "k"]}, %k: tensor<2x32x2x16xf32> {nn.input = "k", nn.dims = ["batch", "seq", "g", "k"]}) -> tensor<2x8x2x1x16xf32> {
    %o = nn.attention causal scale 0.25 %q, %k, %k : tensor<2x32x2x1x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x1x16xf32>
    %s = tensor.extract_slice %o[0, 24, 0, 0, 0] [2, 8, 2, 1, 16] [1, 1, 1, 1, 1] : tensor<2x32x2x1x16xf32> to tensor<2x8x2x1x16xf32>
    return %s : tensor<2x8x2x1x16xf32>
  }
}
// -----
// REFUSED: SequenceOrder
// REFUSED-SAME: the sequence stays in plain order: nn.mask_padding depends on positions, and takes no order
module attributes {dist.context = {method = "all_gather", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @padding(%q: tensor<2x32x2x1x16xf32> {nn.input = "q", nn.dims = ["batch", "seq", "g", "r", "k"]}, %k: tensor<2x32x2x16xf32> {nn.input = "k", nn.dims = ["batch", "seq", "g", "k"]}) -> tensor<2x32x2x1x16xf32> {
    %m = nn.mask_padding %q dim 1 size 30 value 0.000000e+00 : f32 : tensor<2x32x2x1x16xf32>
    %o = nn.attention causal scale 0.25 %m, %k, %k : tensor<2x32x2x1x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x1x16xf32>
    return %o : tensor<2x32x2x1x16xf32>
  }
}
// -----
// REFUSED: SequenceOrder
// REFUSED-SAME: the sequence stays in plain order: tensor.collapse_shape mixes the sequence with another dimension
module attributes {dist.context = {method = "all_gather", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=4]
  func.func @flat(%q: tensor<2x32x2x1x16xf32> {nn.input = "q", nn.dims = ["batch", "seq", "g", "r", "k"]}, %k: tensor<2x32x2x16xf32> {nn.input = "k", nn.dims = ["batch", "seq", "g", "k"]}) -> tensor<64x2x1x16xf32> {
    %o = nn.attention causal scale 0.25 %q, %k, %k : tensor<2x32x2x1x16xf32>, tensor<2x32x2x16xf32>, tensor<2x32x2x16xf32> -> tensor<2x32x2x1x16xf32>
    %s = tensor.collapse_shape %o [[0, 1], [2], [3], [4]] : tensor<2x32x2x1x16xf32> into tensor<64x2x1x16xf32>
    return %s : tensor<64x2x1x16xf32>
  }
}
// -----
// REFUSED: SequenceOrder
// REFUSED-SAME: the sequence stays in plain order: arith.constant has a number for each position
module attributes {dist.context = {method = "all_gather", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=2]
  func.func @numbers(%q: tensor<1x4x1x1x1xf32> {nn.input = "q", nn.dims = ["batch", "seq", "g", "r", "k"]}, %k: tensor<1x4x1x1xf32> {nn.input = "k", nn.dims = ["batch", "seq", "g", "k"]}) -> tensor<1x4x1x1x1xf32> {
    %c = arith.constant dense<[[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]]> : tensor<1x4x1x1xf32>
    %s = arith.mulf %k, %c : tensor<1x4x1x1xf32>
    %o = nn.attention causal scale 0.25 %q, %s, %k : tensor<1x4x1x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32> -> tensor<1x4x1x1x1xf32>
    return %o : tensor<1x4x1x1x1xf32>
  }
}
// -----
// REFUSED: SequenceOrder
// REFUSED-SAME: the sequence stays in plain order: argument 2 is no input, but has the sequence
module attributes {dist.context = {method = "all_gather", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{}>}} {
  dist.mesh @mesh ["cp"=2]
  func.func @table(%q: tensor<1x4x1x1x1xf32> {nn.input = "q", nn.dims = ["batch", "seq", "g", "r", "k"]}, %k: tensor<1x4x1x1xf32> {nn.input = "k", nn.dims = ["batch", "seq", "g", "k"]}, %t: tensor<1x4x1x1xf32> {nn.param = "t"}) -> tensor<1x4x1x1x1xf32> {
    %s = arith.addf %k, %t : tensor<1x4x1x1xf32>
    %o = nn.attention causal scale 0.25 %q, %s, %k : tensor<1x4x1x1x1xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32> -> tensor<1x4x1x1x1xf32>
    return %o : tensor<1x4x1x1x1xf32>
  }
}
// -----
// Six devices shard the residual stream, and two of them attention: 32 elements
// are padded to 36, and a shard of 18 begins within a chunk of 8.
// REFUSED: SequenceOrder
// REFUSED-SAME: the sequence stays in plain order: 6 devices share its 32 elements, which they do not divide
module attributes {dist.context = {method = "all_gather", seq = #dist.axes<{"cp"}>, batch = #dist.axes<{}>, heads = #dist.axes<{"tp"}>}} {
  dist.mesh @mesh ["tp"=3, "cp"=2]
  func.func @padded(%q: tensor<2x32x3x1x16xf32> {nn.input = "q", nn.dims = ["batch", "seq", "g", "r", "k"]}, %k: tensor<2x32x3x16xf32> {nn.input = "k", nn.dims = ["batch", "seq", "g", "k"]}) -> tensor<2x32x3x1x16xf32> {
    %r = arith.addf %k, %k {dist.shardings = [#dist.sharding<@mesh, [{}, {"cp", "tp"}, {}, {}]>]} : tensor<2x32x3x16xf32>
    %o = nn.attention causal scale 0.25 %q, %r, %k : tensor<2x32x3x1x16xf32>, tensor<2x32x3x16xf32>, tensor<2x32x3x16xf32> -> tensor<2x32x3x1x16xf32>
    return %o : tensor<2x32x3x1x16xf32>
  }
}
// REFUSED-NOT: nn.order
