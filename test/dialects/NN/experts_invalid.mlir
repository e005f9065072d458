// RUN: tessera-opt %s -split-input-file -verify-diagnostics

func.func @top_k_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects k from 1 to the size of the last dimension but got 9 of 'tensor<4x8xf32>'}}
  %0 = nn.top_k 9 %x : tensor<4x8xf32> -> tensor<4x9xi32>
  return
}
// -----
func.func @top_k_c1_zero(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C1) expects k from 1 to the size of the last dimension but got 0}}
  %0 = nn.top_k 0 %x : tensor<4x8xf32> -> tensor<4x0xi32>
  return
}
// -----
func.func @top_k_c1_rank(%x: tensor<f32>) {
  // expected-error @+1 {{(C1) expects k from 1 to the size of the last dimension but got 1 of 'tensor<f32>'}}
  %0 = nn.top_k 1 %x : tensor<f32> -> tensor<1xi32>
  return
}
// -----
func.func @top_k_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C2) expects a result of shape [4, 3] but got 'tensor<4x2xi32>'}}
  %0 = nn.top_k 3 %x : tensor<4x8xf32> -> tensor<4x2xi32>
  return
}
// -----
func.func @top_k_c3(%x: tensor<4x300xf32>) {
  // expected-error @+1 {{(C3) expects integers that can hold 299 but got 'tensor<4x2xi8>'}}
  %0 = nn.top_k 2 %x : tensor<4x300xf32> -> tensor<4x2xi8>
  return
}
// -----
func.func @top_k_c4_divides(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C4) expects a number of groups that divides 8 but got 3}}
  %0 = nn.top_k 2 groups 1 of 3 by <max> %x : tensor<4x8xf32> -> tensor<4x2xi32>
  return
}
// -----
func.func @top_k_c4_chosen(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C4) expects 1 to 4 chosen groups but got 5}}
  %0 = nn.top_k 2 groups 5 of 4 by <max> %x : tensor<4x8xf32> -> tensor<4x2xi32>
  return
}
// -----
func.func @top_k_c4_few(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C4) expects chosen groups with 3 elements at least but got 1 of 2}}
  %0 = nn.top_k 3 groups 1 of 4 by <max> %x : tensor<4x8xf32> -> tensor<4x3xi32>
  return
}
// -----
func.func @top_k_c4_smallest(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C4) expects no groups with smallest}}
  %0 = nn.top_k 2 smallest groups 1 of 4 by <max> %x : tensor<4x8xf32> -> tensor<4x2xi32>
  return
}
// -----
func.func @top_k_c5(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C5) expects groups of 2 elements at least by sum2 but got 1}}
  %0 = nn.top_k 2 groups 2 of 8 by <sum2> %x : tensor<4x8xf32> -> tensor<4x2xi32>
  return
}
// -----
func.func @top_k_c4_part(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{(C4) expects groups with a number of chosen ones and a score, or none of these}}
  %0 = "nn.top_k"(%x) <{k = 2 : i64, groups = 4 : i64}> : (tensor<4x8xf32>) -> tensor<4x2xi32>
  return
}
// -----
func.func @capacity_c1(%i: tensor<2xi32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expects ids of rank 2 at least but got 'tensor<2xi32>'}}
  %0 = nn.expert_capacity 1 of 8 %i, %s : tensor<2xi32>, tensor<2xf32>
  return
}
// -----
func.func @capacity_c2(%i: tensor<4x8x2xi32>, %s: tensor<4x8x3xf32>) {
  // expected-error @+1 {{(C2) expects scores of shape [4, 8, 2] but got 'tensor<4x8x3xf32>'}}
  %0 = nn.expert_capacity 1 of 8 %i, %s : tensor<4x8x2xi32>, tensor<4x8x3xf32>
  return
}
// -----
func.func @capacity_c3(%i: tensor<4x8x2xi32>, %s: tensor<4x8x2xf32>) {
  // expected-error @+1 {{(C3) expects a capacity of 1 at least but got 0}}
  %0 = nn.expert_capacity 0 of 8 %i, %s : tensor<4x8x2xi32>, tensor<4x8x2xf32>
  return
}
// -----
func.func @capacity_c4(%i: tensor<4x8x2xi32>, %s: tensor<4x8x2xf32>) {
  // expected-error @+1 {{(C4) expects 1 expert at least but got 0}}
  %0 = nn.expert_capacity 1 of 0 %i, %s : tensor<4x8x2xi32>, tensor<4x8x2xf32>
  return
}
// -----
func.func @rows_c1_ids(%x: tensor<4x16xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{(C1) expects ids of rank 1 at least but got 'tensor<i32>'}}
  %0 = nn.expert_rows %x, %i : tensor<4x16xf32>, tensor<i32> -> tensor<4x8x16xf32>
  return
}
// -----
func.func @rows_c1_x(%x: tensor<f32>, %i: tensor<4x2xi32>) {
  // expected-error @+1 {{(C1) expects x of rank 1 at least but got 'tensor<f32>'}}
  %0 = nn.expert_rows %x, %i : tensor<f32>, tensor<4x2xi32> -> tensor<4x8x16xf32>
  return
}
// -----
func.func @rows_c1(%x: tensor<5x16xf32>, %i: tensor<4x2xi32>) {
  // expected-error @+1 {{(C1) expects x of shape [4, 16] but got 'tensor<5x16xf32>'}}
  %0 = nn.expert_rows %x, %i : tensor<5x16xf32>, tensor<4x2xi32> -> tensor<4x8x16xf32>
  return
}
// -----
func.func @rows_c2(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>) {
  // expected-error @+1 {{(C2) expects a result of shape [4, 8, 16] but got 'tensor<4x8x15xf32>'}}
  %0 = nn.expert_rows %x, %i : tensor<4x16xf32>, tensor<4x2xi32> -> tensor<4x8x15xf32>
  return
}
// -----
func.func @rows_c2_rank(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>) {
  // expected-error @+1 {{(C2) expects a result of shape [4, 1, 16] but got 'tensor<16xf32>'}}
  %0 = nn.expert_rows %x, %i : tensor<4x16xf32>, tensor<4x2xi32> -> tensor<16xf32>
  return
}
// -----
func.func @rows_c3(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>) {
  // expected-error @+1 {{(C3) expects one element type but got 'tensor<4x16xf32>' and 'tensor<4x8x16xbf16>'}}
  %0 = nn.expert_rows %x, %i : tensor<4x16xf32>, tensor<4x2xi32> -> tensor<4x8x16xbf16>
  return
}
// -----
func.func @experts_c1_ids(%x: tensor<4x16xf32>, %i: tensor<i32>, %g: tensor<f32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>) {
  // expected-error @+1 {{(C1) expects ids of rank 1 at least but got 'tensor<i32>'}}
  %0 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<i32>, tensor<f32>, tensor<8x16x24xf32>, tensor<8x24x12xf32> -> tensor<4x12xf32>
  return
}
// -----
func.func @experts_c1_gates(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>, %g: tensor<4x3xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>) {
  // expected-error @+1 {{(C1) expects gates of shape [4, 2] but got 'tensor<4x3xf32>'}}
  %0 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x3xf32>, tensor<8x16x24xf32>, tensor<8x24x12xf32> -> tensor<4x12xf32>
  return
}
// -----
func.func @experts_c1(%x: tensor<4x17xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>) {
  // expected-error @+1 {{(C1) expects x of shape [4, 16] but got 'tensor<4x17xf32>'}}
  %0 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x17xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24x12xf32> -> tensor<4x12xf32>
  return
}
// -----
func.func @experts_c2_rank(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24xf32>) {
  // expected-error @+1 {{(C2) expects weights of rank 3 but got 'tensor<8x24xf32>'}}
  %0 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24xf32> -> tensor<4x12xf32>
  return
}
// -----
func.func @experts_c2(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x25x12xf32>) {
  // expected-error @+1 {{(C2) expects w_down of shape [8, 24, 12] but got 'tensor<8x25x12xf32>'}}
  %0 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x25x12xf32> -> tensor<4x12xf32>
  return
}
// -----
func.func @experts_c3(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>) {
  // expected-error @+1 {{(C3) expects y of shape [4, 12] but got 'tensor<4x13xf32>'}}
  %0 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24x12xf32> -> tensor<4x13xf32>
  return
}
// -----
func.func @experts_c4(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xbf16>) {
  // expected-error @+1 {{(C4) expects one element type but got 'tensor<4x16xf32>' and 'tensor<8x24x12xbf16>'}}
  %0 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24x12xbf16> -> tensor<4x12xf32>
  return
}
// -----
func.func @experts_c4_gates(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xbf16>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>) {
  // expected-error @+1 {{(C4) expects gates of f32 (f64 for f64) but got 'tensor<4x2xbf16>'}}
  %0 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xbf16>, tensor<8x16x24xf32>, tensor<8x24x12xf32> -> tensor<4x12xf32>
  return
}
// -----
func.func @experts_c5(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>) {
  // expected-error @+1 {{(C5) expects no stats or 2 but got 1}}
  %0, %1 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24x12xf32> -> tensor<4x12xf32> stats tensor<4x8x24xf32>
  return
}
// -----
func.func @experts_c5_shape(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>) {
  // expected-error @+1 {{(C5) expects stats of shape [4, 8, 24] but got 'tensor<4x8x25xf32>'}}
  %0, %1, %2 = nn.experts <silu> of 8 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24x12xf32> -> tensor<4x12xf32> stats tensor<4x8x24xf32>, tensor<4x8x25xf32>
  return
}
// -----
func.func @experts_c6(%x: tensor<4x16xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>) {
  // expected-error @+1 {{(C6) expects 1 expert at least but got 0}}
  %0 = nn.experts <silu> of 0 %x, %i, %g, %u, %u, %d
      : tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24x12xf32> -> tensor<4x12xf32>
  return
}
// -----
func.func @backward_c1(%y: tensor<4x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C1) expects x of shape [4, 16] but got 'tensor<4x15xf32>'}}
  %0, %1, %2, %3 = nn.experts_backward <silu> of 8 %y, %i, %g, %u, %u, %d, %s, %s
      : tensor<4x12xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24x12xf32>, tensor<4x8x24xf32> -> tensor<4x15xf32>
  return
}
// -----
func.func @backward_c3(%y: tensor<4x11xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C3) expects y of shape [4, 12] but got 'tensor<4x11xf32>'}}
  %0, %1, %2, %3 = nn.experts_backward <silu> of 8 %y, %i, %g, %u, %u, %d, %s, %s
      : tensor<4x11xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24x12xf32>, tensor<4x8x24xf32> -> tensor<4x16xf32>
  return
}
// -----
func.func @backward_c5(%y: tensor<4x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %u: tensor<8x16x24xf32>, %d: tensor<8x24x12xf32>, %s: tensor<4x7x24xf32>) {
  // expected-error @+1 {{(C5) expects stats of shape [4, 8, 24] but got 'tensor<4x7x24xf32>'}}
  %0, %1, %2, %3 = nn.experts_backward <silu> of 8 %y, %i, %g, %u, %u, %d, %s, %s
      : tensor<4x12xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x16x24xf32>, tensor<8x24x12xf32>, tensor<4x7x24xf32> -> tensor<4x16xf32>
  return
}
// -----
func.func @weight_gradient_c1(%r: tensor<16xf32>, %y: tensor<4x8x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C1) expects rows by expert but got 'tensor<16xf32>' and 'tensor<4x8x12xf32>'}}
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 8 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<16xf32>, tensor<4x8x12xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<4x8x24xf32> -> tensor<8x16x24xf32>, tensor<8x24x12xf32>
  return
}
// -----
func.func @weight_gradient_c1_rows(%r: tensor<4x8x16xf32>, %y: tensor<4x7x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C1) expects grad_rows of shape [4, 8, 12] but got 'tensor<4x7x12xf32>'}}
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 8 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<4x8x16xf32>, tensor<4x7x12xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<4x8x24xf32> -> tensor<8x16x24xf32>, tensor<8x24x12xf32>
  return
}
// -----
func.func @weight_gradient_c1_stats(%r: tensor<4x8x16xf32>, %y: tensor<4x8x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %s: tensor<4x24xf32>) {
  // expected-error @+1 {{(C1) expects stats of shape [4, 8, 24] but got 'tensor<4x24xf32>'}}
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 8 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<4x8x16xf32>, tensor<4x8x12xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<4x24xf32> -> tensor<8x16x24xf32>, tensor<8x24x12xf32>
  return
}
// -----
func.func @weight_gradient_c2(%r: tensor<4x8x16xf32>, %y: tensor<4x8x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C2) expects dw_up of shape [8, 16, 24] but got 'tensor<8x16x23xf32>'}}
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 8 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<4x8x16xf32>, tensor<4x8x12xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<4x8x24xf32> -> tensor<8x16x23xf32>, tensor<8x24x12xf32>
  return
}
// -----
func.func @weight_gradient_c2_down(%r: tensor<4x8x16xf32>, %y: tensor<4x8x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C2) expects dw_down of shape [8, 24, 12] but got 'tensor<8x24x13xf32>'}}
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 8 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<4x8x16xf32>, tensor<4x8x12xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<4x8x24xf32> -> tensor<8x16x24xf32>, tensor<8x24x13xf32>
  return
}
// -----
func.func @weight_gradient_c3(%r: tensor<4x8x16xf32>, %y: tensor<4x8x12xbf16>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C3) expects one element type but got 'tensor<4x8x16xf32>' and 'tensor<4x8x12xbf16>'}}
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 8 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<4x8x16xf32>, tensor<4x8x12xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<4x8x24xf32> -> tensor<8x16x24xf32>, tensor<8x24x12xf32>
  return
}
// -----
func.func @weight_gradient_c3_gates(%r: tensor<4x8x16xf32>, %y: tensor<4x8x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf64>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C3) expects gates of f32 (f64 for f64) but got 'tensor<4x2xf64>'}}
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 8 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<4x8x16xf32>, tensor<4x8x12xf32>, tensor<4x2xi32>, tensor<4x2xf64>, tensor<4x8x24xf32> -> tensor<8x16x24xf32>, tensor<8x24x12xf32>
  return
}
// -----
func.func @weight_gradient_c3_narrow(%r: tensor<4x8x16xf32>, %y: tensor<4x8x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C3) expects gradients of 'f32' or a wider type but got 'bf16'}}
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 8 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<4x8x16xf32>, tensor<4x8x12xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<4x8x24xf32> -> tensor<8x16x24xbf16>, tensor<8x24x12xbf16>
  return
}
// -----
func.func @weight_gradient_c4(%r: tensor<4x8x16xf32>, %y: tensor<4x8x12xf32>, %i: tensor<4x2xi32>, %g: tensor<4x2xf32>, %s: tensor<4x8x24xf32>) {
  // expected-error @+1 {{(C4) expects 1 expert at least but got 0}}
  %0, %1, %2 = nn.experts_weight_gradient <silu> of 0 %r, %y, %i, %g, %s, %s, %s, %s
      : tensor<4x8x16xf32>, tensor<4x8x12xf32>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<4x8x24xf32> -> tensor<8x16x24xf32>, tensor<8x24x12xf32>
  return
}
// -----
// expected-error @+1 {{result 0: expects no attribute 'nn.wide' on a result; it belongs on an operation or an argument}}
func.func @wide_result(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.wide}) { return %x : tensor<4xf32> }
// -----
// expected-error @+1 {{argument 0: nn.trained: expects "balance" on a parameter (nn.param) but got "other" on 'tensor<4xf32>'}}
func.func @trained_rule(%x: tensor<4xf32> {nn.param = "b", nn.trained = "other"}) { return }
