// Sizes that eight devices do not divide. Every function is interpreted
// unchanged and on eight ranks.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=8]

// 17 rows; exp(0) = 1 in the padding must not be summed.
// CHECK-LABEL: @rows_sum: 8 ranks
// CHECK: yes
func.func @rows_sum(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<17x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<17x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// All true values are negative: a padding of zeros would win.
// CHECK-LABEL: @rows_max: 8 ranks
// CHECK: yes
func.func @rows_max(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<4xf32> {
  %c = arith.constant dense<-50.0> : tensor<17x4xf32>
  %0 = arith.addf %x, %c : tensor<17x4xf32>
  %1 = nn.reduce <max> %0 dims [0] : tensor<17x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @softmax: 8 ranks
// CHECK: yes
func.func @softmax(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<17x4xf32> {
  %1 = nn.softmax %x dim 0 : tensor<17x4xf32>
  return %1 : tensor<17x4xf32>
}

// The mean of 20 elements in 24.
// CHECK-LABEL: @layer_norm: 8 ranks
// CHECK: yes
func.func @layer_norm(%x: tensor<4x20xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %g: tensor<20xf32>, %b: tensor<20xf32>) -> tensor<4x20xf32> {
  %y = nn.layer_norm %x, %g, %b eps 1.0e-5 : tensor<4x20xf32>, tensor<20xf32>, tensor<20xf32>
  return %y : tensor<4x20xf32>
}

// rsqrt(0) is infinite in the padding of one factor of a contraction.
// CHECK-LABEL: @infinite_padding: 8 ranks
// CHECK: yes
func.func @infinite_padding(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}, %y: tensor<17x3xf32>) -> tensor<4x3xf32> {
  %e = arith.mulf %x, %x : tensor<17x4xf32>
  %0 = math.rsqrt %e : tensor<17x4xf32>
  %1 = nn.einsum "ki,kj->ij" %0, %y : tensor<17x4xf32>, tensor<17x3xf32> -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// 0 * infinity is not zero.
// CHECK-LABEL: @nan_padding: 8 ranks
// CHECK: yes
func.func @nan_padding(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<4xf32> {
  %e = arith.mulf %x, %x : tensor<17x4xf32>
  %r = math.rsqrt %e : tensor<17x4xf32>
  %0 = arith.mulf %x, %r : tensor<17x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<17x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A nonlinear body, and an init that counts once.
// CHECK-LABEL: @linalg_sum_of_exp: 8 ranks
// CHECK: yes
func.func @linalg_sum_of_exp(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<4xf32> {
  %c = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %i = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
                       iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<17x4xf32>) outs(%i : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    %1 = arith.addf %0, %b : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @dense_constant: 8 ranks
// CHECK: yes
func.func @dense_constant(%x: tensor<3x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<3x3xf32> {
  %c = arith.constant dense<[[0., 1., 2.], [3., 4., 5.], [6., 7., 8.]]> : tensor<3x3xf32>
  %0 = arith.addf %x, %c : tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// A vocabulary of 50257: the embedding and the loss's max, sum and label are
// reduced.
// CHECK-LABEL: @vocabulary: 8 ranks
// CHECK: yes
// CHECK: all_reduce 4
func.func @vocabulary(%t: tensor<50257x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %ids: tensor<2x4xi32> {nn.input = "tokens"}, %labels: tensor<2x4xi32> {nn.input = "labels"}) -> tensor<2x4xf32> {
  %0 = nn.embedding %t, %ids : tensor<50257x8xf32>, tensor<2x4xi32> -> tensor<2x4x8xf32>
  %1 = nn.einsum "bsd,vd->bsv" %0, %t : tensor<2x4x8xf32>, tensor<50257x8xf32> -> tensor<2x4x50257xf32>
  %2 = nn.cross_entropy %1, %labels ignore -100 : tensor<2x4x50257xf32>, tensor<2x4xi32> -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// CHECK-LABEL: @twelve_heads: 8 ranks
// CHECK: yes
// CHECK: all_reduce 1
func.func @twelve_heads(%x: tensor<2x4x16xf32>,
    %wq: tensor<16x12x1x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %wk: tensor<16x12x8xf32>, %wv: tensor<16x12x8xf32>, %wo: tensor<12x1x8x16xf32>) -> tensor<2x4x16xf32> {
  %q = nn.einsum "bsd,dgrk->bsgrk" %x, %wq : tensor<2x4x16xf32>, tensor<16x12x1x8xf32> -> tensor<2x4x12x1x8xf32>
  %k = nn.einsum "bsd,dgk->bsgk" %x, %wk : tensor<2x4x16xf32>, tensor<16x12x8xf32> -> tensor<2x4x12x8xf32>
  %v = nn.einsum "bsd,dgk->bsgk" %x, %wv : tensor<2x4x16xf32>, tensor<16x12x8xf32> -> tensor<2x4x12x8xf32>
  %o = nn.attention causal scale 0.35 %q, %k, %v : tensor<2x4x12x1x8xf32>, tensor<2x4x12x8xf32>, tensor<2x4x12x8xf32> -> tensor<2x4x12x1x8xf32>
  %y = nn.einsum "bsgrk,grkd->bsd" %o, %wo : tensor<2x4x12x1x8xf32>, tensor<12x1x8x16xf32> -> tensor<2x4x16xf32>
  return %y : tensor<2x4x16xf32>
}

// Heads and their width in one dimension: the heads are padded.
// CHECK-LABEL: @flat_heads: 8 ranks
// CHECK: yes
func.func @flat_heads(%x: tensor<4x16xf32>, %w: tensor<16x96xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x12xf32> {
  %q = nn.einsum "sd,de->se" %x, %w : tensor<4x16xf32>, tensor<16x96xf32> -> tensor<4x96xf32>
  %h = tensor.expand_shape %q [[0], [1, 2]] output_shape [4, 12, 8] : tensor<4x96xf32> into tensor<4x12x8xf32>
  %r = nn.reduce <sum> %h dims [2] : tensor<4x12x8xf32> -> tensor<4x12xf32>
  return %r : tensor<4x12xf32>
}

// Nine keys: attention masks its own padding.
// CHECK-LABEL: @key_sharded: 8 ranks
// CHECK: yes
func.func @key_sharded(%q: tensor<2x5x4x1x8xf32>,
    %k: tensor<2x9x4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %v: tensor<2x9x4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {}, {}]>}) -> tensor<2x5x4x1x8xf32> {
  %o = nn.attention scale 0.35 %q, %k, %v : tensor<2x5x4x1x8xf32>, tensor<2x9x4x8xf32>, tensor<2x9x4x8xf32> -> tensor<2x5x4x1x8xf32>
  return %o : tensor<2x5x4x1x8xf32>
}

// A constant that is neutral in a maximum is masked before a sum, and before a
// minimum.
// CHECK-LABEL: @lowest: 8 ranks
// CHECK: yes
// CHECK: partition proven
func.func @lowest(%a: tensor<3x5xi32>) -> (tensor<i32>, tensor<5xi32>) {
  %c = arith.constant dense<-2147483648> : tensor<3xi32>
  %0 = arith.constant dense<-2147483648> : tensor<3xi32>
  %f = dist.constraint %0 <@mesh, [{"x"}]> : tensor<3xi32>
  %1 = nn.reduce <min> %f dims [0] : tensor<3xi32> -> tensor<i32>
  %2 = nn.einsum "a,ab->b" %f, %a : tensor<3xi32>, tensor<3x5xi32> -> tensor<5xi32>
  return %1, %2 : tensor<i32>, tensor<5xi32>
}

// Booleans that a callee takes with zeros in the padding, and their maximum.
// CHECK-LABEL: @booleans: 8 ranks
// CHECK: yes
// CHECK: partition proven
func.func private @same(%a: tensor<17x3xi1>) -> tensor<17x3xi1> {
  return %a : tensor<17x3xi1>
}
func.func @booleans(%x: tensor<17x3xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<3xi1> {
  %c = arith.cmpi uge, %x, %x : tensor<17x3xi32>
  %0 = func.call @same(%c) : (tensor<17x3xi1>) -> tensor<17x3xi1>
  %1 = nn.reduce <max> %0 dims [0] : tensor<17x3xi1> -> tensor<3xi1>
  return %1 : tensor<3xi1>
}
