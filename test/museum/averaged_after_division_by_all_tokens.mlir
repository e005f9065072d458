// Source: ByteDance-Seed/VeOmni PR #1120
// Mistake: The loss is divided by the number of all ranks' tokens, and gradients are averaged over
// the ranks all the same: they are too small by the number of ranks.
// Parallelism: dp, sp
// Found by: comparing gradients with dp=1

dist.mesh @mesh ["dp"=2]

func.func @averaged_after_division_by_all_tokens(
    %x: tensor<8x4xf32>,
    %g: tensor<8x2xf32>)
    -> tensor<4x2xf32> {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.125> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

func.func @averaged_after_division_by_all_tokens_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @averaged_after_division_by_all_tokens} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.125> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  // The sum is divided by the number of all tokens.
  %3 = dist.all_reduce <sum> %2 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}

func.func @averaged_after_division_by_all_tokens_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @averaged_after_division_by_all_tokens} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.125> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  // The sum is divided by the number of all tokens.
  %3 = dist.all_reduce <sum> %2 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %4 = arith.constant dense<0.5> : tensor<4x2xf32>
  %5 = arith.mulf %3, %4 : tensor<4x2xf32>
  return %5 : tensor<4x2xf32>
}
