// Source: NVIDIA/Megatron-LM #7452 (4 to 6)
// Mistake: A layer is given a group, but its reduce-scatter takes the global one: it sums values
// that belong to other tokens and leaves the parts of the sum apart.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["cp"=2, "tp"=2]

func.func @scatter_over_global_group(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

func.func @scatter_over_global_group_right(
    %x: tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @scatter_over_global_group} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<8x2xf32>, tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = dist.reduce_scatter <sum> %0 dim 0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

func.func @scatter_over_global_group_wrong(
    %x: tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @scatter_over_global_group} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<8x2xf32>, tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = dist.reduce_scatter <sum> %0 dim 0 over <{"cp"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
