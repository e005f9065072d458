// RUN: tessera-opt %s | FileCheck %s
// RUN: tessera-opt %s | tessera-opt | FileCheck %s
// RUN: tessera-opt %s --emit-bytecode | tessera-opt | FileCheck %s
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | FileCheck %s

// CHECK-LABEL: func.func @arguments
// CHECK-SAME: nn.dims = ["embed", "heads"], nn.init = #nn.init<normal, 2.000000e-02 : f32>, nn.param = "blocks.0.attn.wq"
// CHECK-SAME: nn.init = #nn.init<ones>
func.func @arguments(
    %w: tensor<16x4xf32> {nn.param = "blocks.0.attn.wq",
                          nn.dims = ["embed", "heads"],
                          nn.init = #nn.init<normal, 2.0e-2 : f32>},
    %g: tensor<16xf32> {nn.param = "ln.gamma", nn.init = #nn.init<ones>}) {
  return
}

// CHECK-LABEL: func.func @quantized
func.func @quantized(%x: tensor<2x16xbf16>, %w: tensor<16x8xbf16>, %amax: tensor<bf16>) -> tensor<2x8xbf16> {
  // CHECK: %[[X:.*]], %[[SX:.*]] = nn.quantize %{{.*}} by %{{.*}} : tensor<2x16xbf16>, tensor<bf16> -> tensor<2x16xf8E5M2>
  %qx, %sx = nn.quantize %x by %amax : tensor<2x16xbf16>, tensor<bf16> -> tensor<2x16xf8E5M2>
  %qw, %sw = nn.quantize %w by %amax : tensor<16x8xbf16>, tensor<bf16> -> tensor<16x8xf8E4M3FN>
  // CHECK: nn.einsum "bd,df->bf" %[[X]], %{{.*}} scales %[[SX]], %{{.*}} : tensor<2x16xf8E5M2>, tensor<16x8xf8E4M3FN> -> tensor<2x8xbf16>
  %0 = nn.einsum "bd,df->bf" %qx, %qw scales %sx, %sw
      : tensor<2x16xf8E5M2>, tensor<16x8xf8E4M3FN> -> tensor<2x8xbf16>
  return %0 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @einsum
func.func @einsum(%x: tensor<2x8x16xf32>, %w: tensor<16x4x6xf32>,
                  %h: tensor<2x8x16xbf16>, %v: tensor<16x3xbf16>) {
  // CHECK: nn.einsum "bsd,dhk->bshk" %{{.*}}, %{{.*}} {nn.dims = ["batch", "seq", "heads", "dim"]} : tensor<2x8x16xf32>, tensor<16x4x6xf32> -> tensor<2x8x4x6xf32>
  %0 = nn.einsum "bsd,dhk->bshk" %x, %w {nn.dims = ["batch", "seq", "heads", "dim"]}
      : tensor<2x8x16xf32>, tensor<16x4x6xf32> -> tensor<2x8x4x6xf32>
  // A wider result.
  // CHECK: nn.einsum "bsd,dv->bsv" {{.*}} tensor<16x3xbf16> -> tensor<2x8x3xf32>
  %1 = nn.einsum "bsd,dv->bsv" %h, %v
      : tensor<2x8x16xbf16>, tensor<16x3xbf16> -> tensor<2x8x3xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x8x4x2x6xf32>, %k: tensor<2x9x4x6xf32>,
                     %v: tensor<2x9x4x5xf32>, %i: index, %s: tensor<2x8xi32>) {
  // CHECK: nn.attention scale 1.250000e-01 %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x8x4x2x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x5xf32> -> tensor<2x8x4x2x5xf32>
  %0 = nn.attention scale 0.125 %q, %k, %v
      : tensor<2x8x4x2x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x5xf32> -> tensor<2x8x4x2x5xf32>
  // CHECK: nn.attention scale 1.250000e-01 %{{.*}} : tensor<2x8x4x2x6xbf16>, tensor<2x9x4x6xbf16>, tensor<2x9x4x5xbf16> -> tensor<2x8x4x2x5xf32>
  %qh = tensor.empty() : tensor<2x8x4x2x6xbf16>
  %kh = tensor.empty() : tensor<2x9x4x6xbf16>
  %vh = tensor.empty() : tensor<2x9x4x5xbf16>
  %wide = nn.attention scale 0.125 %qh, %kh, %vh
      : tensor<2x8x4x2x6xbf16>, tensor<2x9x4x6xbf16>, tensor<2x9x4x5xbf16> -> tensor<2x8x4x2x5xf32>
  // CHECK: nn.attention causal scale 1.000000e+00 keys 7 %{{.*}}, %{{.*}}, %{{.*}} q_offset %{{.*}} k_offset %{{.*}} :
  %1 = nn.attention causal scale 1.0 keys 7 %q, %k, %v q_offset %i k_offset %i
      : tensor<2x8x4x2x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x5xf32> -> tensor<2x8x4x2x5xf32>
  // CHECK: nn.attention causal window 4 scale 1.000000e+00 keys 7 %{{.*}}, %{{.*}}, %{{.*}} :
  %2 = nn.attention causal window 4 scale 1.0 keys 7 %q, %k, %v
      : tensor<2x8x4x2x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x5xf32> -> tensor<2x8x4x2x5xf32>
  // CHECK: nn.attention causal scale 1.000000e+00 order <shards = 2, size = 16> %{{.*}}, %{{.*}}, %{{.*}} q_offset %{{.*}} starts %{{.*}} : tensor<2x8xi32> : tensor<2x8x4x2x6xf32>,
  %3 = nn.attention causal scale 1.0 order <shards = 2, size = 16> %q, %k, %v q_offset %i
      starts %s : tensor<2x8xi32>
      : tensor<2x8x4x2x6xf32>, tensor<2x9x4x6xf32>, tensor<2x9x4x5xf32> -> tensor<2x8x4x2x5xf32>
  return
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<2x8x16xf32>, %g: tensor<16xf32>, %i: index) {
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} eps 1.000000e-05 : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>
  %0 = nn.layer_norm %x, %g, %g eps 1.0e-5
      : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>
  // CHECK: nn.rms_norm %{{.*}}, %{{.*}} eps 1.000000e-05 : tensor<2x8x16xf32>, tensor<16xf32>
  %1 = nn.rms_norm %x, %g eps 1.0e-5 : tensor<2x8x16xf32>, tensor<16xf32>
  // CHECK: nn.rope %{{.*}} dim 1 theta 1.000000e+04 : tensor<2x8x16xf32>
  %2 = nn.rope %x dim 1 theta 1.0e4 : tensor<2x8x16xf32>
  // CHECK: nn.rope %{{.*}} dim 1 theta 1.000000e+04 scaling <factor = 2.000000e+00 : f64> width 12 offset %{{.*}} : tensor<2x8x16xf32>
  %part = nn.rope %x dim 1 theta 1.0e4 scaling <factor = 2.0> width 12 offset %i : tensor<2x8x16xf32>
  // CHECK: nn.rope %{{.*}} dim 1 theta 1.000000e+04 offset %{{.*}} order <shards = 4, size = 32> : tensor<2x8x16xf32>
  %ordered = nn.rope %x dim 1 theta 1.0e4 offset %i order <shards = 4, size = 32> : tensor<2x8x16xf32>
  // CHECK: nn.iota order <shards = 1, size = 8> : tensor<8xi32>
  %positions = nn.iota order <shards = 1, size = 8> : tensor<8xi32>
  // CHECK: nn.rope %{{.*}} dim 1 theta 5.000000e+05 scaling <factor = 8.000000e+00 : f64, low_freq_factor = 1.000000e+00 : f64, high_freq_factor = 4.000000e+00 : f64, original_context = 8192> offset %{{.*}} : tensor<2x8x16xf32>
  %3 = nn.rope %x dim 1 theta 5.0e5 scaling <factor = 8.0, low_freq_factor = 1.0, high_freq_factor = 4.0, original_context = 8192>
      offset %i : tensor<2x8x16xf32>
  // CHECK: nn.rope %{{.*}} dim 1 frequencies [1.000000e+00, -0.12345678901234566] width 4 offset %{{.*}} : tensor<2x8x16xf32>
  %given = nn.rope %x dim 1 frequencies [1.0, -0.12345678901234567] width 4 offset %i : tensor<2x8x16xf32>
  // CHECK: nn.rope %{{.*}} dim 1 theta 1.000000e+04 width 12 interleaved offset %{{.*}} : tensor<2x8x16xf32>
  %neighbours = nn.rope %x dim 1 theta 1.0e4 width 12 interleaved offset %i : tensor<2x8x16xf32>
  // CHECK: nn.rope inverse %{{.*}} dim 0 frequencies [1.000000e+00] width 2 order <shards = 1, size = 2> : tensor<2x8x16xf32>
  %back = nn.rope inverse %x dim 0 frequencies [1.0] width 2 order <shards = 1, size = 2> : tensor<2x8x16xf32>
  // CHECK: nn.stop_gradient %{{.*}} : tensor<2x8x16xf32>
  %stopped = nn.stop_gradient %x : tensor<2x8x16xf32>
  // CHECK: nn.softmax %{{.*}} dim 1 : tensor<2x8x16xf32>
  %4 = nn.softmax %x dim 1 : tensor<2x8x16xf32>
  // CHECK: nn.gelu <tanh> %{{.*}} : tensor<2x8x16xf32>
  %5 = nn.gelu <tanh> %x : tensor<2x8x16xf32>
  // CHECK: nn.gelu <erf> %{{.*}} : tensor<2x8x16xf32>
  %6 = nn.gelu <erf> %x : tensor<2x8x16xf32>
  // CHECK: nn.silu %{{.*}} : tensor<2x8x16xf32>
  %7 = nn.silu %x : tensor<2x8x16xf32>
  return
}

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<2x1x3x8x8xf32>, %w: tensor<1x4x3x3x3xf32>,
                        %s: tensor<2x4x2x9xbf16>, %t: tensor<4x3x2x2xbf16>) {
  // CHECK: nn.convolution %{{.*}}, %{{.*}} strides [2, 1] low [1, -1] high [0, 2] dilation [1, 2] x_dilation [1, 1] : tensor<2x1x3x8x8xf32>, tensor<1x4x3x3x3xf32> -> tensor<2x1x4x4x5xf32>
  %0 = nn.convolution %x, %w strides [2, 1] low [1, -1] high [0, 2] dilation [1, 2] x_dilation [1, 1]
      : tensor<2x1x3x8x8xf32>, tensor<1x4x3x3x3xf32> -> tensor<2x1x4x4x5xf32>
  // CHECK: nn.convolution %{{.*}}, %{{.*}} strides [1] low [1] high [1] dilation [1] x_dilation [2] reversed : tensor<2x4x2x9xbf16>, tensor<4x3x2x2xbf16> -> tensor<2x4x3x18xf32>
  %1 = nn.convolution %s, %t strides [1] low [1] high [1] dilation [1] x_dilation [2] reversed
      : tensor<2x4x2x9xbf16>, tensor<4x3x2x2xbf16> -> tensor<2x4x3x18xf32>
  return
}

// CHECK-LABEL: func.func @lookups
func.func @lookups(%table: tensor<64x16xf32>, %ids: tensor<2x8xi32>,
                   %logits: tensor<2x8x64xbf16>, %i: index) {
  // CHECK: nn.embedding %{{.*}}, %{{.*}} : tensor<64x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  %0 = nn.embedding %table, %ids
      : tensor<64x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  // CHECK: nn.embedding %{{.*}}, %{{.*}} rows 128 offset %{{.*}} :
  %1 = nn.embedding %table, %ids rows 128 offset %i
      : tensor<64x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>
  // CHECK: nn.cross_entropy %{{.*}}, %{{.*}} ignore -100 : tensor<2x8x64xbf16>, tensor<2x8xi32> -> tensor<2x8xf32>
  %2 = nn.cross_entropy %logits, %ids ignore -100
      : tensor<2x8x64xbf16>, tensor<2x8xi32> -> tensor<2x8xf32>
  // CHECK: nn.cross_entropy %{{.*}}, %{{.*}} ignore -100 classes 50 : tensor<2x8x64xbf16>
  %true = nn.cross_entropy %logits, %ids ignore -100 classes 50
      : tensor<2x8x64xbf16>, tensor<2x8xi32> -> tensor<2x8xf32>
  // CHECK: nn.take_along_axis %{{.*}}, %{{.*}} size 256 offset %{{.*}} : tensor<2x8x64xbf16>, tensor<2x8xi32> -> tensor<2x8xbf16>
  %3 = nn.take_along_axis %logits, %ids size 256 offset %i
      : tensor<2x8x64xbf16>, tensor<2x8xi32> -> tensor<2x8xbf16>
  return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<8x16xf32>, %i: index) {
  // CHECK: nn.reduce <max> %{{.*}} dims [1] : tensor<8x16xf32> -> tensor<8xf32>
  %0 = nn.reduce <max> %x dims [1] : tensor<8x16xf32> -> tensor<8xf32>
  // A reduction to rank 0.
  // CHECK: nn.reduce <sum> %{{.*}} dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
  %1 = nn.reduce <sum> %x dims [0, 1] : tensor<8x16xf32> -> tensor<f32>
  // CHECK: nn.arg_reduce <max> %{{.*}} dim 1 : tensor<8x16xf32> -> tensor<8xf32>, tensor<8xi32>
  %value, %index = nn.arg_reduce <max> %x dim 1 : tensor<8x16xf32> -> tensor<8xf32>, tensor<8xi32>
  // CHECK: nn.broadcast %{{.*}} dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  %2 = nn.broadcast %0 dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  // CHECK: nn.broadcast %{{.*}} dims [] : tensor<f32> -> tensor<8x16xf32>
  %3 = nn.broadcast %1 dims [] : tensor<f32> -> tensor<8x16xf32>
  // CHECK: nn.transpose %{{.*}} [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  %4 = nn.transpose %x [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  // CHECK: nn.iota : tensor<8xi32>
  %5 = nn.iota : tensor<8xi32>
  // CHECK: nn.iota offset %{{.*}} : tensor<8xi64>
  %6 = nn.iota offset %i : tensor<8xi64>
  // CHECK: nn.mask_padding %{{.*}} dim 0 size 7 value 0.000000e+00 : f32 offset %{{.*}} : tensor<8x16xf32>
  %7 = nn.mask_padding %x dim 0 size 7 value 0.0 : f32 offset %i : tensor<8x16xf32>
  return
}
