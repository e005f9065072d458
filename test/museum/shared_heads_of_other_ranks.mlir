// Source: a form, not a thread
// Mistake: There are fewer heads of keys than ranks; rank r takes head r modulo their number in
// place of r divided by the ranks of a head.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["a"=2, "b"=2]

func.func @shared_heads_of_other_ranks(
    %q: tensor<2x2x4xf32>,
    %k: tensor<2x4xf32>)
    -> tensor<2x2xf32> {
  %0 = nn.einsum "grd,gd->gr" %q, %k : tensor<2x2x4xf32>, tensor<2x4xf32> -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

func.func @shared_heads_of_other_ranks_right(
    %q: tensor<1x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {"b"}, {}]>},
    %k: tensor<2x4xf32>)
    -> (tensor<1x1xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {"b"}]>})
    attributes {dist.local, dist.reference = @shared_heads_of_other_ranks} {
  %0 = dist.all_slice %k dim 0 over <{"a"}> on @mesh : tensor<2x4xf32> -> tensor<1x4xf32>
  %1 = nn.einsum "grd,gd->gr" %q, %0 : tensor<1x1x4xf32>, tensor<1x4xf32> -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}

func.func @shared_heads_of_other_ranks_wrong(
    %q: tensor<1x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {"b"}, {}]>},
    %k: tensor<2x4xf32>)
    -> (tensor<1x1xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {"b"}]>})
    attributes {dist.local, dist.reference = @shared_heads_of_other_ranks} {
  %0 = dist.all_slice %k dim 0 over <{"b"}> on @mesh : tensor<2x4xf32> -> tensor<1x4xf32>
  %1 = nn.einsum "grd,gd->gr" %q, %0 : tensor<1x1x4xf32>, tensor<1x4xf32> -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}
