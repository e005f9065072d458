// Source: a form, not a thread
// Mistake: An evaluation averages the ranks' perplexities in place of their losses.
// Parallelism: dp
// Found by: a comparison with dp=1

dist.mesh @mesh ["dp"=2]

func.func @perplexity_averaged(%loss: tensor<8xf32>) -> tensor<f32> {
  %0 = nn.reduce <sum> %loss dims [0] : tensor<8xf32> -> tensor<f32>
  %1 = arith.constant dense<0.125> : tensor<f32>
  %2 = arith.mulf %0, %1 : tensor<f32>
  %3 = math.exp %2 : tensor<f32>
  return %3 : tensor<f32>
}

func.func @perplexity_averaged_right(
    %loss: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @perplexity_averaged} {
  %0 = nn.reduce <sum> %loss dims [0] : tensor<4xf32> -> tensor<f32>
  %1 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
  %2 = arith.constant dense<0.125> : tensor<f32>
  %3 = arith.mulf %1, %2 : tensor<f32>
  %4 = math.exp %3 : tensor<f32>
  return %4 : tensor<f32>
}

func.func @perplexity_averaged_wrong(
    %loss: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @perplexity_averaged} {
  %0 = nn.reduce <sum> %loss dims [0] : tensor<4xf32> -> tensor<f32>
  %1 = arith.constant dense<0.25> : tensor<f32>
  %2 = arith.mulf %0, %1 : tensor<f32>
  %3 = math.exp %2 : tensor<f32>
  %4 = dist.all_reduce <sum> %3 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
  %5 = arith.constant dense<0.5> : tensor<f32>
  %6 = arith.mulf %4, %5 : tensor<f32>
  return %6 : tensor<f32>
}
