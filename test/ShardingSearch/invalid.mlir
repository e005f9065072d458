// Programs that cannot be searched.
// RUN: tessera-opt %s --split-input-file --verify-diagnostics \
// RUN:   --allow-unregistered-dialect --dist-search-shardings

// No op has a sharding rule.
// expected-error @below {{search: expects an op that can be sharded but the program has none}}
module {
  dist.mesh @mesh ["a"=4]
  func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = "foreign.op"(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}

// -----

// The seeds of an argument and of the result donated to it differ.
dist.mesh @mesh ["a"=4]
// expected-error @below {{expects argument 1 and result 0 of the function, which takes its place, to be sharded alike, but got [{"a"}, {}] and [{}, {"a"}]}}
func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>, dist.donate = 0 : i64})
    -> (tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a"}]>}) {
  %0 = arith.addf %x, %w : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
