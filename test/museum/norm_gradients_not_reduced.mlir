// Source: hpcaitech/ColossalAI PR #4926; NVIDIA-NeMo/Speech PR #7184; InternLM/InternLM PR #534
// Mistake: Each rank has the gradient of a norm's weight from its part of the sequence, and
// nothing reduces it over tp: the replicas drift apart.
// Parallelism: sp
// Found by: comparing replicas after a step

dist.mesh @mesh ["tp"=2]

func.func @norm_gradients_not_reduced(%g: tensor<8x4xf32>, %x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = arith.mulf %g, %x : tensor<8x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func @norm_gradients_not_reduced_right(
    %g: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @norm_gradients_not_reduced} {
  %0 = arith.mulf %g, %x : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

func.func @norm_gradients_not_reduced_wrong(
    %g: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @norm_gradients_not_reduced} {
  %0 = arith.mulf %g, %x : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
