// Source: NVIDIA/Megatron-LM #7452 (1), #737
// Mistake: The smoothing term is the mean of the log-probabilities of the vocabulary's shard, so
// each rank has another loss.
// Parallelism: tp
// Found by: comparing replicas

dist.mesh @mesh ["tp"=2]

func.func @label_smoothing_by_shard(%logp: tensor<4x8xf32>, %nll: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %logp dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %1 = arith.constant dense<0.125> : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = arith.constant dense<0.9> : tensor<4xf32>
  %4 = arith.mulf %nll, %3 : tensor<4xf32>
  %5 = arith.constant dense<0.1> : tensor<4xf32>
  %6 = arith.mulf %2, %5 : tensor<4xf32>
  %7 = arith.subf %4, %6 : tensor<4xf32>
  return %7 : tensor<4xf32>
}

func.func @label_smoothing_by_shard_right(
    %logp: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %nll: tensor<4xf32>)
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @label_smoothing_by_shard} {
  %0 = nn.reduce <sum> %logp dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = arith.constant dense<0.125> : tensor<4xf32>
  %3 = arith.mulf %1, %2 : tensor<4xf32>
  %4 = arith.constant dense<0.9> : tensor<4xf32>
  %5 = arith.mulf %nll, %4 : tensor<4xf32>
  %6 = arith.constant dense<0.1> : tensor<4xf32>
  %7 = arith.mulf %3, %6 : tensor<4xf32>
  %8 = arith.subf %5, %7 : tensor<4xf32>
  return %8 : tensor<4xf32>
}

// Unproven: the factors 1/4 and 1/2 are 1/8 by algebra.
func.func @label_smoothing_by_shard_right_average(
    %logp: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %nll: tensor<4xf32>)
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @label_smoothing_by_shard} {
  %0 = nn.reduce <sum> %logp dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = arith.constant dense<0.25> : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = dist.all_reduce <sum> %2 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %4 = arith.constant dense<0.5> : tensor<4xf32>
  %5 = arith.mulf %3, %4 : tensor<4xf32>
  %6 = arith.constant dense<0.9> : tensor<4xf32>
  %7 = arith.mulf %nll, %6 : tensor<4xf32>
  %8 = arith.constant dense<0.1> : tensor<4xf32>
  %9 = arith.mulf %5, %8 : tensor<4xf32>
  %10 = arith.subf %7, %9 : tensor<4xf32>
  return %10 : tensor<4xf32>
}

func.func @label_smoothing_by_shard_wrong(
    %logp: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %nll: tensor<4xf32>)
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @label_smoothing_by_shard} {
  %0 = nn.reduce <sum> %logp dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = arith.constant dense<0.25> : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = arith.constant dense<0.9> : tensor<4xf32>
  %4 = arith.mulf %nll, %3 : tensor<4xf32>
  %5 = arith.constant dense<0.1> : tensor<4xf32>
  %6 = arith.mulf %2, %5 : tensor<4xf32>
  %7 = arith.subf %4, %6 : tensor<4xf32>
  return %7 : tensor<4xf32>
}
