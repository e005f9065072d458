// Source: NVIDIA-NeMo/RL PR #3788; ROCm/TransformerEngine PR #715; mindspore-ai/hyper-parallel
// #526
// Mistake: Weights that all ranks have count once a rank in the norm for clipping: 1.52 and 1.36
// times the norm were seen.
// Parallelism: tp, dp
// Found by: comparing the norm with tp=1

dist.mesh @mesh ["tp"=2]

func.func @replicated_weights_in_norm(%w: tensor<4x8xf32>, %gamma: tensor<8xf32>) -> tensor<f32> {
  %0 = arith.mulf %w, %w : tensor<4x8xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %2 = arith.mulf %gamma, %gamma : tensor<8xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<8xf32> -> tensor<f32>
  %4 = arith.addf %1, %3 : tensor<f32>
  %5 = math.sqrt %4 : tensor<f32>
  return %5 : tensor<f32>
}

func.func @replicated_weights_in_norm_right(
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %gamma: tensor<8xf32>)
    -> tensor<f32>
    attributes {dist.local, dist.reference = @replicated_weights_in_norm} {
  %0 = arith.mulf %w, %w : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = arith.mulf %gamma, %gamma : tensor<8xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<8xf32> -> tensor<f32>
  %4 = dist.to_partial <sum> %3 over <{"tp"}> on @mesh : tensor<f32>
  %5 = arith.addf %1, %4 : tensor<f32>
  %6 = dist.all_reduce <sum> %5 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %7 = math.sqrt %6 : tensor<f32>
  return %7 : tensor<f32>
}

func.func @replicated_weights_in_norm_right_after(
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %gamma: tensor<8xf32>)
    -> tensor<f32>
    attributes {dist.local, dist.reference = @replicated_weights_in_norm} {
  %0 = arith.mulf %w, %w : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = arith.mulf %gamma, %gamma : tensor<8xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<8xf32> -> tensor<f32>
  %4 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %5 = arith.addf %4, %3 : tensor<f32>
  %6 = math.sqrt %5 : tensor<f32>
  return %6 : tensor<f32>
}

// Unproven: tp ranks that each add s / tp add s by algebra.
func.func @replicated_weights_in_norm_right_share(
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %gamma: tensor<8xf32>)
    -> tensor<f32>
    attributes {dist.local, dist.reference = @replicated_weights_in_norm} {
  %0 = arith.mulf %w, %w : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = arith.mulf %gamma, %gamma : tensor<8xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<8xf32> -> tensor<f32>
  %4 = arith.constant dense<0.5> : tensor<f32>
  %5 = arith.mulf %3, %4 : tensor<f32>
  %6 = arith.addf %1, %5 : tensor<f32>
  %7 = dist.all_reduce <sum> %6 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %8 = math.sqrt %7 : tensor<f32>
  return %8 : tensor<f32>
}

func.func @replicated_weights_in_norm_wrong(
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %gamma: tensor<8xf32>)
    -> tensor<f32>
    attributes {dist.local, dist.reference = @replicated_weights_in_norm} {
  %0 = arith.mulf %w, %w : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = arith.mulf %gamma, %gamma : tensor<8xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<8xf32> -> tensor<f32>
  %4 = arith.addf %1, %3 : tensor<f32>
  %5 = dist.all_reduce <sum> %4 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %6 = math.sqrt %5 : tensor<f32>
  return %6 : tensor<f32>
}
