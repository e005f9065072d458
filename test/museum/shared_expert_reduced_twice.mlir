// Source: vllm-project/vllm #49122; sgl-project/sglang PR #35535, #31475
// Mistake: The shared expert's output is reduced, is added to the partial output of the routed
// experts, and is reduced again with it.
// Parallelism: tp, ep
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @shared_expert_reduced_twice(
    %x: tensor<4x8xf32>,
    %ws: tensor<8x4xf32>,
    %routed: tensor<4x4x4xf32>)
    -> tensor<4x4xf32> {
  %0 = nn.einsum "tk,kn->tn" %x, %ws : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = nn.reduce <sum> %routed dims [0] : tensor<4x4x4xf32> -> tensor<4x4xf32>
  %2 = arith.addf %1, %0 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

func.func @shared_expert_reduced_twice_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %ws: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %routed: tensor<2x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @shared_expert_reduced_twice} {
  %0 = nn.einsum "tk,kn->tn" %x, %ws : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.reduce <sum> %routed dims [0] : tensor<2x4x4xf32> -> tensor<4x4xf32>
  %2 = arith.addf %1, %0 : tensor<4x4xf32>
  %3 = dist.all_reduce <sum> %2 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

func.func @shared_expert_reduced_twice_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %ws: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %routed: tensor<2x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @shared_expert_reduced_twice} {
  %0 = nn.einsum "tk,kn->tn" %x, %ws : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.reduce <sum> %routed dims [0] : tensor<2x4x4xf32> -> tensor<4x4xf32>
  %2 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = arith.addf %1, %2 : tensor<4x4xf32>
  %4 = dist.all_reduce <sum> %3 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}
