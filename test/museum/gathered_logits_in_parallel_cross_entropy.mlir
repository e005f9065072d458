// Source: NVIDIA/Megatron-LM #7452 (2)
// Mistake: Logits that are gathered already enter the cross-entropy for shards of the vocabulary,
// which sums their exponentials over tp once more: each loss is too large by log(tp).
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @gathered_logits_in_parallel_cross_entropy(%logits: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <max> %logits dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %1 = nn.broadcast %0 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %2 = arith.subf %logits, %1 : tensor<4x8xf32>
  %3 = math.exp %2 : tensor<4x8xf32>
  %4 = nn.reduce <sum> %3 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %5 = math.log %4 : tensor<4xf32>
  %6 = arith.addf %0, %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

func.func @gathered_logits_in_parallel_cross_entropy_right(
    %logits: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @gathered_logits_in_parallel_cross_entropy} {
  %0 = nn.reduce <max> %logits dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <max> %0 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = nn.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %3 = arith.subf %logits, %2 : tensor<4x4xf32>
  %4 = math.exp %3 : tensor<4x4xf32>
  %5 = nn.reduce <sum> %4 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %6 = dist.all_reduce <sum> %5 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %7 = math.log %6 : tensor<4xf32>
  %8 = arith.addf %1, %7 : tensor<4xf32>
  return %8 : tensor<4xf32>
}

func.func @gathered_logits_in_parallel_cross_entropy_wrong(
    %logits: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @gathered_logits_in_parallel_cross_entropy} {
  %0 = dist.all_gather %logits dim 1 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x8xf32>
  %1 = nn.reduce <max> %0 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <max> %1 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.broadcast %2 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %4 = arith.subf %0, %3 : tensor<4x8xf32>
  %5 = math.exp %4 : tensor<4x8xf32>
  %6 = nn.reduce <sum> %5 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %7 = dist.all_reduce <sum> %6 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %8 = math.log %7 : tensor<4xf32>
  %9 = arith.addf %2, %8 : tensor<4xf32>
  return %9 : tensor<4xf32>
}
