// Source: bigcode-project/Megatron-LM PR #37, #35
// Mistake: All heads share one head of keys, whose gradient is a sum over heads; each rank keeps
// the sum over its own heads (3.74 for 2.64).
// Parallelism: tp
// Found by: comparing gradients with tp=1

dist.mesh @mesh ["tp"=2]

func.func @shared_keys_gradient_not_reduced(
    %ds: tensor<4x4x6xf32>,
    %q: tensor<4x4x2xf32>)
    -> tensor<6x2xf32> {
  %0 = nn.einsum "hts,htd->sd" %ds, %q : tensor<4x4x6xf32>, tensor<4x4x2xf32> -> tensor<6x2xf32>
  return %0 : tensor<6x2xf32>
}

func.func @shared_keys_gradient_not_reduced_right(
    %ds: tensor<2x4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}, {}]>},
    %q: tensor<2x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}, {}]>})
    -> tensor<6x2xf32>
    attributes {dist.local, dist.reference = @shared_keys_gradient_not_reduced} {
  %0 = nn.einsum "hts,htd->sd" %ds, %q : tensor<2x4x6xf32>, tensor<2x4x2xf32> -> tensor<6x2xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<6x2xf32> -> tensor<6x2xf32>
  return %1 : tensor<6x2xf32>
}

func.func @shared_keys_gradient_not_reduced_wrong(
    %ds: tensor<2x4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}, {}]>},
    %q: tensor<2x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}, {}]>})
    -> tensor<6x2xf32>
    attributes {dist.local, dist.reference = @shared_keys_gradient_not_reduced} {
  %0 = nn.einsum "hts,htd->sd" %ds, %q : tensor<2x4x6xf32>, tensor<2x4x2xf32> -> tensor<6x2xf32>
  return %0 : tensor<6x2xf32>
}
