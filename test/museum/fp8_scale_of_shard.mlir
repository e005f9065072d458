// Source: pytorch/torchtitan #3109; vllm-project/vllm PR #54683
// Mistake: The scale for fp8 follows from the largest element of the rank's shard in place of the
// whole tensor's: one scale is used for numbers that another one scaled, and a loss was NaN from
// step 3 on.
// Parallelism: tp
// Found by: comparing the scales of replicas

dist.mesh @mesh ["tp"=4]

func.func @fp8_scale_of_shard(%x: tensor<4x16xf32>) -> (tensor<4x16xf8E4M3FN>, tensor<f32>) {
  %0 = math.absf %x : tensor<4x16xf32>
  %1 = nn.reduce <max> %0 dims [0, 1] : tensor<4x16xf32> -> tensor<f32>
  %2, %3 = nn.quantize %x by %1 : tensor<4x16xf32>, tensor<f32> -> tensor<4x16xf8E4M3FN>
  return %2, %3 : tensor<4x16xf8E4M3FN>, tensor<f32>
}

func.func @fp8_scale_of_shard_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf8E4M3FN> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}, tensor<f32>)
    attributes {dist.local, dist.reference = @fp8_scale_of_shard} {
  %0 = math.absf %x : tensor<4x4xf32>
  %1 = nn.reduce <max> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = dist.all_reduce <max> %1 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %3, %4 = nn.quantize %x by %2 : tensor<4x4xf32>, tensor<f32> -> tensor<4x4xf8E4M3FN>
  return %3, %4 : tensor<4x4xf8E4M3FN>, tensor<f32>
}

func.func @fp8_scale_of_shard_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf8E4M3FN> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}, tensor<f32>)
    attributes {dist.local, dist.reference = @fp8_scale_of_shard} {
  %0 = math.absf %x : tensor<4x4xf32>
  %1 = nn.reduce <max> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2, %3 = nn.quantize %x by %1 : tensor<4x4xf32>, tensor<f32> -> tensor<4x4xf8E4M3FN>
  return %2, %3 : tensor<4x4xf8E4M3FN>, tensor<f32>
}
