// Source: a form, not a thread
// Mistake: The softmax is taken over the shard of a row that a rank has.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @softmax_within_shard(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.softmax %x dim 1 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

func.func @softmax_within_shard_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @softmax_within_shard} {
  %0 = nn.reduce <max> %x dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <max> %0 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = nn.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %3 = arith.subf %x, %2 : tensor<4x4xf32>
  %4 = math.exp %3 : tensor<4x4xf32>
  %5 = nn.reduce <sum> %4 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %6 = dist.all_reduce <sum> %5 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %7 = nn.broadcast %6 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %8 = arith.divf %4, %7 : tensor<4x4xf32>
  return %8 : tensor<4x4xf32>
}

func.func @softmax_within_shard_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @softmax_within_shard} {
  %0 = nn.softmax %x dim 1 : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
