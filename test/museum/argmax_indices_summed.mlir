// Source: tenstorrent/tt-mlir #8623
// Mistake: The argmax over a sharded dimension is taken in each shard, and the indices are summed.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @argmax_indices_summed(%x: tensor<4x8xf32>) -> tensor<4xi32> {
  %0, %1 = nn.arg_reduce <max> %x dim 1 : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  return %1 : tensor<4xi32>
}

func.func @argmax_indices_summed_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xi32>
    attributes {dist.local, dist.reference = @argmax_indices_summed} {
  %0 = dist.axis_offset <{"tp"}> size 4 on @mesh : index
  %1 = nn.reduce <max> %x dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <max> %1 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.broadcast %2 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %4 = arith.cmpf oeq, %x, %3 : tensor<4x4xf32>
  %5 = arith.cmpf uno, %x, %x : tensor<4x4xf32>
  %6 = arith.ori %4, %5 : tensor<4x4xi1>
  %7 = nn.iota offset %0 : tensor<4xi32>
  %8 = nn.broadcast %7 dims [1] : tensor<4xi32> -> tensor<4x4xi32>
  %9 = arith.constant dense<2147483647> : tensor<4x4xi32>
  %10 = arith.select %6, %8, %9 : tensor<4x4xi1>, tensor<4x4xi32>
  %11 = nn.reduce <min> %10 dims [1] : tensor<4x4xi32> -> tensor<4xi32>
  %12 = dist.all_reduce <min> %11 over <{"tp"}> on @mesh : tensor<4xi32> -> tensor<4xi32>
  return %12 : tensor<4xi32>
}

func.func @argmax_indices_summed_right_gathered(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xi32>
    attributes {dist.local, dist.reference = @argmax_indices_summed} {
  %0 = dist.all_gather %x dim 1 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x8xf32>
  %1, %2 = nn.arg_reduce <max> %0 dim 1 : tensor<4x8xf32> -> tensor<4xf32>, tensor<4xi32>
  return %2 : tensor<4xi32>
}

func.func @argmax_indices_summed_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xi32>
    attributes {dist.local, dist.reference = @argmax_indices_summed} {
  %0, %1 = nn.arg_reduce <max> %x dim 1 : tensor<4x4xf32> -> tensor<4xf32>, tensor<4xi32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<4xi32> -> tensor<4xi32>
  return %2 : tensor<4xi32>
}
