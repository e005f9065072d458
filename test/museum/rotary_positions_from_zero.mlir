// Source: NVIDIA/Megatron-LM #560, PR #1612, PR #5243
// Mistake: Rotary embeddings count positions from 0 on every rank in place of from the beginning
// of its part.
// Parallelism: cp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=2]

func.func @rotary_positions_from_zero(%q: tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %0 = nn.rope %q dim 1 theta 1.0e4 : tensor<1x8x2x4xf32>
  return %0 : tensor<1x8x2x4xf32>
}

func.func @rotary_positions_from_zero_right(
    %q: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    attributes {dist.local, dist.reference = @rotary_positions_from_zero} {
  %0 = dist.axis_offset <{"cp"}> size 4 on @mesh : index
  %1 = nn.rope %q dim 1 theta 1.0e4 offset %0 : tensor<1x4x2x4xf32>
  return %1 : tensor<1x4x2x4xf32>
}

func.func @rotary_positions_from_zero_wrong(
    %q: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    attributes {dist.local, dist.reference = @rotary_positions_from_zero} {
  %0 = nn.rope %q dim 1 theta 1.0e4 : tensor<1x4x2x4xf32>
  return %0 : tensor<1x4x2x4xf32>
}
