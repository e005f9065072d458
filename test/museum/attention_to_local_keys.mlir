// Source: NVIDIA/Megatron-LM #1464
// Mistake: Queries see the keys of their own rank alone; gradients were off by 1.2.
// Parallelism: cp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=2]

func.func @attention_to_local_keys(
    %q: tensor<1x8x2x1x4xf32>,
    %k: tensor<1x8x2x4xf32>,
    %v: tensor<1x8x2x4xf32>)
    -> tensor<1x8x2x1x4xf32> {
  %0 = nn.attention scale 0.5 %q, %k, %v : tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x8x2x1x4xf32>
  return %0 : tensor<1x8x2x1x4xf32>
}

func.func @attention_to_local_keys_right(
    %q: tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>},
    %k: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>},
    %v: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>})
    attributes {dist.local, dist.reference = @attention_to_local_keys} {
  %0 = dist.all_gather %k dim 1 over <{"cp"}> on @mesh : tensor<1x4x2x4xf32> -> tensor<1x8x2x4xf32>
  %1 = dist.all_gather %v dim 1 over <{"cp"}> on @mesh : tensor<1x4x2x4xf32> -> tensor<1x8x2x4xf32>
  %2 = nn.attention scale 0.5 %q, %0, %1 : tensor<1x4x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32> -> tensor<1x4x2x1x4xf32>
  return %2 : tensor<1x4x2x1x4xf32>
}

func.func @attention_to_local_keys_wrong(
    %q: tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>},
    %k: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>},
    %v: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}, {}]>})
    attributes {dist.local, dist.reference = @attention_to_local_keys} {
  %0 = nn.attention scale 0.5 %q, %k, %v : tensor<1x4x2x1x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32> -> tensor<1x4x2x1x4xf32>
  return %0 : tensor<1x4x2x1x4xf32>
}
