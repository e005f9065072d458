// RUN: tessera-opt %s --verify-diagnostics --dist-propagate-shardings --dist-pad-factors

// No mask of the operand is neutral in a softmax.
dist.mesh @mesh ["x"=8]
func.func @softmax(%x: tensor<4x17xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x17xf32> {
  // expected-error @+1 {{expects to be decomposed before its reduction over a dimension of size 17 is padded to 24}}
  %0 = nn.softmax %x dim 1 : tensor<4x17xf32>
  return %0 : tensor<4x17xf32>
}
