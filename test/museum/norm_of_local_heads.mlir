// Source: EleutherAI/gpt-neox PR #1424; aigc-apps/VideoX-Fun #229
// Mistake: The norm of queries and keys is over all heads, but each rank takes it over the heads
// that it has.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @norm_of_local_heads(%q: tensor<4x8xf32>, %gamma: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = nn.rms_norm %q, %gamma eps 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>
  return %0 : tensor<4x8xf32>
}

func.func @norm_of_local_heads_right(
    %q: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %gamma: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @norm_of_local_heads} {
  %0 = arith.mulf %q, %q : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = arith.constant dense<0.125> : tensor<4xf32>
  %4 = arith.mulf %2, %3 : tensor<4xf32>
  %5 = arith.constant dense<1.0e-05> : tensor<4xf32>
  %6 = arith.addf %4, %5 : tensor<4xf32>
  %7 = math.rsqrt %6 : tensor<4xf32>
  %8 = nn.broadcast %7 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %9 = arith.mulf %q, %8 : tensor<4x4xf32>
  %10 = nn.broadcast %gamma dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %11 = arith.mulf %9, %10 : tensor<4x4xf32>
  return %11 : tensor<4x4xf32>
}

func.func @norm_of_local_heads_wrong(
    %q: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %gamma: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @norm_of_local_heads} {
  %0 = nn.rms_norm %q, %gamma eps 1.0e-5 : tensor<4x4xf32>, tensor<4xf32>
  return %0 : tensor<4x4xf32>
}
