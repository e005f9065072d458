// RUN: tessera-opt %s --rt-convert-nn --split-input-file | FileCheck %s
// RUN: tessera-opt %s --rt-convert-nn --split-input-file --remarks-filter=conversion -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A linear layer is one call, whatever its dimensions.
// CHECK-LABEL: func.func @linear
// CHECK: %[[Y:.*]] = rt.matmul %{{.*}}, %{{.*}} <batch = 1, m = 8, n = 12, k = 16, lda = 16, ldb = 12, ldc = 12, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0>
// CHECK: return %[[Y]]
func.func @linear(%x: tensor<2x4x16xf32>, %w: tensor<16x3x4xf32>) -> tensor<2x4x3x4xf32> {
  %0 = nn.einsum "bsd,dhk->bshk" %x, %w : tensor<2x4x16xf32>, tensor<16x3x4xf32> -> tensor<2x4x3x4xf32>
  return %0 : tensor<2x4x3x4xf32>
}

// If dimensions cannot be collapsed, the smaller operand is copied.
// REMARK-COUNT-1: remark: [Missed] MatmulNeedsCopy {{.*}} CopiedBytes=96, Reason="dimensions of a group are not contiguous"
// REMARK-NOT: MatmulNeedsCopy
// CHECK-LABEL: func.func @copied
// CHECK: %[[W:.*]] = rt.copy %arg1 strides [3, 6, 1] base 0 : tensor<4x2x3xf32> -> tensor<2x4x3xf32>
// CHECK: rt.matmul %arg0, %[[W]] <batch = 1, m = 8, n = 3, k = 8,
func.func @copied(%x: tensor<8x2x4xf32>, %w: tensor<4x2x3xf32>) -> tensor<8x3xf32> {
  %0 = nn.einsum "bij,jik->bk" %x, %w : tensor<8x2x4xf32>, tensor<4x2x3xf32> -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// The library multiplies f16 with sums in f32.
// CHECK-LABEL: func.func @half
// CHECK: rt.matmul {{.*}} : tensor<4x8xf16>, tensor<8x2xf16> -> tensor<4x2xf16>
func.func @half(%x: tensor<4x8xf16>, %w: tensor<8x2xf16>) -> tensor<4x2xf16> {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<4x8xf16>, tensor<8x2xf16> -> tensor<4x2xf16>
  return %0 : tensor<4x2xf16>
}

// Integers are summed by loops.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: rt.matmul
// CHECK: arith.muli
func.func @integers(%x: tensor<4x8xi32>, %w: tensor<8x2xi32>) -> tensor<4x2xi32> {
  %0 = nn.einsum "sd,df->sf" %x, %w : tensor<4x8xi32>, tensor<8x2xi32> -> tensor<4x2xi32>
  return %0 : tensor<4x2xi32>
}

// linalg's own matmuls; the init of a matmul is added.
// CHECK-LABEL: func.func @linalg
// CHECK: %[[P:.*]] = rt.matmul %arg0, %arg1 <batch = 1, m = 4, n = 2, k = 8,
// CHECK: %[[Q:.*]] = rt.matmul %[[P]], %arg2 <batch = 1, m = 4, n = 2, k = 2, {{.*}} trans_b = 1>
// CHECK: linalg.generic {{.*}} ins(%[[Q]], %arg3
func.func @linalg(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>, %v: tensor<2x2xf32>, %init: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x2xf32>) outs(%f : tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%0, %v : tensor<4x2xf32>, tensor<2x2xf32>) outs(%init : tensor<4x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @attention
// CHECK: rt.attention causal window 3 scale 5.000000e-01 %arg0, %arg1, %arg1 offsets %arg2, %c0
func.func @attention(%q: tensor<1x4x2x1x4xf32>, %k: tensor<1x8x2x4xf32>, %o: index) -> tensor<1x4x2x1x4xf32> {
  %0 = nn.attention causal window 3 scale 0.5 %q, %k, %k q_offset %o : tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x4x2x1x4xf32>
  return %0 : tensor<1x4x2x1x4xf32>
}

// The call knows which keys are padding, on each device.
// CHECK-LABEL: func.func @padded_keys
// CHECK: rt.attention scale 5.000000e-01 keys 6 %arg0, %arg1, %arg1 :
// CHECK: rt.attention scale 5.000000e-01 keys 6 %arg0, %arg1, %arg1 offsets %c0, %arg2 :
func.func @padded_keys(%q: tensor<1x4x2x1x4xf32>, %k: tensor<1x8x2x4xf32>, %o: index) -> (tensor<1x4x2x1x4xf32>, tensor<1x4x2x1x4xf32>) {
  %0 = nn.attention scale 0.5 keys 6 %q, %k, %k : tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x4x2x1x4xf32>
  %1 = nn.attention scale 0.5 keys 6 %q, %k, %k k_offset %o : tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x4x2x1x4xf32>
  return %0, %1 : tensor<1x4x2x1x4xf32>, tensor<1x4x2x1x4xf32>
}

// Statistics of bf16 are in f32.
// CHECK-LABEL: func.func @softmax
// CHECK: arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: math.exp %{{.*}} : f32
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: arith.divf %{{.*}}, %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @softmax(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = nn.softmax %x dim 1 : tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// An id outside of this device's part reads nothing.
// CHECK-LABEL: func.func @embedding
// CHECK: %[[P:.*]] = arith.subi %{{.*}}, %arg2 : index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[P]], %c16
// CHECK: %[[SAFE:.*]] = arith.select %[[IN]], %[[P]], %c0
// CHECK: %[[ROW:.*]] = tensor.extract %arg0[%[[SAFE]],
// CHECK: arith.select %[[IN]], %[[ROW]], %{{.*}} : f32
func.func @embedding(%t: tensor<16x4xf32>, %i: tensor<3xi32>, %o: index) -> tensor<3x4xf32> {
  %0 = nn.embedding %t, %i offset %o : tensor<16x4xf32>, tensor<3xi32> -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Angles in f64; pairs (i, i + n/2) by reading the other half.
// CHECK-LABEL: func.func @rope
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f64
// CHECK: math.cos %{{.*}} : f32
// CHECK: math.sin %{{.*}} : f32
// CHECK: tensor.expand_shape %arg0 {{\[}}[0], [1], [2, 3]] output_shape [8, 2, 2, 2]
// CHECK: tensor.collapse_shape
func.func @rope(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  %0 = nn.rope %x dim 0 theta 1.0e4 : tensor<8x2x4xf32>
  return %0 : tensor<8x2x4xf32>
}

// The other elements stay, and their pairs are not read.
// CHECK-LABEL: func.func @rope_of_the_first_elements
// CHECK: arith.cmpi ult, %{{.*}}, %c2
// CHECK: arith.cmpi ult, %[[LAST:.*]], %c4
// CHECK: tensor.extract %arg0
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
func.func @rope_of_the_first_elements(%x: tensor<8x2x7xf32>) -> tensor<8x2x7xf32> {
  %0 = nn.rope %x dim 0 theta 1.0e4 width 4 : tensor<8x2x7xf32>
  return %0 : tensor<8x2x7xf32>
}

// Pairs of neighbours.
// CHECK-LABEL: func.func @rope_of_neighbours
// CHECK: tensor.expand_shape %arg0 {{\[}}[0], [1], [2, 3]] output_shape [8, 2, 3, 2]
// CHECK: tensor.collapse_shape
// CHECK: %[[OTHER:.*]] = arith.xori %{{.*}}, %c1
// CHECK: %[[READ:.*]] = arith.select %{{.*}}, %[[OTHER]], %c0
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}, %[[READ]]]
func.func @rope_of_neighbours(%x: tensor<8x2x6xf32>) -> tensor<8x2x6xf32> {
  %0 = nn.rope %x dim 0 theta 1.0e4 interleaved : tensor<8x2x6xf32>
  %1 = nn.rope %0 dim 0 theta 1.0e4 width 4 interleaved : tensor<8x2x6xf32>
  return %1 : tensor<8x2x6xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// A slice is a copy that starts at the device's offset; equal offsets are
// merged.
// CHECK-LABEL: func.func @slices
// CHECK: %[[O:.*]] = dist.axis_offset <{"tp"}> size 4 on @mesh : index
// CHECK-NOT: dist.axis_offset
// CHECK: rt.copy %arg0 strides [8, 1] base 0 start %[[O]] dim 1 : tensor<2x8xf32> -> tensor<2x4xf32>
// CHECK: rt.copy %arg1 strides [8, 1] base 0 start %[[O]] dim 1 : tensor<2x8xf32> -> tensor<2x4xf32>
func.func @slices(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = dist.all_slice %x dim 1 over <{"tp"}> on @mesh : tensor<2x8xf32> -> tensor<2x4xf32>
  %1 = dist.all_slice %y dim 1 over <{"tp"}> on @mesh : tensor<2x8xf32> -> tensor<2x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// The whole value on coordinate 0, the neutral element on the others.
// CHECK-LABEL: func.func @to_partial
// CHECK: %[[C:.*]] = dist.axis_offset <{"tp"}> size 1 on @mesh : index
// CHECK: %[[N:.*]] = arith.constant 0xFF800000 : f32
// CHECK: arith.cmpi eq, %[[C]], %c0
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[N]] : f32
func.func @to_partial(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = dist.to_partial <max> %x over <{"tp"}> on @mesh : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @to_partial_index
// CHECK: arith.constant -9223372036854775808 : index
func.func @to_partial_index(%x: tensor<8xindex>) -> tensor<8xindex> {
  %0 = dist.to_partial <max> %x over <{"tp"}> on @mesh : tensor<8xindex>
  return %0 : tensor<8xindex>
}

// -----

// CHECK-LABEL: func.func @movement
// CHECK: rt.copy %arg0 strides [8, 2] base 10 : tensor<4x8xf32> -> tensor<2x3xf32>
// CHECK: rt.concat %arg0, %arg0 dim 0
// CHECK: tensor.extract %arg0
func.func @movement(%x: tensor<4x8xf32>) -> (tensor<2x3xf32>, tensor<8x8xf32>, tensor<6x8xf32>) {
  %0 = tensor.extract_slice %x[1, 2] [2, 3] [1, 2] : tensor<4x8xf32> to tensor<2x3xf32>
  %1 = tensor.concat dim(0) %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %2 = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<4x8xf32> to tensor<6x8xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<8x8xf32>, tensor<6x8xf32>
}

// -----

// The library has no f64: matmuls and a softmax in f64 are loops.
// CHECK-LABEL: func.func @attention_f64
// CHECK-NOT: rt.attention
// CHECK-NOT: arith.truncf
// CHECK: rt.matmul {{.*}} -> tensor<1x2x1x4x4xf64>
// CHECK: math.exp {{.*}} : f64
// CHECK: rt.matmul {{.*}}xf64>
func.func @attention_f64(%q: tensor<1x4x2x1x4xf64>, %k: tensor<1x4x2x4xf64>) -> tensor<1x4x2x1x4xf64> {
  %0 = nn.attention causal scale 0.5 %q, %k, %k : tensor<1x4x2x1x4xf64>, tensor<1x4x2x4xf64>, tensor<1x4x2x4xf64> -> tensor<1x4x2x1x4xf64>
  return %0 : tensor<1x4x2x1x4xf64>
}

// -----

// The call's result is f32 for a reader that adds results up.
// CHECK-LABEL: func.func @attention_to_f32
// CHECK-NOT: linalg.generic
// CHECK: rt.attention scale {{.*}} : tensor<1x4x2x1x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16> -> tensor<1x4x2x1x4xf32> stats tensor<1x4x2x1xf32>
// CHECK: rt.attention_backward scale {{.*}}, tensor<1x4x2x1xf32> -> tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @attention_to_f32(%q: tensor<1x4x2x1x4xbf16>, %k: tensor<1x8x2x4xbf16>, %g: tensor<1x4x2x1x4xbf16>)
    -> (tensor<1x4x2x1x4xf32>, tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>) {
  %0, %l = nn.attention scale 0.5 %q, %k, %k : tensor<1x4x2x1x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16> -> tensor<1x4x2x1x4xf32> stats tensor<1x4x2x1xf32>
  %1:3 = nn.attention_backward scale 0.5 %g, %q, %k, %k, %g, %l : tensor<1x4x2x1x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x4x2x1x4xbf16>, tensor<1x4x2x1xf32>
    -> tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>
  return %0, %1#0, %1#1 : tensor<1x4x2x1x4xf32>, tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>
}

// -----

// The statistic is a result of the call; f16 goes through f32, but the
// statistic, which is f32 already, does not.
// CHECK-LABEL: func.func @attention_gradients
// CHECK: %[[O:.*]], %[[L:.*]] = rt.attention causal scale 5.000000e-01 {{.*}} -> tensor<1x4x2x1x4xf32> stats tensor<1x4x2x1xf32>
// CHECK: rt.attention_backward causal scale 5.000000e-01 %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[L]] offsets %arg3, %c0 : tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>
func.func @attention_gradients(%q: tensor<1x4x2x1x4xf16>, %k: tensor<1x8x2x4xf16>, %g: tensor<1x4x2x1x4xf16>, %o: index)
    -> (tensor<1x4x2x1x4xf16>, tensor<1x8x2x4xf16>, tensor<1x8x2x4xf16>) {
  %0, %l = nn.attention causal scale 0.5 %q, %k, %k q_offset %o : tensor<1x4x2x1x4xf16>, tensor<1x8x2x4xf16>, tensor<1x8x2x4xf16> -> tensor<1x4x2x1x4xf16> stats tensor<1x4x2x1xf32>
  %1:3 = nn.attention_backward causal scale 0.5 %g, %q, %k, %k, %0, %l q_offset %o : tensor<1x4x2x1x4xf16>, tensor<1x8x2x4xf16>, tensor<1x8x2x4xf16>, tensor<1x4x2x1x4xf16>, tensor<1x4x2x1xf32>
  return %1#0, %1#1, %1#2 : tensor<1x4x2x1x4xf16>, tensor<1x8x2x4xf16>, tensor<1x8x2x4xf16>
}

// -----

// A table's gradient: in the requested type if the library has it.
// CHECK-LABEL: func.func @embedding_gradient
// CHECK: rt.embedding_backward %arg0, %arg1 : tensor<2x8x16xbf16>, tensor<2x8xi32> -> tensor<64x16xf32>
// CHECK: %[[F:.*]] = rt.embedding_backward %{{.*}}, %arg1 limit 61 offset %arg3 : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[F]]
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @embedding_gradient(%g: tensor<2x8x16xbf16>, %ids: tensor<2x8xi32>, %h: tensor<2x8x16xf16>, %o: index) -> (tensor<64x16xf32>, tensor<64x16xf16>) {
  %0 = nn.embedding_backward %g, %ids : tensor<2x8x16xbf16>, tensor<2x8xi32> -> tensor<64x16xf32>
  %1 = nn.embedding_backward %h, %ids rows 61 offset %o : tensor<2x8x16xf16>, tensor<2x8xi32> -> tensor<64x16xf16>
  return %0, %1 : tensor<64x16xf32>, tensor<64x16xf16>
}

// -----

// A scatter starts from x; the library has no f16.
// CHECK-LABEL: func.func @scatter
// CHECK: rt.embedding_backward %arg2, %arg1 init %arg0 : tensor<64x16xbf16> : tensor<2x8x16xbf16>, tensor<2x8xi32> -> tensor<64x16xbf16>
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%arg3 : tensor<64x16xf16>) outs({{.*}} : tensor<64x16xf32>)
// CHECK: %[[S:.*]] = rt.embedding_backward replace %{{.*}}, %arg1 limit 61 offset %arg5 init %[[X]] : tensor<64x16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[S]]
func.func @scatter(%x: tensor<64x16xbf16>, %ids: tensor<2x8xi32>, %u: tensor<2x8x16xbf16>, %y: tensor<64x16xf16>, %v: tensor<2x8x16xf16>, %o: index) -> (tensor<64x16xbf16>, tensor<64x16xf16>) {
  %0 = nn.scatter <add> %x, %ids, %u : tensor<64x16xbf16>, tensor<2x8xi32>, tensor<2x8x16xbf16>
  %1 = nn.scatter <set> %y, %ids, %v rows 61 offset %o : tensor<64x16xf16>, tensor<2x8xi32>, tensor<2x8x16xf16>
  return %0, %1 : tensor<64x16xbf16>, tensor<64x16xf16>
}

// -----

// A transpose of dimensions of size one moves nothing.
// CHECK-LABEL: func.func @transpose_ones
// CHECK: %[[C:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2, 3], [4]] : tensor<1x4x1x2x3xf32> into tensor<4x2x3xf32>
// CHECK: %[[A:.*]] = tensor.expand_shape %[[C]] {{\[\[}}0], [1, 2], [3, 4]] output_shape [4, 1, 2, 3, 1]
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%arg0
// CHECK: return %[[A]], %arg1, %arg2, %[[D]]
func.func @transpose_ones(%x: tensor<1x4x1x2x3xf32>, %one: tensor<1x1xf32>, %same: tensor<4x2xf32>) -> (tensor<4x1x2x3x1xf32>, tensor<1x1xf32>, tensor<4x2xf32>, tensor<1x4x1x3x2xf32>) {
  %0 = nn.transpose %x [1, 2, 3, 4, 0] : tensor<1x4x1x2x3xf32> -> tensor<4x1x2x3x1xf32>
  %1 = nn.transpose %one [1, 0] : tensor<1x1xf32> -> tensor<1x1xf32>
  %2 = nn.transpose %same [0, 1] : tensor<4x2xf32> -> tensor<4x2xf32>
  %3 = nn.transpose %x [0, 1, 2, 4, 3] : tensor<1x4x1x2x3xf32> -> tensor<1x4x1x3x2xf32>
  return %0, %1, %2, %3 : tensor<4x1x2x3x1xf32>, tensor<1x1xf32>, tensor<4x2xf32>, tensor<1x4x1x3x2xf32>
}

// -----

// An optimizer is one op with a result for each tensor that it updates.
// CHECK-LABEL: func.func @adamw
// CHECK: %[[U:.*]]:3 = linalg.generic {{.*}} ins(%arg0, %arg1, %arg2, %arg3, %arg4, %arg4, %arg4, %arg4, %arg5 : tensor<8x16xbf16>, {{.*}}) outs(%{{.*}} : tensor<8x16xbf16>, tensor<8x16xf32>, tensor<8x16xf32>)
// CHECK: math.sqrt
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-COUNT-3: arith.select
// CHECK: return %[[U]]#0, %[[U]]#1, %[[U]]#2
func.func @adamw(%p: tensor<8x16xbf16>, %m: tensor<8x16xf32>, %v: tensor<8x16xf32>, %g: tensor<8x16xf32>, %s: tensor<f32>, %skip: tensor<i1>)
    -> (tensor<8x16xbf16>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %0:3 = nn.adamw %p, %m, %v, %g scale %s lr %s corrections %s, %s skip %skip : tensor<i1> beta1 0.9 beta2 0.95 eps 1.0e-8 weight_decay 0.1
      : tensor<8x16xbf16>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<f32>
  return %0#0, %0#1, %0#2 : tensor<8x16xbf16>, tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// The library does not multiply empty matrices.
// CHECK-LABEL: func.func @matmul_no_elements
// CHECK-NOT: rt.matmul
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4x0xf32>, tensor<0x8xf32>)
// CHECK-NOT: rt.matmul
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4x0xf32>, tensor<0x8xf32>) outs(%arg2
// CHECK-NOT: rt.matmul
func.func @matmul_no_elements(%x: tensor<4x0xf32>, %w: tensor<0x8xf32>, %init: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = nn.einsum "mk,kn->mn" %x, %w : tensor<4x0xf32>, tensor<0x8xf32> -> tensor<4x8xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<4x0xf32>, tensor<0x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
