// Source: NVIDIA/Megatron-LM PR #6080
// Mistake: Gradients of experts are reduced over the group of dense weights, which adds the
// gradients of different experts.
// Parallelism: ep
// Found by: comparing gradients with ep=1

dist.mesh @mesh ["dp"=2, "ep"=2]

func.func @expert_gradients_over_all_ranks(
    %x: tensor<4x8x2xf32>,
    %g: tensor<4x8x3xf32>)
    -> tensor<4x2x3xf32> {
  %0 = nn.einsum "etk,etn->ekn" %x, %g : tensor<4x8x2xf32>, tensor<4x8x3xf32> -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

func.func @expert_gradients_over_all_ranks_right(
    %x: tensor<2x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {"dp"}, {}]>},
    %g: tensor<2x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {"dp"}, {}]>})
    -> (tensor<2x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>})
    attributes {dist.local, dist.reference = @expert_gradients_over_all_ranks} {
  %0 = nn.einsum "etk,etn->ekn" %x, %g : tensor<2x4x2xf32>, tensor<2x4x3xf32> -> tensor<2x2x3xf32>
  %1 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
  return %1 : tensor<2x2x3xf32>
}

func.func @expert_gradients_over_all_ranks_wrong(
    %x: tensor<2x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {"dp"}, {}]>},
    %g: tensor<2x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {"dp"}, {}]>})
    -> (tensor<2x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>})
    attributes {dist.local, dist.reference = @expert_gradients_over_all_ranks} {
  %0 = nn.einsum "etk,etn->ekn" %x, %g : tensor<2x4x2xf32>, tensor<2x4x3xf32> -> tensor<2x2x3xf32>
  %1 = dist.all_reduce <sum> %0 over <{"dp", "ep"}> on @mesh : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
  return %1 : tensor<2x2x3xf32>
}
