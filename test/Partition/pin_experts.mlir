// RUN: split-file %s %t
// RUN: tessera-opt %t/layer.mlir --dist-apply-strategy="mesh=dp=4,tp=2 strategy=dp,tp,ep=4" | FileCheck %s --check-prefix=SEEDS
// RUN: tessera-opt %t/layer.mlir --dist-apply-strategy="mesh=dp=4,tp=2 strategy=dp,tp,ep=4" --dist-pin-experts | FileCheck %s --check-prefix=PINS
// RUN: tessera-opt %t/layer.mlir --dist-apply-strategy="mesh=dp=4,tp=2 strategy=dp,tp,ep=2,etp" --dist-pin-experts | FileCheck %s --check-prefix=ETP
// RUN: not tessera-opt %t/layer.mlir --dist-apply-strategy="mesh=dp=4,tp=2 strategy=dp,tp,ep=3" 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not tessera-opt %t/dense.mlir --dist-apply-strategy="mesh=dp=4 strategy=dp,ep=4" 2>&1 | FileCheck %s --check-prefix=DENSE
// RUN: not tessera-opt %t/dense.mlir --dist-pin-experts 2>&1 | FileCheck %s --check-prefix=NONE

// Experts take the minor half of dp and tp; the ffn is whole then. Without tp
// for them they take the minor half of dp alone, and the ffn goes over tp.
// SEEDS: module attributes {dist.experts = {batch = #dist.axes<{"dp":(1)2}>, experts = #dist.axes<{"dp":(2)2, "tp"}>, ffn = #dist.axes<{}>, seq = #dist.axes<{}>}}
// SEEDS: %arg3: tensor<8x64x96xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp":(2)2, "tp"}, {}, {}]>

// PINS: module {
// PINS: nn.experts
// PINS-SAME: {dist.factors = [#dist.axes<{"dp":(1)2}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"dp":(2)2, "tp"}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{}>]}
// PINS: nn.expert_rows
// PINS-SAME: {dist.factors = [#dist.axes<{"dp":(1)2}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"dp":(2)2, "tp"}>, #dist.axes<{}>]}

// Rows of ones count choices, where tokens are.
// PINS: nn.expert_rows
// PINS-NOT: dist.factors
// PINS: return

// ETP: %arg3: tensor<8x64x96xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp":(2)2}, {}, {"tp"}]>
// ETP: nn.experts
// ETP-SAME: {dist.factors = [#dist.axes<{"dp":(1)2}>, #dist.axes<{}>, #dist.axes<{}>, #dist.axes<{"dp":(2)2}>, #dist.axes<{}>, #dist.axes<{"tp"}>, #dist.axes<{}>]}

// THREE: error: strategy 'ep=3' expects a number of innermost devices of dp, cp and tp but got mesh 'dp=4,tp=2'
// DENSE: error: strategy 'ep' expects a parameter (nn.param) with a dimension "experts" in nn.dims but got none
// NONE: error: strategy 'ep' expects a program with nn.experts but got one without

//--- layer.mlir
func.func @layer(%x: tensor<4x32x64xf32> {nn.input = "x", nn.dims = ["batch", "seq", "embed"]}, %i: tensor<4x32x2xi32>,
    %g: tensor<4x32x2xf32>,
    %a: tensor<8x64x96xf32> {nn.param = "a", nn.dims = ["experts", "embed", "ffn"]},
    %b: tensor<8x96x64xf32> {nn.param = "b", nn.dims = ["experts", "ffn", "embed"]})
    -> (tensor<4x32x64xf32>, tensor<4x32x8x64xf32>, tensor<4x32x8x1xf32>) {
  %ones = arith.constant dense<1.0> : tensor<4x32x1xf32>
  %0 = nn.experts <silu> of 8 %x, %i, %g, %a, %a, %b
      : tensor<4x32x64xf32>, tensor<4x32x2xi32>, tensor<4x32x2xf32>, tensor<8x64x96xf32>,
        tensor<8x96x64xf32> -> tensor<4x32x64xf32>
  %1 = nn.expert_rows %x, %i : tensor<4x32x64xf32>, tensor<4x32x2xi32> -> tensor<4x32x8x64xf32>
  %2 = nn.expert_rows %ones, %i : tensor<4x32x1xf32>, tensor<4x32x2xi32> -> tensor<4x32x8x1xf32>
  return %0, %1, %2 : tensor<4x32x64xf32>, tensor<4x32x8x64xf32>, tensor<4x32x8x1xf32>
}
//--- dense.mlir
module attributes {dist.experts = {experts = #dist.axes<{"dp"}>, batch = #dist.axes<{}>, seq = #dist.axes<{}>, ffn = #dist.axes<{}>}} {
  dist.mesh @mesh ["dp"=4]
  func.func @dense(%x: tensor<4x64xf32> {nn.input = "x", nn.dims = ["batch", "embed"]}) -> tensor<4x64xf32> {
    return %x : tensor<4x64xf32>
  }
}
