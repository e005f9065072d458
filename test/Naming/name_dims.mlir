// Dimensions that ops tie share a name, from attention, weights, embeddings and losses.
// RUN: tessera-opt %s --nn-name-dims --split-input-file --remarks-filter=import -o %t.mlir 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t.mlir
// RUN: not tessera-opt %s --nn-name-dims="given=x=tokens,width" --split-input-file 2>&1 | FileCheck %s --check-prefix=GIVEN

// The MLP of a block, the residual stream, the head.
// CHECK-LABEL: @block(
// CHECK-SAME: tensor<2x8xi32> {nn.dims = ["batch", "seq"], nn.input = "ids"}
// CHECK-SAME: tensor<2x8xi32> {nn.dims = ["batch", "seq"], nn.input = "labels"}
// CHECK-SAME: tensor<32x16xf32> {nn.dims = ["vocab", "embed"], nn.param = "table"}
// CHECK-SAME: tensor<8x16xf32> {nn.dims = ["positions", "embed"], nn.param = "positions"}
// CHECK-SAME: tensor<16x64xf32> {nn.dims = ["embed", "ffn"], nn.param = "up"}
// CHECK-SAME: tensor<64xf32> {nn.dims = ["ffn"], nn.param = "bias"}
// CHECK-SAME: tensor<64x16xf32> {nn.dims = ["ffn", "embed"], nn.param = "down"}
// CHECK: nn.embedding
// CHECK-NOT: nn.dims
// CHECK: arith.addf {{.*}} {nn.dims = ["batch", "seq", "embed"]}
// CHECK: nn.einsum
// CHECK-NOT: nn.dims
// CHECK: arith.addf {{.*}} {nn.dims = ["batch", "seq", "embed"]}
// GIVEN: error: expects dims of an argument but has none named x
func.func @block(%ids: tensor<2x8xi32> {nn.input = "ids"}, %labels: tensor<2x8xi32> {nn.input = "labels"},
    %table: tensor<32x16xf32> {nn.param = "table"}, %positions: tensor<8x16xf32> {nn.param = "positions"},
    %up: tensor<16x64xf32> {nn.param = "up"}, %bias: tensor<64xf32> {nn.param = "bias"},
    %down: tensor<64x16xf32> {nn.param = "down"}) -> tensor<2x8xf32> {
  %0 = nn.embedding %table, %ids : tensor<32x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  %1 = nn.iota : tensor<8xi32>
  %2 = nn.embedding %positions, %1 : tensor<8x16xf32>, tensor<8xi32> -> tensor<8x16xf32>
  %3 = nn.broadcast %2 dims [1, 2] : tensor<8x16xf32> -> tensor<2x8x16xf32>
  %4 = arith.addf %0, %3 : tensor<2x8x16xf32>
  %5 = nn.einsum "abc,cd->abd" %4, %up : tensor<2x8x16xf32>, tensor<16x64xf32> -> tensor<2x8x64xf32>
  %6 = nn.broadcast %bias dims [2] : tensor<64xf32> -> tensor<2x8x64xf32>
  %7 = arith.addf %5, %6 : tensor<2x8x64xf32>
  %8 = nn.silu %7 : tensor<2x8x64xf32>
  %9 = nn.einsum "abc,cd->abd" %8, %down : tensor<2x8x64xf32>, tensor<64x16xf32> -> tensor<2x8x16xf32>
  %10 = arith.addf %4, %9 : tensor<2x8x16xf32>
  %11 = nn.einsum "abc,dc->abd" %10, %table : tensor<2x8x16xf32>, tensor<32x16xf32> -> tensor<2x8x32xf32>
  %12 = nn.cross_entropy %11, %labels ignore -100 : tensor<2x8x32xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
  return %12 : tensor<2x8xf32>
}

// -----

