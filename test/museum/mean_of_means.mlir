// Source: NVIDIA/Megatron-LM #7452 (3); huggingface/transformers #608
// Mistake: Each rank divides its sum of losses by its own number of tokens, and the quotients are
// averaged: ranks with few tokens weigh as much as those with many.
// Parallelism: dp, cp
// Found by: a comparison with dp=1

dist.mesh @mesh ["dp"=2]

func.func @mean_of_means(%loss: tensor<16xf32>, %mask: tensor<16xi1>) -> tensor<f32> {
  %0 = arith.uitofp %mask : tensor<16xi1> to tensor<16xf32>
  %1 = arith.mulf %loss, %0 : tensor<16xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<16xf32> -> tensor<f32>
  %3 = nn.reduce <sum> %0 dims [0] : tensor<16xf32> -> tensor<f32>
  %4 = arith.divf %2, %3 : tensor<f32>
  return %4 : tensor<f32>
}

func.func @mean_of_means_right(
    %loss: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>},
    %mask: tensor<8xi1> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @mean_of_means} {
  %0 = arith.uitofp %mask : tensor<8xi1> to tensor<8xf32>
  %1 = arith.mulf %loss, %0 : tensor<8xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<8xf32> -> tensor<f32>
  %3 = nn.reduce <sum> %0 dims [0] : tensor<8xf32> -> tensor<f32>
  %4 = dist.all_reduce <sum> %2 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
  %5 = dist.all_reduce <sum> %3 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
  %6 = arith.divf %4, %5 : tensor<f32>
  return %6 : tensor<f32>
}

func.func @mean_of_means_wrong(
    %loss: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>},
    %mask: tensor<8xi1> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @mean_of_means} {
  %0 = arith.uitofp %mask : tensor<8xi1> to tensor<8xf32>
  %1 = arith.mulf %loss, %0 : tensor<8xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<8xf32> -> tensor<f32>
  %3 = nn.reduce <sum> %0 dims [0] : tensor<8xf32> -> tensor<f32>
  %4 = arith.divf %2, %3 : tensor<f32>
  %5 = dist.all_reduce <sum> %4 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
  %6 = arith.constant dense<0.5> : tensor<f32>
  %7 = arith.mulf %5, %6 : tensor<f32>
  return %7 : tensor<f32>
}
