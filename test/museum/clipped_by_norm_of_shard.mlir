// Source: a form, not a thread
// Mistake: Gradients are clipped by the norm of the rank's shard in place of the norm of the
// whole.
// Parallelism: tp
// Found by: comparing an update with tp=1

dist.mesh @mesh ["tp"=2]

func.func @clipped_by_norm_of_shard(%g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = arith.mulf %g, %g : tensor<4x8xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %2 = math.sqrt %1 : tensor<f32>
  %3 = arith.constant dense<1.0> : tensor<f32>
  %4 = arith.maximumf %2, %3 : tensor<f32>
  %5 = nn.broadcast %4 dims [] : tensor<f32> -> tensor<4x8xf32>
  %6 = arith.divf %g, %5 : tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

func.func @clipped_by_norm_of_shard_right(
    %g: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @clipped_by_norm_of_shard} {
  %0 = arith.mulf %g, %g : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %3 = math.sqrt %2 : tensor<f32>
  %4 = arith.constant dense<1.0> : tensor<f32>
  %5 = arith.maximumf %3, %4 : tensor<f32>
  %6 = nn.broadcast %5 dims [] : tensor<f32> -> tensor<4x4xf32>
  %7 = arith.divf %g, %6 : tensor<4x4xf32>
  return %7 : tensor<4x4xf32>
}

func.func @clipped_by_norm_of_shard_wrong(
    %g: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @clipped_by_norm_of_shard} {
  %0 = arith.mulf %g, %g : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0, 1] : tensor<4x4xf32> -> tensor<f32>
  %2 = math.sqrt %1 : tensor<f32>
  %3 = arith.constant dense<1.0> : tensor<f32>
  %4 = arith.maximumf %2, %3 : tensor<f32>
  %5 = nn.broadcast %4 dims [] : tensor<f32> -> tensor<4x4xf32>
  %6 = arith.divf %g, %5 : tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}
