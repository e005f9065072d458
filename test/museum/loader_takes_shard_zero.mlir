// Source: vllm-project/vllm-gguf-plugin #103
// Mistake: The loader takes the first shard of a weight on every rank.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @loader_takes_shard_zero(%x: tensor<4x4xf32>, %w: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

func.func @loader_takes_shard_zero_right(
    %x: tensor<4x4xf32>,
    %w: tensor<4x8xf32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @loader_takes_shard_zero} {
  %0 = dist.all_slice %w dim 1 over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x4xf32>
  %1 = nn.einsum "bk,kn->bn" %x, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// Unproven: a slice at an offset that is known on each device is not taken for its shard.
func.func @loader_takes_shard_zero_right_offset(
    %x: tensor<4x4xf32>,
    %w: tensor<4x8xf32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @loader_takes_shard_zero} {
  %0 = dist.axis_offset <{"tp"}> size 4 on @mesh : index
  %1 = tensor.extract_slice %w[0, %0] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %2 = nn.einsum "bk,kn->bn" %x, %1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

func.func @loader_takes_shard_zero_wrong(
    %x: tensor<4x4xf32>,
    %w: tensor<4x8xf32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @loader_takes_shard_zero} {
  %0 = tensor.extract_slice %w[0, 0] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
  %1 = nn.einsum "bk,kn->bn" %x, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