// A split dimension belongs to its major part; what two weights take is the stream.
// CHECK-LABEL: @attention(
// CHECK-SAME: tensor<2x8x16xf32> {nn.dims = ["batch", "seq", "embed"], nn.input = "x"}
// CHECK-SAME: tensor<16x12xf32> {nn.dims = ["embed", "kv_heads"], nn.param = "q"}
// CHECK-SAME: tensor<16x3x4xf32> {nn.dims = ["embed", "kv_heads", "head_dim"], nn.param = "k"}
// GIVEN: error: expects a name for each dimension of x, 'tensor<2x8x16xf32>', but got tokens,width
func.func @attention(%x: tensor<2x8x16xf32> {nn.input = "x"}, %q: tensor<16x12xf32> {nn.param = "q"},
    %k: tensor<16x3x4xf32> {nn.param = "k"}) -> tensor<2x8x3x1x4xf32> {
  %0 = nn.einsum "abc,cd->abd" %x, %q : tensor<2x8x16xf32>, tensor<16x12xf32> -> tensor<2x8x12xf32>
  %1 = tensor.expand_shape %0 [[0], [1], [2, 3, 4]] output_shape [2, 8, 3, 1, 4] : tensor<2x8x12xf32> into tensor<2x8x3x1x4xf32>
  %2 = nn.einsum "abc,cde->abde" %x, %k : tensor<2x8x16xf32>, tensor<16x3x4xf32> -> tensor<2x8x3x4xf32>
  %3 = nn.attention causal scale 0.5 %1, %2, %2 : tensor<2x8x3x1x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x8x3x1x4xf32>
  return %3 : tensor<2x8x3x1x4xf32>
}

// -----

// Given and existing names win; a dimension that no name reaches is reported.
// CHECK-LABEL: @there(
// CHECK-SAME: {nn.dims = ["rows", "width"], nn.input = "x"}
// CHECK-SAME: {nn.dims = ["width", "other"], nn.param = "w"}
// REMARK: UnnamedDims | Category:import | Remark=w
// GIVEN-LABEL: @there(
// GIVEN-SAME: {nn.dims = ["tokens", "width"], nn.input = "x"}
func.func @there(%x: tensor<8x16xf32> {nn.dims = ["rows", "width"], nn.input = "x"}, %w: tensor<16x4xf32> {nn.param = "w"}) -> tensor<8x4xf32> {
  %0 = nn.einsum "ab,bc->ac" %x, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// A sum of scalars in the body of an op has no dimensions.
// CHECK-LABEL: @body(
// CHECK-SAME: tensor<8x4xf32> {nn.dims = ["batch", "other"], nn.input = "x"}
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
func.func @body(%x: tensor<8x4xf32> {nn.input = "x"}) -> tensor<8xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  %0 = linalg.reduce ins(%x : tensor<8x4xf32>) outs(%zeros : tensor<8xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %1 = arith.addf %in, %out : f32
      linalg.yield %1 : f32
    }
  return %0 : tensor<8xf32>
}

// -----

