// Source: a form, not a thread
// Mistake: A rank numbers its experts from 0, so the tokens of the first experts go through all
// ranks' experts.
// Parallelism: ep
// Found by: a comparison with ep=1

dist.mesh @mesh ["ep"=2]

func.func @experts_numbered_from_zero(
    %x: tensor<6x4xf32>,
    %ids: tensor<6x2xi32>,
    %w: tensor<4x4x3xf32>)
    -> tensor<6x3xf32> {
  %0 = nn.expert_rows %x, %ids : tensor<6x4xf32>, tensor<6x2xi32> -> tensor<6x4x4xf32>
  %1 = nn.einsum "tek,ekn->tn" %0, %w : tensor<6x4x4xf32>, tensor<4x4x3xf32> -> tensor<6x3xf32>
  return %1 : tensor<6x3xf32>
}

func.func @experts_numbered_from_zero_right(
    %x: tensor<6x4xf32>,
    %ids: tensor<6x2xi32>,
    %w: tensor<2x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>})
    -> tensor<6x3xf32>
    attributes {dist.local, dist.reference = @experts_numbered_from_zero} {
  %0 = dist.axis_offset <{"ep"}> size 2 on @mesh : index
  %1 = nn.expert_rows %x, %ids offset %0 : tensor<6x4xf32>, tensor<6x2xi32> -> tensor<6x2x4xf32>
  %2 = nn.einsum "tek,ekn->tn" %1, %w : tensor<6x2x4xf32>, tensor<2x4x3xf32> -> tensor<6x3xf32>
  %3 = dist.all_reduce <sum> %2 over <{"ep"}> on @mesh : tensor<6x3xf32> -> tensor<6x3xf32>
  return %3 : tensor<6x3xf32>
}

func.func @experts_numbered_from_zero_wrong(
    %x: tensor<6x4xf32>,
    %ids: tensor<6x2xi32>,
    %w: tensor<2x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>})
    -> tensor<6x3xf32>
    attributes {dist.local, dist.reference = @experts_numbered_from_zero} {
  %0 = nn.expert_rows %x, %ids : tensor<6x4xf32>, tensor<6x2xi32> -> tensor<6x2x4xf32>
  %1 = nn.einsum "tek,ekn->tn" %0, %w : tensor<6x2x4xf32>, tensor<2x4x3xf32> -> tensor<6x3xf32>
  %2 = dist.all_reduce <sum> %1 over <{"ep"}> on @mesh : tensor<6x3xf32> -> tensor<6x3xf32>
  return %2 : tensor<6x3xf32>
}
