// Source: a form, not a thread
// Mistake: Partial sums are averaged over tp in place of summed.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @half_of_a_sum(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

func.func @half_of_a_sum_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @half_of_a_sum} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

func.func @half_of_a_sum_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @half_of_a_sum} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = arith.constant dense<0.5> : tensor<4x4xf32>
  %3 = arith.mulf %1, %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
