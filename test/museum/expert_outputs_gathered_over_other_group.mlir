// Source: pytorch/torchtitan #760
// Mistake: The outputs of experts are gathered over another group than the experts are sharded
// over, so each rank joins two copies of the same experts.
// Parallelism: ep
// Found by: a comparison with ep=1

dist.mesh @mesh ["tp"=2, "ep"=2]

func.func @expert_outputs_gathered_over_other_group(
    %y: tensor<4x6x4xf32>,
    %gates: tensor<6x4xf32>)
    -> tensor<6x4xf32> {
  %0 = nn.einsum "etd,te->td" %y, %gates : tensor<4x6x4xf32>, tensor<6x4xf32> -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

func.func @expert_outputs_gathered_over_other_group_right(
    %y: tensor<2x6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>},
    %gates: tensor<6x4xf32>)
    -> tensor<6x4xf32>
    attributes {dist.local, dist.reference = @expert_outputs_gathered_over_other_group} {
  %0 = dist.all_gather %y dim 0 over <{"ep"}> on @mesh : tensor<2x6x4xf32> -> tensor<4x6x4xf32>
  %1 = nn.einsum "etd,te->td" %0, %gates : tensor<4x6x4xf32>, tensor<6x4xf32> -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

func.func @expert_outputs_gathered_over_other_group_wrong(
    %y: tensor<2x6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>},
    %gates: tensor<6x4xf32>)
    -> tensor<6x4xf32>
    attributes {dist.local, dist.reference = @expert_outputs_gathered_over_other_group} {
  %0 = dist.all_gather %y dim 0 over <{"tp"}> on @mesh : tensor<2x6x4xf32> -> tensor<4x6x4xf32>
  %1 = nn.einsum "etd,te->td" %0, %gates : tensor<4x6x4xf32>, tensor<6x4xf32> -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}
