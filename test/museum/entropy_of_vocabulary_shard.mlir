// Source: a form, not a thread
// Mistake: The entropy of a policy sums over the vocabulary's shard that a rank has.
// Parallelism: tp
// Found by: comparing replicas

dist.mesh @mesh ["tp"=2]

func.func @entropy_of_vocabulary_shard(%p: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = math.log %p : tensor<4x8xf32>
  %1 = arith.mulf %p, %0 : tensor<4x8xf32>
  %2 = nn.reduce <sum> %1 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %3 = arith.negf %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

func.func @entropy_of_vocabulary_shard_right(
    %p: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @entropy_of_vocabulary_shard} {
  %0 = math.log %p : tensor<4x4xf32>
  %1 = arith.mulf %p, %0 : tensor<4x4xf32>
  %2 = nn.reduce <sum> %1 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %3 = arith.negf %2 : tensor<4xf32>
  %4 = dist.all_reduce <sum> %3 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

func.func @entropy_of_vocabulary_shard_wrong(
    %p: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @entropy_of_vocabulary_shard} {
  %0 = math.log %p : tensor<4x4xf32>
  %1 = arith.mulf %p, %0 : tensor<4x4xf32>
  %2 = nn.reduce <sum> %1 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %3 = arith.negf %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}
