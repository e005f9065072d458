// Source: pytorch/pytorch #163193
// Mistake: A number is added to a partial sum on every rank, so the sum has it tp times.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @number_added_to_partial_sum(
    %x: tensor<4x8xf32>,
    %w: tensor<8x4xf32>)
    -> tensor<4x4xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = arith.constant dense<1.0> : tensor<4x4xf32>
  %2 = arith.addf %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

func.func @number_added_to_partial_sum_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @number_added_to_partial_sum} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = arith.constant dense<1.0> : tensor<4x4xf32>
  %3 = arith.addf %1, %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// Unproven: tp ranks that each add 1 / tp add 1 by algebra.
func.func @number_added_to_partial_sum_right_share(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @number_added_to_partial_sum} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = arith.constant dense<0.5> : tensor<4x4xf32>
  %2 = arith.addf %0, %1 : tensor<4x4xf32>
  %3 = dist.all_reduce <sum> %2 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

func.func @number_added_to_partial_sum_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @number_added_to_partial_sum} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = arith.constant dense<1.0> : tensor<4x4xf32>
  %2 = arith.addf %0, %1 : tensor<4x4xf32>
  %3 = dist.all_reduce <sum> %2 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
