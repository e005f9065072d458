// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// rt.route
func.func @C1_ids(%i: tensor<8x2xi16>) {
  // expected-error @+1 {{(C1) expects ids of i32 or i64 but got 'tensor<8x2xi16>'}}
  %0 = rt.route %i experts 2 of 8 room 16 : tensor<8x2xi16> -> tensor<35xi32>
  return
}

// -----

func.func @C2_size(%i: tensor<8x2xi32>) {
  // expected-error @+1 {{(C2) expects a routing of 'tensor<35xi32>' but got 'tensor<34xi32>'}}
  %0 = rt.route %i experts 2 of 8 room 16 : tensor<8x2xi32> -> tensor<34xi32>
  return
}

// -----

func.func @C3_each(%i: tensor<8x2xi32>) {
  // expected-error @+1 {{(C3) expects room and an even load of one expert, positive, but got array<i64: 4, 0>}}
  %0 = rt.route %i experts 2 of 8 room 16 each [4, 0] : tensor<8x2xi32> -> tensor<35xi32>
  return
}

// -----

// rt.expert_capacity
func.func @C1_rank(%i: tensor<8xi32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expects ids of i32 or i64 of rank 2 at least but got 'tensor<8xi32>'}}
  %0 = rt.expert_capacity 2 of 4 %i, %s : tensor<8xi32>, tensor<8xf32>
  return
}

// -----

func.func @C2_scores(%i: tensor<8x2xi32>, %s: tensor<8x2xbf16>) {
  // expected-error @+1 {{(C2) expects scores of f32 or f64 for 'tensor<8x2xi32>' but got 'tensor<8x2xbf16>'}}
  %0 = rt.expert_capacity 2 of 4 %i, %s : tensor<8x2xi32>, tensor<8x2xbf16>
  return
}

// -----

func.func @C3_order(%i: tensor<8x2xi32>, %s: tensor<8x2xf32>) {
  // expected-error @+1 {{(C3) expects two numbers as an order but got array<i64: 2>}}
  %0 = rt.expert_capacity 2 of 4 order [2] %i, %s : tensor<8x2xi32>, tensor<8x2xf32>
  return
}

// -----

// rt.experts
func.func @C1_gates(%x: tensor<8x4xf32>, %r: tensor<35xi32>, %g: tensor<8x2xf64>, %w: tensor<2x4x6xf32>, %d: tensor<2x6x4xf32>) {
  // expected-error @+1 {{(C1) expects tensors of f32, f64, bf16 or f16 and gates of f32, or f64 with f64, but got 'f32' and 'f64'}}
  %0 = rt.experts <silu> of 4 %x, %r, %g, %w, %w, %d : tensor<8x4xf32>, tensor<35xi32>, tensor<8x2xf64>, tensor<2x4x6xf32>, tensor<2x6x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C2_down(%x: tensor<8x4xf32>, %r: tensor<35xi32>, %g: tensor<8x2xf32>, %w: tensor<2x4x6xf32>, %d: tensor<3x6x4xf32>) {
  // expected-error @+1 {{(C2) expects gates by token, a routing, and weights of one number of experts and one ffn but got}}
  %0 = rt.experts <silu> of 4 %x, %r, %g, %w, %w, %d : tensor<8x4xf32>, tensor<35xi32>, tensor<8x2xf32>, tensor<2x4x6xf32>, tensor<3x6x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @C2_y(%x: tensor<8x4xf32>, %r: tensor<35xi32>, %g: tensor<8x2xf32>, %w: tensor<2x4x6xf32>, %d: tensor<2x6x4xf32>) {
  // expected-error @+1 {{(C2) expects y of [8, 4] but got 'tensor<8x5xf32>'}}
  %0 = rt.experts <silu> of 4 %x, %r, %g, %w, %w, %d : tensor<8x4xf32>, tensor<35xi32>, tensor<8x2xf32>, tensor<2x4x6xf32>, tensor<2x6x4xf32> -> tensor<8x5xf32>
  return
}

// -----

func.func @C3_rows(%x: tensor<8x4xf32>, %r: tensor<35xi32>, %g: tensor<8x2xf32>, %w: tensor<2x4x6xf32>, %d: tensor<2x6x4xf32>) {
  // expected-error @+1 {{(C3) expects no rows or 2 but got 1}}
  %0, %1 = rt.experts <silu> of 4 %x, %r, %g, %w, %w, %d : tensor<8x4xf32>, tensor<35xi32>, tensor<8x2xf32>, tensor<2x4x6xf32>, tensor<2x6x4xf32> -> tensor<8x4xf32> rows tensor<16x6xf32>
  return
}

// -----

// rt.experts_backward
func.func @C2_rows(%x: tensor<8x4xf32>, %r: tensor<35xi32>, %g: tensor<8x2xf32>, %w: tensor<2x4x6xf32>, %d: tensor<2x6x4xf32>, %s: tensor<15x6xf32>) {
  // expected-error @+1 {{(C2) expects rows of [16, 6] but got 'tensor<15x6xf32>'}}
  %0:4 = rt.experts_backward <silu> of 4 %x, %r, %g, %w, %w, %d, %s, %s : tensor<8x4xf32>, tensor<35xi32>, tensor<8x2xf32>, tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<15x6xf32> -> tensor<8x4xf32>
  return
}

// -----

// rt.experts_weight_gradient
func.func @C2_x(%x: tensor<8x4xf32>, %r: tensor<35xi32>, %g: tensor<8x2xf32>, %s: tensor<16x6xf32>) {
  // expected-error @+1 {{(C2) expects x of [16, 4] but got 'tensor<8x4xf32>'}}
  %0:3 = rt.experts_weight_gradient <silu> of 4 rows %x, %x, %r, %g, %s, %s, %s, %s : tensor<8x4xf32>, tensor<8x4xf32>, tensor<35xi32>, tensor<8x2xf32>, tensor<16x6xf32> -> tensor<2x4x6xf32>, tensor<2x6x4xf32>
  return
}

// -----

func.func @C1_gradients(%x: tensor<8x4xf32>, %r: tensor<35xi32>, %g: tensor<8x2xf32>, %s: tensor<16x6xf32>) {
  // expected-error @+1 {{(C1) expects gradients of the type of rows or f32 but got}}
  %0:3 = rt.experts_weight_gradient <silu> of 4 %x, %x, %r, %g, %s, %s, %s, %s : tensor<8x4xf32>, tensor<8x4xf32>, tensor<35xi32>, tensor<8x2xf32>, tensor<16x6xf32> -> tensor<2x4x6xbf16>, tensor<2x6x4xbf16>
  return
}

// -----

// Calls
func.func @C1_route() {
  // expected-error @+1 {{(C1) expects 7 sizes and 2 offsets but got 3 and 2}}
  rt.call_route i32 [128, 2, 2] at [0, 1024]
  return
}

// -----

func.func @C1_experts() {
  // expected-error @+1 {{(C1) expects 7 sizes and 9 offsets but got 7 and 8}}
  rt.call_experts <silu> f32 -> f32 [128, 2, 2, 256, 64, 96, 64] at [0, 1, 2, 3, 4, 5, 6, 7]
  return
}

// -----

func.func @C1_weight_gradient() {
  // expected-error @+1 {{(C1) expects 7 sizes and 11 offsets but got 7 and 12}}
  rt.call_experts_weight_gradient <silu> f32 -> f32 [128, 2, 2, 256, 64, 96, 64] at [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
  return
}
