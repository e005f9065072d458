// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// Attributes of arguments and ops.
// expected-error @+1 {{nn.dims: expects one name for each dimension of 'tensor<16x4xf32>' but got ["embed"]}}
func.func @dims(%w: tensor<16x4xf32> {nn.dims = ["embed"]}) { return }
// -----
// expected-error @+1 {{nn.init: expects #nn.init with a number for normal and constant alone but got #nn.init<normal>}}
func.func @init(%w: tensor<16x4xf32> {nn.init = #nn.init<normal>}) { return }
// -----
// expected-error @+1 {{nn.init: expects #nn.init with a number for normal and constant alone but got #nn.init<ones, 1.000000e+00 : f32>}}
func.func @init(%w: tensor<16x4xf32> {nn.init = #nn.init<ones, 1.0 : f32>}) { return }
// -----
// expected-error @+1 {{nn.param: expects a name but got 3 : i64}}
func.func @param(%w: tensor<16x4xf32> {nn.param = 3}) { return }
// -----
// expected-error @+1 {{argument 0: nn.param: expects a ranked tensor but got 'f32'}}
func.func @scalar(%w: f32 {nn.param = "w"}) { return }
// -----
// expected-error @+1 {{argument 0: expects no attribute 'nn.parm' on an argument; the nearest one known there is 'nn.param'}}
func.func @misspelt(%w: tensor<16x4xf32> {nn.parm = "w"}) { return }
// -----
// Names become file names.
// expected-error @+1 {{argument 0: nn.param: expects a name for a file, of 1 to 251 bytes without '/' and control characters, but got "../w"}}
func.func @outside(%w: tensor<16x4xf32> {nn.param = "../w"}) { return }
// -----
// expected-error @+1 {{argument 0: nn.state: expects a name for a file, of 1 to 251 bytes without '/' and control characters, but got ".."}}
func.func @above(%w: tensor<16x4xf32> {nn.state = ".."}) { return }
// -----
// expected-error @+1 {{argument 0: nn.input: expects a name for a file, of 1 to 251 bytes without '/' and control characters, but got ""}}
func.func @empty(%w: tensor<16x4xf32> {nn.input = ""}) { return }
// -----
// expected-error @+1 {{argument 0: nn.of: expects a name for a file, of 1 to 251 bytes without '/' and control characters, but got "a/b"}}
func.func @of(%w: tensor<16x4xf32> {nn.state = "w", nn.of = "a/b"}) { return }
// -----
// expected-error @+1 {{result 0: nn.output: expects a name for a file, of 1 to 251 bytes without '/' and control characters, but got "/y"}}
func.func @result(%w: f32) -> (f32 {nn.output = "/y"}) { return %w : f32 }
// -----
// expected-error @+1 {{result 1: nn.output: expects a name of its own but got "y", the name of result 0}}
func.func @results(%w: f32) -> (f32 {nn.output = "y"}, f32 {nn.output = "y"}) { return %w, %w : f32, f32 }
// -----
// expected-error @+1 {{result 0: expects no attribute 'nn.outputs' on a result; the nearest one known there is 'nn.output'}}
func.func @misspelt_result(%w: f32) -> (f32 {nn.outputs = "y"}) { return %w : f32 }
// -----
// expected-error @+1 {{argument 1: nn.state: expects a name of its own but got "w", the name of argument 0}}
func.func @one_name(%w: tensor<4xf32> {nn.param = "w"}, %m: tensor<4xf32> {nn.state = "w"}) { return }
// -----
// expected-error @+1 {{nn.tiles: expects an array of sizes from 0 but got 1 : i64}}
func.func @tiles(%a: tensor<4xf32> {nn.tiles = 1}) { return }

// -----

// expected-error @+1 {{argument 0: nn.tiles: expects nn.stored_shape and nn.logical_shape beside it}}
func.func @no_shapes(%a: tensor<4xf32> {nn.tiles = array<i64: 2, 1>}) { return }

// -----

// expected-error @+1 {{argument 0: nn.logical_shape: expects as many elements in array<i64: 4> as in array<i64: 2, 3>}}
func.func @other_size(%a: tensor<4xf32> {nn.stored_shape = array<i64: 4>, nn.logical_shape = array<i64: 2, 3>}) { return }

// -----

// expected-error @+1 {{argument 0: nn.tiles: expects divisors of array<i64: 2, 3> but got array<i64: 1, 2>}}
func.func @no_divisor(%a: tensor<6xf32> {nn.stored_shape = array<i64: 6>, nn.logical_shape = array<i64: 2, 3>, nn.tiles = array<i64: 1, 2>}) { return }
// -----
// expected-error @+1 {{argument 0: nn.source: expects #nn.source on a parameter but got 1 : i64 on 'tensor<4xf32>'}}
func.func @source(%w: tensor<4xf32> {nn.param = "w", nn.source = 1}) { return }
// -----
// expected-error @+1 {{argument 0: nn.source: expects #nn.source on a parameter}}
func.func @source_of_input(%w: tensor<4xf32> {nn.input = "w", nn.source = #nn.source<"w", [4], offset 0, strides [1]>}) { return }
// -----
// expected-error @+1 {{argument 0: nn.control: expects "norm_limit" or "loss_limit" on a tensor<f32> but got "limit" on 'tensor<f32>'}}
func.func @control_name(%x: tensor<f32> {nn.control = "limit"}) { return }

// -----

// expected-error @+1 {{argument 0: nn.control: expects "norm_limit" or "loss_limit" on a tensor<f32> but got "loss_limit" on 'tensor<f64>'}}
func.func @control_type(%x: tensor<f64> {nn.control = "loss_limit"}) { return }

// -----

// expected-error @+1 {{argument 1: nn.control: expects a name of its own but got "loss_limit", the name of argument 0}}
func.func @control_twice(%x: tensor<f32> {nn.control = "loss_limit"}, %y: tensor<f32> {nn.control = "loss_limit"}) { return }

// -----

// expected-error @+1 {{argument 0: nn.frozen: expects a parameter (nn.param) but got 'tensor<4xf32>'}}
func.func @frozen_input(%x: tensor<4xf32> {nn.input = "x", nn.frozen}) { return }
// -----
// expected-error @+1 {{nn.frozen}}
func.func @frozen_value(%w: tensor<4xf32> {nn.param = "w", nn.frozen = 1}) { return }
// -----
// expected-error @+1 {{argument 0: nn.source: expects a stride for each dimension of 'tensor<4x2xf32>' but got #nn.source<"w", [8], offset 0, strides [1]>}}
func.func @source_rank(%w: tensor<4x2xf32> {nn.param = "w", nn.source = #nn.source<"w", [8], offset 0, strides [1]>}) { return }
// -----
// expected-error @+1 {{nn.vocab: expects a number of ids, at least 1, but got 0 : i64}}
func.func @vocab(%w: tensor<4xi32> {nn.vocab = 0}) { return }
// -----
// expected-error @+1 {{nn.unsigned: expects a tensor of integers of 8, 16, 32 or 64 bits but got 'tensor<4xf32>'}}
func.func @unsigned_float(%w: tensor<4xf32> {nn.unsigned}) { return }
// -----
// expected-error @+1 {{nn.unsigned: expects a tensor of integers of 8, 16, 32 or 64 bits but got 'tensor<4xi1>'}}
func.func @unsigned_bit(%w: tensor<4xi1>) -> (tensor<4xi1> {nn.unsigned}) { return %w : tensor<4xi1> }
// -----
// expected-error @+1 {{nn.unsigned: expects an input or a result but got argument 0 with nn.param}}
func.func @unsigned_parameter(%w: tensor<4xi8> {nn.param = "w", nn.unsigned}) { return }
// -----
// expected-error @+1 {{nn.unsigned}}
func.func @unsigned_value(%w: tensor<4xi8> {nn.unsigned = true}) { return }
// -----
// expected-error @+1 {{nn.ignored: expects an id but got "none"}}
func.func @ignored(%w: tensor<4xi32> {nn.ignored = "none"}) { return }
// -----
func.func @op(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects no attribute 'nn.param' on an operation; it belongs on an argument}}
  %0 = nn.silu %x {nn.param = "w"} : tensor<4xf32>
  return
}
// -----
// Shapes are static.
func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{must be statically shaped tensor}}
  %0 = nn.silu %x : tensor<?xf32>
  return
}
// -----
func.func @einsum_c1(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{(C1) expects a spec lhs,rhs->result with no letter twice in one tensor but got "bb,bc->bc"}}
  %0 = nn.einsum "bb,bc->bc" %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  return
}
// -----
func.func @einsum_c1(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{(C1) expects a spec lhs,rhs->result with no letter twice in one tensor but got "bd,dc"}}
  %0 = nn.einsum "bd,dc" %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  return
}
// -----
func.func @einsum_c2(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{(C2) expects a letter for each dimension but got "bsd" for 'tensor<2x4xf32>'}}
  %0 = nn.einsum "bsd,dc->bc" %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  return
}
// -----
func.func @einsum_c3(%x: tensor<2x4xf32>, %w: tensor<5x3xf32>) {
  // expected-error @+1 {{(C3) expects one size for 'd' but got 4 and 5}}
  %0 = nn.einsum "bd,dc->bc" %x, %w : tensor<2x4xf32>, tensor<5x3xf32> -> tensor<2x3xf32>
  return
}
// -----
func.func @einsum_c4(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{(C4) expects 'e' of the result in an operand}}
  %0 = nn.einsum "bd,dc->be" %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  return
}
// -----
func.func @einsum_c4(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{(C4) expects 'c' in the result or in both operands}}
  %0 = nn.einsum "bd,dc->b" %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2xf32>
  return
}
// -----
func.func @einsum_c5(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{(C5) expects operands of one element type and a result of that or a wider float}}
  %0 = nn.einsum "bd,dc->bc" %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xbf16>
  return
}
// -----
func.func @einsum_c6(%x: tensor<2x4xf8E4M3FN>, %w: tensor<4x3xf8E5M2>) {
  // expected-error @+1 {{(C6) expects two scales but got 0}}
  %0 = nn.einsum "bd,dc->bc" %x, %w : tensor<2x4xf8E4M3FN>, tensor<4x3xf8E5M2> -> tensor<2x3xbf16>
  return
}
// -----
func.func @einsum_c6(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{(C6) expects operands of f8E4M3FN or f8E5M2 and a result of a float of 16 bits or more where there are scales but got 'tensor<2x4xf32>', 'tensor<4x3xf32>' and 'tensor<2x3xf32>'}}
  %0 = nn.einsum "bd,dc->bc" %x, %w scales %s, %s : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  return
}
// -----
func.func @quantize_c1(%x: tensor<2x4xf32>, %amax: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expects one number as amax but got 'tensor<2xf32>'}}
  %0, %1 = nn.quantize %x by %amax : tensor<2x4xf32>, tensor<2xf32> -> tensor<2x4xf8E5M2>
  return
}
// -----
func.func @quantize_c2(%x: tensor<2x4xf32>, %amax: tensor<f32>) {
  // expected-error @+1 {{(C2) expects a result of the shape of 'tensor<2x4xf32>' with elements of f8E4M3FN or f8E5M2 but got 'tensor<2x4xbf16>'}}
  %0, %1 = nn.quantize %x by %amax : tensor<2x4xf32>, tensor<f32> -> tensor<2x4xbf16>
  return
}
// -----
func.func @attention_c1(%q: tensor<2x8x4x6xf32>, %k: tensor<2x8x4x6xf32>) {
  // expected-error @+1 {{(C1) expects ranks 5, 4, 4 and 5 but got 4, 4, 4 and 4}}
  %0 = nn.attention scale 1.0 %q, %k, %k : tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32> -> tensor<2x8x4x6xf32>
  return
}
// -----
func.func @attention_c2(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x3x6xf32>) {
  // expected-error @+1 {{(C2) expects batch, group and dim sizes that agree but got}}
  %0 = nn.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x6xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x6xf32> -> tensor<2x8x4x1x6xf32>
  return
}
// -----
func.func @attention_c3(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>, %v: tensor<2x9x4x6xf32>) {
  // expected-error @+1 {{(C3) expects keys and values of one length but got 8 and 9}}
  %0 = nn.attention scale 1.0 %q, %k, %v : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x9x4x6xf32> -> tensor<2x8x4x1x6xf32>
  return
}
// -----
func.func @attention_c6(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>) {
  // expected-error @+1 {{(C6) expects a window of at least 1 but got 0}}
  %0 = nn.attention causal window 0 scale 1.0 %q, %k, %k : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32> -> tensor<2x8x4x1x6xf32>
  return
}
// -----
func.func @attention_c6_causal(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>) {
  // expected-error @+1 {{(C6) expects 'causal' with a window}}
  %0 = nn.attention window 2 scale 1.0 %q, %k, %k : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32> -> tensor<2x8x4x1x6xf32>
  return
}
// -----
func.func @attention_c7(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>, %s: tensor<2x4xi32>) {
  // expected-error @+1 {{(C7) expects starts of i32 and shape [2, 8] but got 'tensor<2x4xi32>'}}
  %0 = nn.attention causal scale 1.0 %q, %k, %k starts %s : tensor<2x4xi32> : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32> -> tensor<2x8x4x1x6xf32>
  return
}
// -----
func.func @attention_c7_type(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>, %s: tensor<2x8xi64>) {
  // expected-error @+1 {{(C7) expects starts of i32 and shape [2, 8] but got 'tensor<2x8xi64>'}}
  %0 = nn.attention causal scale 1.0 %q, %k, %k starts %s : tensor<2x8xi64> : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32> -> tensor<2x8x4x1x6xf32>
  return
}
// -----
// expected-error @+1 {{(C1) expects a size that twice the shards divide but got 12 and 4 shards}}
func.func @zigzag_c1(%x: tensor<12xi32> {nn.order = [#nn.zigzag<shards = 4, size = 12>]}) { return }
// -----
// expected-error @+1 {{nn.order: expects #nn.zigzag or unit for each dimension of 'tensor<2x8xi32>' but got [unit]}}
func.func @order(%x: tensor<2x8xi32> {nn.order = [unit]}) { return }
// -----
// expected-error @+1 {{nn.label_shift: expects 0 to 1024 but got -1 : i64}}
func.func @label_shift(%x: tensor<2x8xi32> {nn.input = "labels", nn.label_shift = -1}) { return }
// -----
// expected-error @+1 {{nn.eod: expects an id, at least 0, but got -1 : i64}}
func.func @eod(%x: tensor<2x8xi32> {nn.eod = -1}) { return }
// -----
func.func @attention_c4_result(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xf32>) {
  // expected-error @+1 {{(C4) expects a result of element type 'f32' or f32 but got 'bf16'}}
  %0 = nn.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xf32>, tensor<2x8x4x6xf32> -> tensor<2x8x4x1x6xbf16>
  return
}
// -----
func.func @attention_c4(%q: tensor<2x8x4x1x6xf32>, %k: tensor<2x8x4x6xbf16>) {
  // expected-error @+1 {{(C4) expects one element type but got}}
  %0 = nn.attention scale 1.0 %q, %k, %k : tensor<2x8x4x1x6xf32>, tensor<2x8x4x6xbf16>, tensor<2x8x4x6xbf16> -> tensor<2x8x4x1x6xf32>
  return
}
// -----
func.func @layer_norm_c1(%x: tensor<2x16xf32>, %g: tensor<16xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects beta of rank 1 and the size of the last dimension of 'tensor<2x16xf32>' but got 'tensor<8xf32>'}}
  %0 = nn.layer_norm %x, %g, %b eps 1.0e-5 : tensor<2x16xf32>, tensor<16xf32>, tensor<8xf32>
  return
}
// -----
func.func @rms_norm_c1(%x: tensor<2x16xf32>, %g: tensor<2x16xf32>) {
  // expected-error @+1 {{(C1) expects gamma of rank 1}}
  %0 = nn.rms_norm %x, %g eps 1.0e-5 : tensor<2x16xf32>, tensor<2x16xf32>
  return
}
// -----
func.func @rope_c1(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{(C1) expects a dimension in [0, 1) but got 1}}
  %0 = nn.rope %x dim 1 theta 1.0e4 : tensor<2x16xf32>
  return
}
// -----
func.func @rope_c2_width(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{(C2) expects an even number of rotated elements but got 5}}
  %0 = nn.rope %x dim 0 theta 1.0e4 width 5 : tensor<2x16xf32>
  return
}
// -----
func.func @rope_c4(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{(C4) expects a width from 2 to 16 but got 18}}
  %0 = nn.rope %x dim 0 theta 1.0e4 width 18 : tensor<2x16xf32>
  return
}
// -----
func.func @rope_c4_zero(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{(C4) expects a width from 2 to 16 but got 0}}
  %0 = nn.rope %x dim 0 theta 1.0e4 width 0 : tensor<2x16xf32>
  return
}
// -----
func.func @rope_scaling(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{expects all of low_freq_factor, high_freq_factor and original_context, or none}}
  %0 = nn.rope %x dim 0 theta 1.0e4 scaling <factor = 8.0, low_freq_factor = 1.0> : tensor<2x16xf32>
  return
}
// -----
func.func @rope_c2(%x: tensor<2x15xf32>) {
  // expected-error @+1 {{(C2) expects an even number of rotated elements but got 15}}
  %0 = nn.rope %x dim 0 theta 1.0e4 : tensor<2x15xf32>
  return
}
// -----
func.func @rope_c3(%x: tensor<2x1048578xf32>) {
  // expected-error @+1 {{(C3) expects rotated elements of at most 1048576 but got 1048578}}
  %0 = nn.rope %x dim 0 theta 1.0e4 : tensor<2x1048578xf32>
  return
}
// -----
func.func @rope_c5_none(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{(C5) expects a theta or frequencies but got none}}
  %0 = nn.rope %x dim 0 : tensor<2x16xf32>
  return
}
// -----
func.func @rope_c5_both(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{(C5) expects a theta or frequencies but got both}}
  %0 = nn.rope %x dim 0 theta 1.0e4 frequencies [1.0] width 2 : tensor<2x16xf32>
  return
}
// -----
func.func @rope_c5_scaling(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{(C5) expects no scaling beside frequencies but got #nn.rope_scaling<factor = 2.000000e+00 : f64>}}
  %0 = nn.rope %x dim 0 scaling <factor = 2.0> frequencies [1.0] width 2 : tensor<2x16xf32>
  return
}
// -----
func.func @rope_c6_count(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{(C6) expects 8 frequencies but got 2}}
  %0 = nn.rope %x dim 0 frequencies [1.0, 0.5] : tensor<2x16xf32>
  return
}
// -----
func.func @rope_c6_infinite(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{(C6) expects finite frequencies but got}}
  %0 = "nn.rope"(%x) {dim = 0 : i64, frequencies = array<f64: 0x7FF0000000000000>, width = 2 : i64} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}
