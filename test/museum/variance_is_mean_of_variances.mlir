// Source: a form, not a thread
// Mistake: The variance of the batch is taken for the mean of the replicas' variances, which lacks
// the differences of their means.
// Parallelism: dp
// Found by: a comparison with dp=1

dist.mesh @mesh ["dp"=2]

func.func @variance_is_mean_of_variances(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %1 = arith.constant dense<0.125> : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = nn.broadcast %2 dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %4 = arith.subf %x, %3 : tensor<8x4xf32>
  %5 = arith.mulf %4, %4 : tensor<8x4xf32>
  %6 = nn.reduce <sum> %5 dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %7 = arith.constant dense<0.125> : tensor<4xf32>
  %8 = arith.mulf %6, %7 : tensor<4xf32>
  return %8 : tensor<4xf32>
}

func.func @variance_is_mean_of_variances_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @variance_is_mean_of_variances} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = arith.constant dense<0.125> : tensor<4xf32>
  %3 = arith.mulf %1, %2 : tensor<4xf32>
  %4 = nn.broadcast %3 dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %5 = arith.subf %x, %4 : tensor<4x4xf32>
  %6 = arith.mulf %5, %5 : tensor<4x4xf32>
  %7 = nn.reduce <sum> %6 dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %8 = dist.all_reduce <sum> %7 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %9 = arith.constant dense<0.125> : tensor<4xf32>
  %10 = arith.mulf %8, %9 : tensor<4xf32>
  return %10 : tensor<4xf32>
}

func.func @variance_is_mean_of_variances_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @variance_is_mean_of_variances} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = arith.constant dense<0.25> : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = nn.broadcast %2 dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %4 = arith.subf %x, %3 : tensor<4x4xf32>
  %5 = arith.mulf %4, %4 : tensor<4x4xf32>
  %6 = nn.reduce <sum> %5 dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %7 = arith.constant dense<0.25> : tensor<4xf32>
  %8 = arith.mulf %6, %7 : tensor<4xf32>
  %9 = dist.all_reduce <sum> %8 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %10 = arith.constant dense<0.5> : tensor<4xf32>
  %11 = arith.mulf %9, %10 : tensor<4xf32>
  return %11 : tensor<4xf32>
}
