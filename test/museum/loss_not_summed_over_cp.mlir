// Source: pytorch/torchtitan #3280, #3329
// Mistake: The loss is divided by the number of all tokens, but the ranks' parts are not summed
// over cp: half of it is reported.
// Parallelism: cp, tp
// Found by: comparing replicas

dist.mesh @mesh ["cp"=2]

func.func @loss_not_summed_over_cp(%loss: tensor<8xf32>) -> tensor<f32> {
  %0 = nn.reduce <sum> %loss dims [0] : tensor<8xf32> -> tensor<f32>
  %1 = arith.constant dense<0.125> : tensor<f32>
  %2 = arith.mulf %0, %1 : tensor<f32>
  return %2 : tensor<f32>
}

func.func @loss_not_summed_over_cp_right(
    %loss: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @loss_not_summed_over_cp} {
  %0 = nn.reduce <sum> %loss dims [0] : tensor<4xf32> -> tensor<f32>
  %1 = arith.constant dense<0.125> : tensor<f32>
  %2 = arith.mulf %0, %1 : tensor<f32>
  %3 = dist.all_reduce <sum> %2 over <{"cp"}> on @mesh : tensor<f32> -> tensor<f32>
  return %3 : tensor<f32>
}

func.func @loss_not_summed_over_cp_wrong(
    %loss: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @loss_not_summed_over_cp} {
  %0 = nn.reduce <sum> %loss dims [0] : tensor<4xf32> -> tensor<f32>
  %1 = arith.constant dense<0.125> : tensor<f32>
  %2 = arith.mulf %0, %1 : tensor<f32>
  return %2 : tensor<f32>
}
