// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{dist.experts: expects #dist.axes for experts but got "dp"}}
module attributes {dist.experts = "dp"} {}
// -----
// expected-error @+1 {{dist.experts: expects #dist.axes for seq but got}}
module attributes {dist.experts = {experts = #dist.axes<{"x"}>, batch = #dist.axes<{}>, ffn = #dist.axes<{}>}} {}
// -----
// expected-error @+1 {{dist.experts: expects an axis for experts at least but got}}
module attributes {dist.experts = {experts = #dist.axes<{}>, batch = #dist.axes<{}>, seq = #dist.axes<{}>, ffn = #dist.axes<{}>}} {}
// -----
// expected-error @+1 {{dist.experts: expects each axis once but got}}
module attributes {dist.experts = {experts = #dist.axes<{"x"}>, batch = #dist.axes<{"x"}>, seq = #dist.axes<{}>, ffn = #dist.axes<{}>}} {}
// -----
func.func @tokens(%v: tensor<8x3x4xf32>, %i: tensor<7x2xi32>) {
  // expected-error @+1 {{(C1) expects integers for each token and values of these tokens by expert but got 'tensor<7x2xi32>' and 'tensor<8x3x4xf32>'}}
  %0 = dist.pack_rows %v by %i : tensor<8x3x4xf32>, tensor<7x2xi32> -> tensor<16x4xf32>
  return
}
// -----
func.func @rows(%r: tensor<16x5xf32>, %i: tensor<8x2xi32>) {
  // expected-error @+1 {{(C2) expects rows of 4 'f32' but got 'tensor<16x5xf32>'}}
  %0 = dist.unpack_rows %r by %i : tensor<16x5xf32>, tensor<8x2xi32> -> tensor<8x3x4xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @result(%x: tensor<2x8xf32>, %i: tensor<8x2xi32>) {
  // expected-error @+1 {{(C1) expects a result of type 'tensor<8x8xf32>' over 4 devices but got 'tensor<4x8xf32>'}}
  %0 = dist.dispatch %x by %i experts 2 of 8 at <{"x"}> dim 0 over <{"x"}> on @mesh : tensor<2x8xf32>, tensor<8x2xi32> -> tensor<4x8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @at(%x: tensor<2x8xf32>, %i: tensor<8x2xi32>) {
  // expected-error @+1 {{(C3) expects an axis of mesh @mesh but got "y"}}
  %0 = dist.dispatch %x by %i experts 2 of 8 at <{"y"}> dim 0 over <{"x"}> on @mesh : tensor<2x8xf32>, tensor<8x2xi32> -> tensor<8x8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @global(%x: tensor<8x8xf32>, %i: tensor<8x2xi32>) {
  // expected-error @+1 {{(C2)}}
  %0 = dist.combine %x by %i experts 2 of 8 at <{"x"}> dim 0 over <{"x"}> on @mesh from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{"x"}, {}]> : tensor<8x8xf32>, tensor<8x2xi32> -> tensor<8x8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @token_ids(%x: tensor<8x8xf32>, %i: tensor<8x2xi32>) {
  // expected-error @+1 {{(C3) expects floats by token and ids, i32 or i64, of the result's tokens but got 'tensor<2x8xf32>' and 'tensor<8x2xi32>'}}
  %0 = dist.combine %x by %i experts 2 of 8 at <{"x"}> dim 0 over <{"x"}> on @mesh : tensor<8x8xf32>, tensor<8x2xi32> -> tensor<2x8xf32>
  return
}
// -----
dist.mesh @mesh ["x"=4]
func.func @no_experts(%x: tensor<2x8xf32>, %i: tensor<8x2xi32>) {
  // expected-error @+1 {{(C4) expects blocks of 1 expert at least but got 0 of 8}}
  %0 = dist.dispatch %x by %i experts 0 of 8 at <{"x"}> dim 0 over <{"x"}> on @mesh : tensor<2x8xf32>, tensor<8x2xi32> -> tensor<8x8xf32>
  return
}