// -----
func.func @embedding_c1(%t: tensor<4xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{(C1) expects a table of rank 2 but got 'tensor<4xf32>'}}
  %0 = nn.embedding %t, %i : tensor<4xf32>, tensor<2xi32> -> tensor<2xf32>
  return
}
// -----
func.func @embedding_c2(%t: tensor<4x8xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{(C2) expects a result of shape [2, 8] but got 'tensor<2x4xf32>'}}
  %0 = nn.embedding %t, %i : tensor<4x8xf32>, tensor<2xi32> -> tensor<2x4xf32>
  return
}
// -----
func.func @embedding_c3(%t: tensor<4x8xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{(C3) expects one element type but got}}
  %0 = nn.embedding %t, %i : tensor<4x8xf32>, tensor<2xi32> -> tensor<2x8xbf16>
  return
}
// -----
func.func @embedding_c4(%t: tensor<4x8xf32>, %i: tensor<2xi32>) {
  // expected-error @+1 {{(C4) expects rows of at least 0 but got -1}}
  %0 = nn.embedding %t, %i rows -1 : tensor<4x8xf32>, tensor<2xi32> -> tensor<2x8xf32>
  return
}
// -----
func.func @convolution_c1(%x: tensor<2x4x3xf32>) {
  // expected-error @+1 {{(C1) expects tensors of one rank from 4 to 6 but got}}
  %0 = nn.convolution %x, %x strides [] low [] high [] dilation [] x_dilation [] : tensor<2x4x3xf32>, tensor<2x4x3xf32> -> tensor<2x4x3xf32>
  return
}
// -----
func.func @convolution_c2(%x: tensor<2x4x3x8xf32>, %w: tensor<4x5x3x2xf32>) {
  // expected-error @+1 {{(C2) expects 1 numbers from 1 to 1048576 as strides but got [0]}}
  %0 = nn.convolution %x, %w strides [0] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x4x3x8xf32>, tensor<4x5x3x2xf32> -> tensor<2x4x5x7xf32>
  return
}
// -----
func.func @convolution_c2(%x: tensor<2x4x3x8xf32>, %w: tensor<4x5x3x2xf32>) {
  // expected-error @+1 {{(C2) expects 1 numbers from -1099511627776 to 1099511627776 as low but got [0, 0]}}
  %0 = nn.convolution %x, %w strides [1] low [0, 0] high [0] dilation [1] x_dilation [1] : tensor<2x4x3x8xf32>, tensor<4x5x3x2xf32> -> tensor<2x4x5x7xf32>
  return
}
// -----
func.func @convolution_c2(%x: tensor<40x4x3x8xf32>, %w: tensor<4x5x3x2xf32>) {
  // expected-error @+1 {{(C2) expects at most 281474976710656 elements of x and its zeros but got [40, 4, 3, 1099511627784]}}
  %0 = nn.convolution %x, %w strides [1] low [1099511627776] high [0] dilation [1] x_dilation [1] : tensor<40x4x3x8xf32>, tensor<4x5x3x2xf32> -> tensor<40x4x5x7xf32>
  return
}
// -----
func.func @convolution_c3(%x: tensor<2x4x3x8xf32>, %w: tensor<5x4x3x2xf32>) {
  // expected-error @+1 {{(C3) expects x [batch, group, in, ...] and a weight [group, out, in, ...] but got}}
  %0 = nn.convolution %x, %w strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x4x3x8xf32>, tensor<5x4x3x2xf32> -> tensor<2x4x5x7xf32>
  return
}
// -----
func.func @convolution_c4(%x: tensor<2x4x3x8xf32>, %w: tensor<4x5x3x2xf32>) {
  // expected-error @+1 {{(C4) expects a result of shape [2, 4, 5, 7] but got 'tensor<2x4x5x8xf32>'}}
  %0 = nn.convolution %x, %w strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x4x3x8xf32>, tensor<4x5x3x2xf32> -> tensor<2x4x5x8xf32>
  return
}
// -----
func.func @convolution_c5(%x: tensor<2x4x3x8xf32>, %w: tensor<4x5x3x2xbf16>) {
  // expected-error @+1 {{(C5) expects operands of one element type of at least 16 bits and a result of that or a wider float but got}}
  %0 = nn.convolution %x, %w strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<2x4x3x8xf32>, tensor<4x5x3x2xbf16> -> tensor<2x4x5x7xf32>
  return
}
// -----
func.func @softmax_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects a dimension in [0, 2) but got 2}}
  %0 = nn.softmax %x dim 2 : tensor<4x8xf32>
  return
}
// -----
func.func @cross_entropy_c1(%x: tensor<4x8xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{(C1) expects labels of shape [4] but got 'tensor<3xi32>'}}
  %0 = nn.cross_entropy %x, %l ignore -100 : tensor<4x8xf32>, tensor<3xi32> -> tensor<4xf32>
  return
}
// -----
func.func @cross_entropy_c1(%x: tensor<4x8xbf16>, %l: tensor<4xi32>) {
  // expected-error @+1 {{(C1) expects a result of f32 (f64 for f64 logits) but got 'tensor<4xbf16>'}}
  %0 = nn.cross_entropy %x, %l ignore -100 : tensor<4x8xbf16>, tensor<4xi32> -> tensor<4xbf16>
  return
}
// -----
func.func @cross_entropy_c3(%x: tensor<4x8xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{(C3) expects from 1 to 8 classes but got 9}}
  %0 = nn.cross_entropy %x, %l ignore -100 classes 9 : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf32>
  return
}
// -----
func.func @pick_c1(%x: tensor<4x8xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{(C1) expects an index of shape [4], optionally with one more dimension at the end, but got 'tensor<3xi32>'}}
  %0 = nn.take_along_axis %x, %l : tensor<4x8xf32>, tensor<3xi32> -> tensor<4xf32>
  return
}
// -----
func.func @pick_c2(%x: tensor<4x8xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{(C2) expects one element type but got}}
  %0 = nn.take_along_axis %x, %l : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf64>
  return
}
// -----
func.func @pick_c3(%x: tensor<4x8xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{(C3) expects a size of at least 0 but got -8}}
  %0 = nn.take_along_axis %x, %l size -8 : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf32>
  return
}
// -----
func.func @reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects ascending dimensions in [0, 2) but got [1, 0]}}
  %0 = nn.reduce <sum> %x dims [1, 0] : tensor<4x8xf32> -> tensor<f32>
  return
}
// -----
func.func @reduce_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C2) expects a result of shape [4] but got 'tensor<8xf32>'}}
  %0 = nn.reduce <sum> %x dims [1] : tensor<4x8xf32> -> tensor<8xf32>
  return
}
// -----
func.func @reduce_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C3) expects one element type}}
  %0 = nn.reduce <sum> %x dims [1] : tensor<4x8xf32> -> tensor<4xf64>
  return
}
// -----
func.func @arg_reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects a dimension in [0, 2) but got 2}}
  %v, %i = nn.arg_reduce <max> %x dim 2 : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  return
}
// -----
func.func @arg_reduce_c1_empty(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{(C1) expects one element at least along dimension 1 but got 'tensor<4x0xf32>'}}
  %v, %i = nn.arg_reduce <max> %x dim 1 : tensor<4x0xf32> -> tensor<4xf32>, tensor<4xi32>
  return
}
// -----
func.func @arg_reduce_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C2) expects max or min but got sum}}
  %v, %i = nn.arg_reduce <sum> %x dim 1 : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  return
}
// -----
func.func @arg_reduce_c3_value(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C3) expects a value of shape [4] but got 'tensor<8xf32>'}}
  %v, %i = nn.arg_reduce <max> %x dim 1 : tensor<4x8xf32> -> tensor<8xf32>, tensor<4xi32>
  return
}
// -----
func.func @arg_reduce_c3_index(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C3) expects an index of shape [4] but got 'tensor<8xi32>'}}
  %v, %i = nn.arg_reduce <max> %x dim 1 : tensor<4x8xf32> -> tensor<4xf32>, tensor<8xi32>
  return
}
// -----
func.func @arg_reduce_c4(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C4) expects one element type but got}}
  %v, %i = nn.arg_reduce <max> %x dim 1 : tensor<4x8xf32> -> tensor<4xf64>, tensor<4xi32>
  return
}
// -----
func.func @arg_reduce_c5(%x: tensor<4x129xf32>) {
  // 127 is the largest position that eight bits can hold.
  %0, %1 = nn.arg_reduce <max> %x dim 0 : tensor<4x129xf32> -> tensor<129xf32>, tensor<129xi8>
  // expected-error @+1 {{(C5) expects an index that can hold 128 but got 'tensor<4xi8>'}}
  %v, %i = nn.arg_reduce <max> %x dim 1 : tensor<4x129xf32> -> tensor<4xf32>, tensor<4xi8>
  return
}
// -----
func.func @broadcast_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects 2 ascending dimensions in [0, 3) but got [1, 0]}}
  %0 = nn.broadcast %x dims [1, 0] : tensor<4x8xf32> -> tensor<8x4x2xf32>
  return
}
// -----
func.func @broadcast_c2(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C2) expects size 4 in dimension 1 but got 8}}
  %0 = nn.broadcast %x dims [1] : tensor<4xf32> -> tensor<4x8xf32>
  return
}
// -----
func.func @broadcast_c3(%x: tensor<4xf32>) {
  // expected-error @+1 {{(C3) expects one element type}}
  %0 = nn.broadcast %x dims [0] : tensor<4xf32> -> tensor<4x8xf64>
  return
}
// -----
func.func @transpose_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects a permutation of 2 dimensions but got [0, 0]}}
  %0 = nn.transpose %x [0, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
// -----
func.func @transpose_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C2) expects a result of shape [8, 4] but got 'tensor<4x8xf32>'}}
  %0 = nn.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
// -----
func.func @iota_c1() {
  // expected-error @+1 {{(C1) expects a result of rank 1 but got 'tensor<4x8xi32>'}}
  %0 = nn.iota : tensor<4x8xi32>
  return
}
// -----
func.func @mask_padding_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects a dimension in [0, 2) but got 2}}
  %0 = nn.mask_padding %x dim 2 size 3 value 0.0 : f32 : tensor<4x8xf32>
  return
}
// -----
func.func @mask_padding_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C2) expects a value of the element type of 'tensor<4x8xf32>' but got 0 : i32}}
  %0 = nn.mask_padding %x dim 0 size 3 value 0 : i32 : tensor<4x8xf32>
  return
}
