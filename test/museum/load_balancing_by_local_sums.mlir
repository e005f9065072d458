// Source: pytorch/torchtitan PR #3000; NVIDIA/Megatron-LM PR #3768, #3769
// Mistake: The load-balancing loss multiplies a rank's own counts with its own probabilities and
// sums the products: a sum of products stands for the product of sums.
// Parallelism: dp, ep
// Found by: a comparison with dp=1

dist.mesh @mesh ["dp"=2]

func.func @load_balancing_by_local_sums(
    %chosen: tensor<8x4xf32>,
    %probs: tensor<8x4xf32>)
    -> tensor<f32> {
  %0 = nn.reduce <sum> %chosen dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %1 = nn.reduce <sum> %probs dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<4xf32> -> tensor<f32>
  return %3 : tensor<f32>
}

func.func @load_balancing_by_local_sums_right(
    %chosen: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %probs: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @load_balancing_by_local_sums} {
  %0 = nn.reduce <sum> %chosen dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = nn.reduce <sum> %probs dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = dist.all_reduce <sum> %1 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %4 = arith.mulf %2, %3 : tensor<4xf32>
  %5 = nn.reduce <sum> %4 dims [0] : tensor<4xf32> -> tensor<f32>
  return %5 : tensor<f32>
}

func.func @load_balancing_by_local_sums_wrong(
    %chosen: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %probs: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @load_balancing_by_local_sums} {
  %0 = nn.reduce <sum> %chosen dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = nn.reduce <sum> %probs dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<4xf32> -> tensor<f32>
  %4 = dist.all_reduce <sum> %3 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
  return %4 : tensor<f32>
}
