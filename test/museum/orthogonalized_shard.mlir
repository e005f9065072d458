// Source: deepspeedai/DeepSpeed #8437
// Mistake: Muon orthogonalizes the shard that a rank has in place of the whole matrix, so the
// update depends on tp (0.39 relative).
// Parallelism: tp
// Found by: comparing an update with tp=1

dist.mesh @mesh ["tp"=2]

func.func @orthogonalized_shard(%g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.einsum "ik,jk->ij" %g, %g : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  %1 = arith.constant dense<1.5> : tensor<4x8xf32>
  %2 = arith.mulf %g, %1 : tensor<4x8xf32>
  %3 = nn.einsum "ij,jk->ik" %0, %g : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = arith.constant dense<0.5> : tensor<4x8xf32>
  %5 = arith.mulf %3, %4 : tensor<4x8xf32>
  %6 = arith.subf %2, %5 : tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

func.func @orthogonalized_shard_right(
    %g: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @orthogonalized_shard} {
  %0 = nn.einsum "ik,jk->ij" %g, %g : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = arith.constant dense<1.5> : tensor<4x4xf32>
  %3 = arith.mulf %g, %2 : tensor<4x4xf32>
  %4 = nn.einsum "ij,jk->ik" %1, %g : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %5 = arith.constant dense<0.5> : tensor<4x4xf32>
  %6 = arith.mulf %4, %5 : tensor<4x4xf32>
  %7 = arith.subf %3, %6 : tensor<4x4xf32>
  return %7 : tensor<4x4xf32>
}

func.func @orthogonalized_shard_right_gathered(
    %g: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @orthogonalized_shard} {
  %0 = dist.all_gather %g dim 1 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x8xf32>
  %1 = nn.einsum "ik,jk->ij" %0, %0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  %2 = arith.constant dense<1.5> : tensor<4x8xf32>
  %3 = arith.mulf %0, %2 : tensor<4x8xf32>
  %4 = nn.einsum "ij,jk->ik" %1, %0 : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %5 = arith.constant dense<0.5> : tensor<4x8xf32>
  %6 = arith.mulf %4, %5 : tensor<4x8xf32>
  %7 = arith.subf %3, %6 : tensor<4x8xf32>
  %8 = dist.all_slice %7 dim 1 over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<4x4xf32>
  return %8 : tensor<4x4xf32>
}

func.func @orthogonalized_shard_wrong(
    %g: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @orthogonalized_shard} {
  %0 = nn.einsum "ik,jk->ij" %g, %g : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = arith.constant dense<1.5> : tensor<4x4xf32>
  %2 = arith.mulf %g, %1 : tensor<4x4xf32>
  %3 = nn.einsum "ij,jk->ik" %0, %g : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %4 = arith.constant dense<0.5> : tensor<4x4xf32>
  %5 = arith.mulf %3, %4 : tensor<4x4xf32>
  %6 = arith.subf %2, %5 : tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}
