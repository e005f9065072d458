// Source: a form, not a thread
// Mistake: A norm over a sharded dimension sums the squares over tp, but around the means of the
// shards.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @variance_around_local_mean(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %1 = arith.constant dense<0.125> : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = nn.broadcast %2 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %4 = arith.subf %x, %3 : tensor<4x8xf32>
  %5 = arith.mulf %4, %4 : tensor<4x8xf32>
  %6 = nn.reduce <sum> %5 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %7 = arith.constant dense<0.125> : tensor<4xf32>
  %8 = arith.mulf %6, %7 : tensor<4xf32>
  %9 = arith.constant dense<1.0e-05> : tensor<4xf32>
  %10 = arith.addf %8, %9 : tensor<4xf32>
  %11 = math.rsqrt %10 : tensor<4xf32>
  return %11 : tensor<4xf32>
}

func.func @variance_around_local_mean_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @variance_around_local_mean} {
  %0 = nn.reduce <sum> %x dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = arith.constant dense<0.125> : tensor<4xf32>
  %3 = arith.mulf %1, %2 : tensor<4xf32>
  %4 = nn.broadcast %3 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %5 = arith.subf %x, %4 : tensor<4x4xf32>
  %6 = arith.mulf %5, %5 : tensor<4x4xf32>
  %7 = nn.reduce <sum> %6 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %8 = dist.all_reduce <sum> %7 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %9 = arith.constant dense<0.125> : tensor<4xf32>
  %10 = arith.mulf %8, %9 : tensor<4xf32>
  %11 = arith.constant dense<1.0e-05> : tensor<4xf32>
  %12 = arith.addf %10, %11 : tensor<4xf32>
  %13 = math.rsqrt %12 : tensor<4xf32>
  return %13 : tensor<4xf32>
}

func.func @variance_around_local_mean_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @variance_around_local_mean} {
  %0 = nn.reduce <sum> %x dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = arith.constant dense<0.25> : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = nn.broadcast %2 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %4 = arith.subf %x, %3 : tensor<4x4xf32>
  %5 = arith.mulf %4, %4 : tensor<4x4xf32>
  %6 = nn.reduce <sum> %5 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %7 = dist.all_reduce <sum> %6 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %8 = arith.constant dense<0.125> : tensor<4xf32>
  %9 = arith.mulf %7, %8 : tensor<4xf32>
  %10 = arith.constant dense<1.0e-05> : tensor<4xf32>
  %11 = arith.addf %9, %10 : tensor<4xf32>
  %12 = math.rsqrt %11 : tensor<4xf32>
  return %12 : tensor<4xf32>
}
