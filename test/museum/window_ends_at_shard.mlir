// Source: a form, not a thread
// Mistake: Attention in a sliding window takes no keys from the rank before: the window ends at
// the beginning of a rank's part.
// Parallelism: cp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=2]

func.func @window_ends_at_shard(
    %q: tensor<1x8x2x1x4xf32>,
    %k: tensor<1x8x2x4xf32>,
    %v: tensor<1x8x2x4xf32>)
    -> tensor<1x8x2x1x4xf32> {
  %0 = nn.attention causal window 3 scale 0.5 %q, %k, %v : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x8x2x1x4xf32>
  return %0 : tensor<1x8x2x1x4xf32>
}

func.func @window_ends_at_shard_right(
    %q: tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>},
    %k: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>},
    %v: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>})
    attributes {dist.local, dist.reference = @window_ends_at_shard} {
  %0 = dist.axis_offset <{"cp"}> size 4 on @mesh : index
  %1 = dist.all_gather %k dim 1 over <{"cp"}> on @mesh : tensor<1x4x2x4xf32> -> tensor<1x8x2x4xf32>
  %2 = dist.all_gather %v dim 1 over <{"cp"}> on @mesh : tensor<1x4x2x4xf32> -> tensor<1x8x2x4xf32>
  %3 = nn.attention causal window 3 scale 0.5 %q, %1, %2 q_offset %0 : tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x4x2x1x4xf32>
  return %3 : tensor<1x4x2x1x4xf32>
}

func.func @window_ends_at_shard_wrong(
    %q: tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>},
    %k: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>},
    %v: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>})
    attributes {dist.local, dist.reference = @window_ends_at_shard} {
  %0 = dist.axis_offset <{"cp"}> size 4 on @mesh : index
  %1 = nn.attention causal window 3 scale 0.5 %q, %k, %v q_offset %0 k_offset %0 : tensor<1x4x2x1x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32> -> tensor<1x4x2x1x4xf32>
  return %1 : tensor<1x4x2x1x4xf32>
}
