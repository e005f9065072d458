// Source: EleutherAI/gpt-neox PR #1259
// Mistake: Each rank has the gradient of a norm's weight from its part of the sequence; the parts
// are averaged over tp in place of summed.
// Parallelism: sp
// Found by: comparing gradients with tp=1

dist.mesh @mesh ["tp"=2]

func.func @norm_gradients_averaged(%g: tensor<8x4xf32>, %x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = arith.mulf %g, %x : tensor<8x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func @norm_gradients_averaged_right(
    %g: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @norm_gradients_averaged} {
  %0 = arith.mulf %g, %x : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

func.func @norm_gradients_averaged_wrong(
    %g: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @norm_gradients_averaged} {
  %0 = arith.mulf %g, %x : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = arith.constant dense<0.5> : tensor<4xf32>
  %4 = arith.mulf %2, %3 : tensor<4xf32>
  return %4 : tensor<4xf32>
}
