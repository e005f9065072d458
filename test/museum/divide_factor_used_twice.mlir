// Source: pytorch/pytorch #155903
// Mistake: A factor that divides gradients by the number of ranks is applied before the
// reduce-scatter and again before the all-reduce over the replicas.
// Parallelism: dp (HSDP)
// Found by: comparing gradients with dp=1

dist.mesh @mesh ["replica"=2, "shard"=2]

func.func @divide_factor_used_twice(%x: tensor<8x4xf32>, %g: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.25> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

func.func @divide_factor_used_twice_right(
    %x: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"replica", "shard"}, {}]>},
    %g: tensor<2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"replica", "shard"}, {}]>})
    -> (tensor<2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"shard"}, {}]>})
    attributes {dist.local, dist.reference = @divide_factor_used_twice} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<2x4xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.25> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  %3 = dist.reduce_scatter <sum> %2 dim 0 over <{"shard"}> on @mesh : tensor<4x2xf32> -> tensor<2x2xf32>
  %4 = dist.all_reduce <sum> %3 over <{"replica"}> on @mesh : tensor<2x2xf32> -> tensor<2x2xf32>
  return %4 : tensor<2x2xf32>
}

func.func @divide_factor_used_twice_wrong(
    %x: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"replica", "shard"}, {}]>},
    %g: tensor<2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"replica", "shard"}, {}]>})
    -> (tensor<2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"shard"}, {}]>})
    attributes {dist.local, dist.reference = @divide_factor_used_twice} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<2x4xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.25> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  %3 = dist.reduce_scatter <sum> %2 dim 0 over <{"shard"}> on @mesh : tensor<4x2xf32> -> tensor<2x2xf32>
  %4 = arith.constant dense<0.25> : tensor<2x2xf32>
  %5 = arith.mulf %3, %4 : tensor<2x2xf32>
  %6 = dist.all_reduce <sum> %5 over <{"replica"}> on @mesh : tensor<2x2xf32> -> tensor<2x2xf32>
  return %6 : tensor<2x2xf32>
}
