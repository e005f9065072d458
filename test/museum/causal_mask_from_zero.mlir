// Source: zhuzilin/ring-flash-attention #15
// Mistake: The causal mask of a chunk is built as if its queries began at position 0.
// Parallelism: cp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=2]

func.func @causal_mask_from_zero(
    %q: tensor<1x8x2x1x4xf32>,
    %k: tensor<1x8x2x4xf32>,
    %v: tensor<1x8x2x4xf32>)
    -> tensor<1x8x2x1x4xf32> {
  %0 = nn.attention causal scale 0.5 %q, %k, %v : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x8x2x1x4xf32>
  return %0 : tensor<1x8x2x1x4xf32>
}

func.func @causal_mask_from_zero_right(
    %q: tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>},
    %k: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>},
    %v: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>})
    attributes {dist.local, dist.reference = @causal_mask_from_zero} {
  %0 = dist.axis_offset <{"cp"}> size 4 on @mesh : index
  %1 = dist.all_gather %k dim 1 over <{"cp"}> on @mesh : tensor<1x4x2x4xf32> -> tensor<1x8x2x4xf32>
  %2 = dist.all_gather %v dim 1 over <{"cp"}> on @mesh : tensor<1x4x2x4xf32> -> tensor<1x8x2x4xf32>
  %3 = nn.attention causal scale 0.5 %q, %1, %2 q_offset %0 : tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x4x2x1x4xf32>
  return %3 : tensor<1x4x2x1x4xf32>
}

func.func @causal_mask_from_zero_wrong(
    %q: tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>},
    %k: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>},
    %v: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>})
    attributes {dist.local, dist.reference = @causal_mask_from_zero} {
  %0 = dist.all_gather %k dim 1 over <{"cp"}> on @mesh : tensor<1x4x2x4xf32> -> tensor<1x8x2x4xf32>
  %1 = dist.all_gather %v dim 1 over <{"cp"}> on @mesh : tensor<1x4x2x4xf32> -> tensor<1x8x2x4xf32>
  %2 = nn.attention causal scale 0.5 %q, %0, %1 : tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x4x2x1x4xf32>
  return %2 : tensor<1x4x2x1x4xf32>
}
