// RUN: tessera-opt %s --split-input-file --verify-diagnostics --dist-insert-reshards

// A body may index a tensor from outside only if every device has all of it.
dist.mesh @mesh ["x"=8]
func.func @captured(%t: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %x: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{partition: expects a replicated tensor inside the body but got 'tensor<16xf32>' sharded as [{"x"}]}}
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : tensor<16xf32>) {
  ^bb0(%a: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %t[%i] : tensor<16xf32>
    linalg.yield %v : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// Collectives are for later.
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
