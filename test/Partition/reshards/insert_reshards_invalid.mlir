// RUN: tessera-opt %s --split-input-file --verify-diagnostics --dist-insert-reshards

// Collectives come later.
dist.mesh @mesh ["x"=8]
func.func @collective(%x: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
  // expected-error @+1 {{partition: expects no dist.all_gather before reshards are inserted}}
  %0 = dist.all_gather %x dim 0 over <{"x"}> on @mesh from <@mesh, [{"x"}]> to <@mesh, [{}]> : tensor<16xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// expected-error @+1 {{partition: expects a function of one block but got 2 blocks}}
func.func @blocks(%x: tensor<16xf32>) -> tensor<16xf32> {
  "cf.br"() [^bb1] : () -> ()
^bb1:
  return %x : tensor<16xf32>
}
dist.mesh @mesh ["x"=8]