// Weights of experts have dimensions of experts and ffn.
// CHECK-LABEL: @experts(
// CHECK-SAME: tensor<8x4x3xf32> {nn.dims = ["experts", "other", "ffn"], nn.param = "g"}
// CHECK-SAME: tensor<8x4x3xf32> {nn.dims = ["experts", "other", "ffn"], nn.param = "u"}
// CHECK-SAME: tensor<8x3x4xf32> {nn.dims = ["experts", "ffn", "other"], nn.param = "d"}
func.func @experts(%x: tensor<5x4xf32>, %ids: tensor<5x2xi32>, %gates: tensor<5x2xf32>, %g: tensor<8x4x3xf32> {nn.param = "g"}, %u: tensor<8x4x3xf32> {nn.param = "u"}, %d: tensor<8x3x4xf32> {nn.param = "d"}) -> tensor<5x4xf32> {
  %0 = nn.experts <silu> of 8 %x, %ids, %gates, %g, %u, %d : tensor<5x4xf32>, tensor<5x2xi32>, tensor<5x2xf32>, tensor<8x4x3xf32>, tensor<8x3x4xf32> -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// -----

// A vector that no named dimension reaches is named where other parameters are;
// without a sharding, propagation would not give its state any axes.
// CHECK-LABEL: @latent(
// CHECK-SAME: tensor<8x4xf32> {nn.dims = ["width", "other"], nn.param = "down"}
// CHECK-SAME: tensor<4xf32> {nn.dims = ["other"], nn.param = "gamma"}
// CHECK-SAME: tensor<f32> {nn.param = "factor"}
func.func @latent(%x: tensor<6x8xf32> {nn.input = "x"}, %down: tensor<8x4xf32> {nn.dims = ["width", "other"], nn.param = "down"},
    %gamma: tensor<4xf32> {nn.param = "gamma"}, %factor: tensor<f32> {nn.param = "factor"}) -> tensor<6x4xf32> {
  %0 = nn.einsum "ab,bc->ac" %x, %down : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
  %1 = nn.rms_norm %0, %gamma eps 1.0e-5 : tensor<6x4xf32>, tensor<4xf32>
  %2 = nn.broadcast %factor dims [] : tensor<f32> -> tensor<6x4xf32>
  %3 = arith.mulf %1, %2 : tensor<6x4xf32>
  return %3 : tensor<6x4xf32>
}

// -----

// Heads of an attention that is written out, with a trained table of biases
// whose width is heads. Batch is what both matmuls keep and no weight makes.
// CHECK-LABEL: @written_out(
// CHECK-SAME: tensor<2x6x16xf32> {nn.dims = ["batch", "seq", "embed"], nn.input = "x"}
// CHECK-SAME: tensor<16x12xf32> {nn.dims = ["embed", "kv_heads"], nn.param = "q"}
// CHECK-SAME: tensor<16x3x4xf32> {nn.dims = ["embed", "kv_heads", "other"], nn.param = "k"}
// CHECK-SAME: tensor<16x3x4xf32> {nn.dims = ["embed", "kv_heads", "other"], nn.param = "v"}
// CHECK-SAME: tensor<3x4x16xf32> {nn.dims = ["kv_heads", "other", "embed"], nn.param = "o"}
// CHECK-SAME: tensor<9x3xf32> {nn.dims = ["positions", "kv_heads"], nn.param = "bias"}
// CHECK: arith.addf {{.*}} {nn.dims = ["batch", "seq", "embed"]}
func.func @written_out(%x: tensor<2x6x16xf32> {nn.input = "x"}, %q: tensor<16x12xf32> {nn.param = "q"},
    %k: tensor<16x3x4xf32> {nn.param = "k"}, %v: tensor<16x3x4xf32> {nn.param = "v"},
    %o: tensor<3x4x16xf32> {nn.param = "o"}, %table: tensor<9x3xf32> {nn.param = "bias"}) -> tensor<2x6x16xf32> {
  %places = arith.constant dense<1> : tensor<6x6xi32>
  %0 = nn.einsum "abc,cd->abd" %x, %q : tensor<2x6x16xf32>, tensor<16x12xf32> -> tensor<2x6x12xf32>
  %1 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [2, 6, 3, 4] : tensor<2x6x12xf32> into tensor<2x6x3x4xf32>
  %2 = nn.einsum "abc,cde->abde" %x, %k : tensor<2x6x16xf32>, tensor<16x3x4xf32> -> tensor<2x6x3x4xf32>
  %3 = nn.einsum "abc,cde->abde" %x, %v : tensor<2x6x16xf32>, tensor<16x3x4xf32> -> tensor<2x6x3x4xf32>
  %4 = nn.einsum "bqhd,bkhd->bqkh" %1, %2 : tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32> -> tensor<2x6x6x3xf32>
  %5 = nn.embedding %table, %places : tensor<9x3xf32>, tensor<6x6xi32> -> tensor<6x6x3xf32>
  %6 = nn.broadcast %5 dims [1, 2, 3] : tensor<6x6x3xf32> -> tensor<2x6x6x3xf32>
  %7 = arith.addf %4, %6 : tensor<2x6x6x3xf32>
  %8 = nn.softmax %7 dim 2 : tensor<2x6x6x3xf32>
  %9 = nn.einsum "bqkh,bkhd->bqhd" %8, %3 : tensor<2x6x6x3xf32>, tensor<2x6x3x4xf32> -> tensor<2x6x3x4xf32>
  %10 = nn.einsum "bqhd,hde->bqe" %9, %o : tensor<2x6x3x4xf32>, tensor<3x4x16xf32> -> tensor<2x6x16xf32>
  %11 = arith.addf %x, %10 : tensor<2x6x16xf32>
  return %11 : tensor<2x6x16xf32>
}

// -----

// Query heads over one head of keys are split as ffn is.
// CHECK-LABEL: @one_head_of_keys(
// CHECK-SAME: tensor<16x3x4xf32> {nn.dims = ["embed", "ffn", "other"], nn.param = "w"}
// CHECK-SAME: tensor<3x4x16xf32> {nn.dims = ["ffn", "other", "embed"], nn.param = "o"}
func.func @one_head_of_keys(%x: tensor<2x6x16xf32> {nn.input = "x"}, %w: tensor<16x3x4xf32> {nn.param = "w"},
    %o: tensor<3x4x16xf32> {nn.param = "o"}) -> tensor<2x6x16xf32> {
  %0 = nn.einsum "abc,cde->abde" %x, %w : tensor<2x6x16xf32>, tensor<16x3x4xf32> -> tensor<2x6x3x4xf32>
  %1 = nn.einsum "abde,dec->abc" %0, %o : tensor<2x6x3x4xf32>, tensor<3x4x16xf32> -> tensor<2x6x16xf32>
  %2 = arith.addf %x, %1 : tensor<2x6x16xf32>
  return %2 : tensor<2x6x16xf32>
}

// -----

// Weights over the sequence have a stream of their own; logits end in classes.
// CHECK-LABEL: @mixer(
// CHECK-SAME: tensor<2x8xi32> {nn.dims = ["batch", "seq"], nn.input = "ids"}
// CHECK-SAME: tensor<9x16xf32> {nn.dims = ["vocab", "embed"], nn.param = "table"}
// CHECK-SAME: tensor<8x32xf32> {nn.dims = ["seq", "ffn"], nn.param = "t1"}
// CHECK-SAME: tensor<32x8xf32> {nn.dims = ["ffn", "seq"], nn.param = "t2"}
// CHECK-SAME: tensor<16x64xf32> {nn.dims = ["embed", "ffn"], nn.param = "c1"}
// CHECK-SAME: tensor<64x16xf32> {nn.dims = ["ffn", "embed"], nn.param = "c2"}
// CHECK-SAME: tensor<16x10xf32> {nn.dims = ["embed", "vocab"], nn.param = "head"}
func.func @mixer(%ids: tensor<2x8xi32> {nn.input = "ids"}, %table: tensor<9x16xf32> {nn.param = "table"},
    %t1: tensor<8x32xf32> {nn.param = "t1"}, %t2: tensor<32x8xf32> {nn.param = "t2"},
    %c1: tensor<16x64xf32> {nn.param = "c1"}, %c2: tensor<64x16xf32> {nn.param = "c2"},
    %head: tensor<16x10xf32> {nn.param = "head"}) -> (tensor<2x8x10xf32> {nn.output = "logits"}) {
  %0 = nn.embedding %table, %ids : tensor<9x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  %1 = nn.einsum "bse,st->bet" %0, %t1 : tensor<2x8x16xf32>, tensor<8x32xf32> -> tensor<2x16x32xf32>
  %2 = nn.silu %1 : tensor<2x16x32xf32>
  %3 = nn.einsum "bet,ts->bse" %2, %t2 : tensor<2x16x32xf32>, tensor<32x8xf32> -> tensor<2x8x16xf32>
  %4 = arith.addf %0, %3 : tensor<2x8x16xf32>
  %5 = nn.einsum "abc,cd->abd" %4, %c1 : tensor<2x8x16xf32>, tensor<16x64xf32> -> tensor<2x8x64xf32>
  %6 = nn.silu %5 : tensor<2x8x64xf32>
  %7 = nn.einsum "abd,dc->abc" %6, %c2 : tensor<2x8x64xf32>, tensor<64x16xf32> -> tensor<2x8x16xf32>
  %8 = arith.addf %4, %7 : tensor<2x8x16xf32>
  %9 = nn.einsum "abc,cd->abd" %8, %head : tensor<2x8x16xf32>, tensor<16x10xf32> -> tensor<2x8x10xf32>
  return %9 : tensor<2x8x10xf32>
}

// -----

// A zero that two maxima share does not tie them. Samples that ops keep apart
// are the batch.
// CHECK-LABEL: @square(
// CHECK-SAME: tensor<8x16xf32> {nn.dims = ["batch", "embed"], nn.input = "x"}
// CHECK-SAME: tensor<16x16xf32> {nn.dims = ["embed", "ffn"], nn.param = "a"}
// CHECK-SAME: tensor<16x16xf32> {nn.dims = ["ffn", "embed"], nn.param = "b"}
func.func @square(%x: tensor<8x16xf32> {nn.input = "x"}, %a: tensor<16x16xf32> {nn.param = "a"},
    %b: tensor<16x16xf32> {nn.param = "b"}) -> tensor<8x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %0 = nn.einsum "ab,bc->ac" %x, %a : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
  %1 = arith.maximumf %0, %zero : tensor<8x16xf32>
  %2 = nn.einsum "ab,bc->ac" %1, %b : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
  %3 = arith.maximumf %2, %zero : tensor<8x16xf32>
  %4 = arith.addf %3, %x : tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

// -----

// Statistics over the samples join them: they are no batch.
// CHECK-LABEL: @statistics(
// CHECK-SAME: tensor<8x16xf32> {nn.input = "x"}
func.func @statistics(%x: tensor<8x16xf32> {nn.input = "x"}) -> tensor<8x16xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x16xf32> -> tensor<16xf32>
  %1 = nn.broadcast %0 dims [1] : tensor<16xf32> -> tensor<8x16xf32>
  %2 = arith.subf %x, %1 : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// -----

// A chain of five weights: the pairs leave the smallest end without a part. The
// convolution of two groups between the second and the third passes channels on.
// CHECK-LABEL: @chain(
// CHECK-SAME: {nn.dims = ["other", "other", "other", "other"], nn.param = "a"}
// CHECK-SAME: {nn.dims = ["other", "ffn", "other", "other"], nn.param = "b"}
// CHECK-SAME: {nn.dims = ["ffn", "other", "other", "other"], nn.param = "groups"}
// CHECK-SAME: {nn.dims = ["other", "other", "ffn", "other"], nn.param = "c"}
// CHECK-SAME: {nn.dims = ["other", "ffn", "other", "other"], nn.param = "d"}
// CHECK-SAME: {nn.dims = ["other", "ffn"], nn.param = "e"}
func.func @chain(%x: tensor<2x1x3x6xf32> {nn.input = "x"}, %a: tensor<1x8x3x1xf32> {nn.param = "a"},
    %b: tensor<1x16x8x1xf32> {nn.param = "b"}, %groups: tensor<2x8x8x1xf32> {nn.param = "groups"},
    %c: tensor<1x16x16x1xf32> {nn.param = "c"}, %d: tensor<1x32x16x1xf32> {nn.param = "d"},
    %e: tensor<20x32xf32> {nn.param = "e"}) -> tensor<2x6x20xf32> {
  %0 = nn.convolution %x, %a strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x1x3x6xf32>, tensor<1x8x3x1xf32> -> tensor<2x1x8x6xf32>
  %1 = nn.convolution %0, %b strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x1x8x6xf32>, tensor<1x16x8x1xf32> -> tensor<2x1x16x6xf32>
  %2 = tensor.collapse_shape %1 [[0], [1, 2], [3]] : tensor<2x1x16x6xf32> into tensor<2x16x6xf32>
  %3 = tensor.expand_shape %2 [[0], [1, 2], [3]] output_shape [2, 2, 8, 6] : tensor<2x16x6xf32> into tensor<2x2x8x6xf32>
  %4 = nn.convolution %3, %groups strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x2x8x6xf32>, tensor<2x8x8x1xf32> -> tensor<2x2x8x6xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2], [3]] : tensor<2x2x8x6xf32> into tensor<2x16x6xf32>
  %6 = nn.broadcast %5 dims [0, 2, 3] : tensor<2x16x6xf32> -> tensor<2x1x16x6xf32>
  %7 = nn.convolution %6, %c strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x1x16x6xf32>, tensor<1x16x16x1xf32> -> tensor<2x1x16x6xf32>
  %8 = nn.convolution %7, %d strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x1x16x6xf32>, tensor<1x32x16x1xf32> -> tensor<2x1x32x6xf32>
  %9 = tensor.collapse_shape %8 [[0], [1, 2], [3]] : tensor<2x1x32x6xf32> into tensor<2x32x6xf32>
  %10 = nn.einsum "acd,ec->ade" %9, %e : tensor<2x32x6xf32>, tensor<20x32xf32> -> tensor<2x6x20xf32>
  return %10 : tensor<2x6x20xf32>
}

