// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @attention_c5(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>) {
  // expected-error @+1 {{(C5) expects no stats or 1 but got 2}}
  %0, %1, %2 = nn.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32> -> tensor<2x8x4x1x6xf32> stats tensor<2x8x4x1xf32>, tensor<2x8x4x1xf32>
  return
}
// -----
func.func @attention_c5_shape(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>) {
  // expected-error @+1 {{(C5) expects a stat of shape [2, 8, 4, 1] but got 'tensor<2x8x4xf32>'}}
  %0, %1 = nn.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32> -> tensor<2x8x4x1x6xf32> stats tensor<2x8x4xf32>
  return
}
// -----
func.func @attention_c5_type(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>) {
  // expected-error @+1 {{(C5) expects stats of f32 (f64 for f64) but got 'tensor<2x8x4x1xf64>'}}
  %0, %1 = nn.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32> -> tensor<2x8x4x1x6xf32> stats tensor<2x8x4x1xf64>
  return
}
// -----
func.func @layer_norm_c2(%x: tensor<2x8x16xf32>, %g: tensor<16xf32>) {
  // expected-error @+1 {{(C2) expects no stats or 2 but got 1}}
  %0, %1 = nn.layer_norm %x, %g, %g eps 1.0 : tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32> stats tensor<2x8xf32>
  return
}
// -----
func.func @rms_norm_c2(%x: tensor<2x8x16xf32>, %g: tensor<16xf32>) {
  // expected-error @+1 {{(C2) expects a stat of shape [2, 8] but got 'tensor<2xf32>'}}
  %0, %1 = nn.rms_norm %x, %g eps 1.0 : tensor<2x8x16xf32>, tensor<16xf32> stats tensor<2xf32>
  return
}
// -----
func.func @cross_entropy_c2(%x: tensor<2x8x16xf32>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{(C2) expects stats of f32 (f64 for f64) but got 'tensor<2x8xbf16>'}}
  %0, %1, %2 = nn.cross_entropy %x, %i ignore -100 : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<2x8xf32> stats tensor<2x8xf32>, tensor<2x8xbf16>
  return
}
// -----
func.func @attention_backward_c1(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x3x6xf32>, %l: tensor<2x8x4x1xf32>) {
  // expected-error @+1 {{(C2) expects batch, group and dim sizes that agree but got}}
  %0:3 = nn.attention_backward scale 1.0 %q, %q, %k, %k, %q, %l : tensor<2x8x4x1x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x4x1x6xf32>, tensor<2x8x4x1xf32>
  return
}
// -----
func.func @attention_backward_c1_starts(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>, %l: tensor<2x8x4x1xf32>, %s: tensor<8xi32>) {
  // expected-error @+1 {{(C7) expects starts of i32 and shape [2, 8] but got 'tensor<8xi32>'}}
  %0:3 = nn.attention_backward causal scale 1.0 %q, %q, %k, %k, %q, %l starts %s : tensor<8xi32> : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x1x6xf32>, tensor<2x8x4x1xf32>
  return
}
// -----
func.func @attention_backward_c1_window(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>, %l: tensor<2x8x4x1xf32>) {
  // expected-error @+1 {{(C6) expects a window of at least 1 but got -1}}
  %0:3 = nn.attention_backward causal window -1 scale 1.0 %q, %q, %k, %k, %q, %l : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x1x6xf32>, tensor<2x8x4x1xf32>
  return
}
// -----
func.func @attention_backward_c3(%q: tensor<2x8x4x1x6xbf16>, %k: tensor<2x8x4x6xbf16>, %l: tensor<2x8x4x1xf32>) {
  // expected-error @+1 {{(C3) expects gradients like 'tensor<2x8x4x6xbf16>', or all in f32, but got 'tensor<2x8x4x6xbf16>'}}
  %0:3 = nn.attention_backward scale 1.0 %q, %q, %k, %k, %q, %l : tensor<2x8x4x1x6xbf16>, tensor<2x8x4x6xbf16>, tensor<2x8x4x6xbf16>, tensor<2x8x4x1x6xbf16>, tensor<2x8x4x1xf32> -> tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xbf16>, tensor<2x8x4x6xf32>
  return
}
// -----
func.func @attention_backward_c2(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>, %l: tensor<2x8x4xf32>) {
  // expected-error @+1 {{(C2) expects a stat of shape [2, 8, 4, 1] but got 'tensor<2x8x4xf32>'}}
  %0:3 = nn.attention_backward scale 1.0 %q, %q, %k, %k, %q, %l : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x1x6xf32>, tensor<2x8x4xf32>
  return
}
// -----
func.func @layer_norm_backward_c1(%x: tensor<2x8x16xf32>, %g: tensor<8xf32>, %s: tensor<2x8xf32>) {
  // expected-error @+1 {{(C1) expects gamma of rank 1}}
  %0 = nn.layer_norm_backward %x, %x, %g, %s, %s : tensor<2x8x16xf32>, tensor<8xf32>, tensor<2x8xf32>
  return
}
// -----
func.func @layer_norm_backward_c2(%x: tensor<2x8x16xf32>, %g: tensor<16xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{(C2) expects a stat of shape [2, 8]}}
  %0 = nn.layer_norm_backward %x, %x, %g, %s, %s : tensor<2x8x16xf32>, tensor<16xf32>, tensor<8xf32>
  return
}
// -----
func.func @rms_norm_backward_c1(%x: tensor<2x8x16xf32>, %g: tensor<8xf32>, %s: tensor<2x8xf32>) {
  // expected-error @+1 {{(C1) expects gamma of rank 1}}
  %0 = nn.rms_norm_backward %x, %x, %g, %s : tensor<2x8x16xf32>, tensor<8xf32>, tensor<2x8xf32>
  return
}
// -----
func.func @rms_norm_backward_c2(%x: tensor<2x8x16xf32>, %g: tensor<16xf32>, %s: tensor<2x8xf64>) {
  // expected-error @+1 {{(C2) expects stats of f32 (f64 for f64)}}
  %0 = nn.rms_norm_backward %x, %x, %g, %s : tensor<2x8x16xf32>, tensor<16xf32>, tensor<2x8xf64>
  return
}
// -----
func.func @embedding_backward_c1(%x: tensor<2x8x16xf32>, %i: tensor<2x7xi32>) {
  // expected-error @+1 {{(C1) expects grad of shape [2, 7, 16] but got 'tensor<2x8x16xf32>'}}
  %0 = nn.embedding_backward %x, %i : tensor<2x8x16xf32>, tensor<2x7xi32> -> tensor<64x16xf32>
  return
}
// -----
func.func @embedding_backward_c2(%x: tensor<2x8x16xf32>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{(C2) expects a result of rank 2 but got 'tensor<64x16x1xf32>'}}
  %0 = nn.embedding_backward %x, %i : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16x1xf32>
  return
}
// -----
func.func @embedding_backward_c2_type(%x: tensor<2x8x16xf32>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{(C2) expects a result of element type 'f32' or a wider one but got 'bf16'}}
  %0 = nn.embedding_backward %x, %i : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xbf16>
  return
}
// -----
func.func @embedding_backward_c3(%x: tensor<2x8x16xf32>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{(C3) expects rows of at least 0 but got -1}}
  %0 = nn.embedding_backward %x, %i rows -1 : tensor<2x8x16xf32>, tensor<2x8xi32> -> tensor<64x16xf32>
  return
}
// -----
func.func @cross_entropy_backward_c1(%x: tensor<2x8x16xf32>, %s: tensor<2x8xf64>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{(C1) expects stats of f32 (f64 for f64)}}
  %0 = nn.cross_entropy_backward %s, %x, %i, %s, %s ignore -100 : tensor<2x8xf64>, tensor<2x8x16xf32>, tensor<2x8xi32>
  return
}
// -----
func.func @cross_entropy_backward_c2(%x: tensor<2x8x16xf32>, %s: tensor<2x8xf32>, %i: tensor<2x7xi32>) {
  // expected-error @+1 {{(C2) expects labels of shape [2, 8] but got 'tensor<2x7xi32>'}}
  %0 = nn.cross_entropy_backward %s, %x, %i, %s, %s ignore -100 : tensor<2x8xf32>, tensor<2x8x16xf32>, tensor<2x7xi32>
  return
}
// -----
func.func @cross_entropy_backward_c3(%x: tensor<2x8x16xf32>, %s: tensor<2x8xf32>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{(C3) expects 1 class at least but got 0}}
  %0 = nn.cross_entropy_backward %s, %x, %i, %s, %s ignore -100 classes 0 : tensor<2x8xf32>, tensor<2x8x16xf32>, tensor<2x8xi32>
  return
}
// -----
func.func @pick_backward_c1(%s: tensor<2x8xf32>, %i: tensor<2x7xi32>) {
  // expected-error @+1 {{(C1) expects an index of shape [2, 8], optionally with one more dimension at the end, but got 'tensor<2x7xi32>'}}
  %0 = nn.take_along_axis_backward %s, %i : tensor<2x8xf32>, tensor<2x7xi32> -> tensor<2x8x16xf32>
  return
}
// -----
func.func @pick_backward_c2(%s: tensor<2x8xf32>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{(C2) expects one element type}}
  %0 = nn.take_along_axis_backward %s, %i : tensor<2x8xf32>, tensor<2x8xi32> -> tensor<2x8x16xbf16>
  return
}
// -----
func.func @adamw_c1(%p: tensor<8xf32>, %m: tensor<8xf32>, %g: tensor<9xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{(C1) expects grad of shape [8] but got 'tensor<9xf32>'}}
  %0:3 = nn.adamw %p, %m, %m, %g scale %s lr %s corrections %s, %s beta1 0.9 beta2 0.95 eps 1.0e-8 weight_decay 0.1 : tensor<8xf32>, tensor<8xf32>, tensor<9xf32>, tensor<f32>
  return
}
// -----
func.func @adamw_c2_state(%p: tensor<8xf32>, %m: tensor<8xbf16>, %g: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{(C2) expects state of element type 'f32' but got 'tensor<8xbf16>'}}
  %0:3 = nn.adamw %p, %m, %m, %g scale %s lr %s corrections %s, %s beta1 0.9 beta2 0.95 eps 1.0e-8 weight_decay 0.1 : tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>, tensor<f32>
  return
}
// -----
func.func @adamw_c2_wider(%p: tensor<8xf64>, %m: tensor<8xf32>, %g: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{(C2) expects element types no wider than 'f32' but got 'tensor<8xf64>'}}
  %0:3 = nn.adamw %p, %m, %m, %g scale %s lr %s corrections %s, %s beta1 0.9 beta2 0.95 eps 1.0e-8 weight_decay 0.1 : tensor<8xf64>, tensor<8xf32>, tensor<8xf32>, tensor<f32>
  return
}
// -----
func.func @adamw_c2_scalars(%p: tensor<8xf32>, %m: tensor<8xbf16>, %g: tensor<8xf32>, %s: tensor<bf16>) {
  // expected-error @+1 {{(C2) expects scalars of f32 or f64 but got 'bf16'}}
  %0:3 = nn.adamw %p, %m, %m, %g scale %s lr %s corrections %s, %s beta1 0.9 beta2 0.95 eps 1.0e-8 weight_decay 0.1 : tensor<8xf32>, tensor<8xbf16>, tensor<8xf32>, tensor<bf16>
  return
}
// -----
func.func @sgd_c1(%p: tensor<8xf32>, %g: tensor<9xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{(C1) expects grad of shape [8] but got 'tensor<9xf32>'}}
  %0 = nn.sgd %p, %g scale %s lr %s momentum 0.0 weight_decay 0.0 : tensor<8xf32>, tensor<9xf32>, tensor<f32>
  return
}
// -----
func.func @sgd_c2(%p: tensor<8xf32>, %v: tensor<8xbf16>, %s: tensor<f32>) {
  // expected-error @+1 {{(C2) expects state of element type 'f32' but got 'tensor<8xbf16>'}}
  %0:2 = nn.sgd %p, %p scale %s lr %s velocity %v : tensor<8xbf16> momentum 0.0 weight_decay 0.0 : tensor<8xf32>, tensor<8xf32>, tensor<f32> -> tensor<8xbf16>
  return
}
// -----
func.func @sgd_c3(%p: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{(C3) expects a new velocity for each velocity, of its type, but got}}
  %0:2 = nn.sgd %p, %p scale %s lr %s momentum 0.0 weight_decay 0.0 : tensor<8xf32>, tensor<8xf32>, tensor<f32> -> tensor<8xf32>
  return
}
