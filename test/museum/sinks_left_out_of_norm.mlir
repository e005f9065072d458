// Source: NVIDIA/Megatron-LM #7452 (8), PR #5916; radixark/Megatron-LM PR #80
// Mistake: The norm for clipping takes sinks (or the weights of experts), which are sharded, for
// replicated ones and counts rank 0's alone.
// Parallelism: tp, ep
// Found by: comparing the norm with tp=1

dist.mesh @mesh ["tp"=2]

func.func @sinks_left_out_of_norm(%w: tensor<4x8xf32>, %sinks: tensor<8xf32>) -> tensor<f32> {
  %0 = arith.mulf %w, %w : tensor<4x8xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %2 = arith.mulf %sinks, %sinks : tensor<8xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<8xf32> -> tensor<f32>
  %4 = arith.addf %1, %3 : tensor<f32>
  %5 = math.sqrt %4 : tensor<f32>
  return %5 : tensor<f32>
}

func.func @sinks_left_out_of_norm_right(
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %sinks: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @sinks_left_out_of_norm} {
  %0 = arith.mulf %w, %w : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %3 = arith.mulf %sinks, %sinks : tensor<4xf32>
  %4 = nn.reduce <sum> %3 dims [0] : tensor<4xf32> -> tensor<f32>
  %5 = dist.all_reduce <sum> %4 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %6 = arith.addf %2, %5 : tensor<f32>
  %7 = math.sqrt %6 : tensor<f32>
  return %7 : tensor<f32>
}

func.func @sinks_left_out_of_norm_wrong(
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %sinks: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @sinks_left_out_of_norm} {
  %0 = arith.mulf %w, %w : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %3 = arith.mulf %sinks, %sinks : tensor<4xf32>
  %4 = nn.reduce <sum> %3 dims [0] : tensor<4xf32> -> tensor<f32>
  %5 = dist.to_partial <sum> %4 over <{"tp"}> on @mesh : tensor<f32>
  %6 = dist.all_reduce <sum> %5 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %7 = arith.addf %2, %6 : tensor<f32>
  %8 = math.sqrt %7 : tensor<f32>
  return %8 : tensor<f32>
}
