// Source: huggingface/text-generation-inference #1036; awslabs/slapo #10; PaddlePaddle/Paddle PR
// #35186
// Mistake: The bias of a layer whose contraction is sharded is added on each rank before the
// all-reduce, so it counts tp times.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @bias_before_reduction(
    %x: tensor<4x8xf32>,
    %w: tensor<8x4xf32>,
    %b: tensor<4xf32>)
    -> tensor<4x4xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %2 = arith.addf %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

func.func @bias_before_reduction_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %b: tensor<4xf32>)
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @bias_before_reduction} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %2 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = arith.addf %2, %1 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// Unproven: tp ranks that each add b / tp add b by algebra.
func.func @bias_before_reduction_right_share(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %b: tensor<4xf32>)
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @bias_before_reduction} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %2 = arith.constant dense<0.5> : tensor<4x4xf32>
  %3 = arith.mulf %1, %2 : tensor<4x4xf32>
  %4 = arith.addf %0, %3 : tensor<4x4xf32>
  %5 = dist.all_reduce <sum> %4 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}

func.func @bias_before_reduction_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %b: tensor<4xf32>)
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @bias_before_reduction} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %2 = arith.addf %0, %1 : tensor<4x4xf32>
  %3 = dist.all_reduce <sum> %2 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