// -----

// A latent between the stream and the heads, and a gate of numbers that a matmul
// multiplies without a sum, stay whole.
// CHECK-LABEL: @latent_of_heads(
// CHECK-SAME: {nn.dims = ["embed", "other"], nn.param = "latent"}
// CHECK-SAME: {nn.dims = ["other", "kv_heads", "other"], nn.param = "q"}
// CHECK-SAME: {nn.dims = ["embed", "kv_heads", "other"], nn.param = "k"}
// CHECK-SAME: {nn.dims = ["kv_heads", "other", "embed"], nn.param = "o"}
// CHECK-SAME: {nn.dims = ["embed", "other"], nn.param = "gate"}
func.func @latent_of_heads(%x: tensor<2x6x16xf32> {nn.input = "x"}, %latent: tensor<16x4xf32> {nn.param = "latent"},
    %q: tensor<4x2x8xf32> {nn.param = "q"}, %k: tensor<16x2x8xf32> {nn.param = "k"},
    %o: tensor<2x8x16xf32> {nn.param = "o"}, %gate: tensor<16x5xf32> {nn.param = "gate"}) -> (tensor<2x6x16xf32>, tensor<2x6x5xf32>) {
  %0 = nn.einsum "abc,cd->abd" %x, %latent : tensor<2x6x16xf32>, tensor<16x4xf32> -> tensor<2x6x4xf32>
  %1 = nn.einsum "abc,cde->abde" %0, %q : tensor<2x6x4xf32>, tensor<4x2x8xf32> -> tensor<2x6x2x8xf32>
  %2 = nn.einsum "abc,cde->abde" %x, %k : tensor<2x6x16xf32>, tensor<16x2x8xf32> -> tensor<2x6x2x8xf32>
  %3 = nn.einsum "abcd,aecd->acbe" %1, %2 : tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32> -> tensor<2x2x6x6xf32>
  %4 = math.tanh %3 : tensor<2x2x6x6xf32>
  %5 = nn.einsum "acbe,aecd->abcd" %4, %2 : tensor<2x2x6x6xf32>, tensor<2x6x2x8xf32> -> tensor<2x6x2x8xf32>
  %6 = nn.einsum "abcd,cde->abe" %5, %o : tensor<2x6x2x8xf32>, tensor<2x8x16xf32> -> tensor<2x6x16xf32>
  %7 = arith.addf %x, %6 : tensor<2x6x16xf32>
  %8 = nn.einsum "abc,cd->abd" %7, %gate : tensor<2x6x16xf32>, tensor<16x5xf32> -> tensor<2x6x5xf32>
  %9 = nn.einsum "abc,abc->abc" %8, %8 : tensor<2x6x5xf32>, tensor<2x6x5xf32> -> tensor<2x6x5xf32>
  return %7, %9 : tensor<2x6x16xf32>, tensor<2x6x5xf32>
}
