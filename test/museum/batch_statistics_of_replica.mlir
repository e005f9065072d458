// Source: a form, not a thread
// Mistake: A batch norm that is meant for the whole batch uses the mean and the variance of a
// replica's rows.
// Parallelism: dp
// Found by: a comparison with dp=1

dist.mesh @mesh ["dp"=2]

func.func @batch_statistics_of_replica(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %1 = arith.constant dense<0.125> : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = nn.broadcast %2 dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %4 = arith.subf %x, %3 : tensor<8x4xf32>
  %5 = arith.mulf %4, %4 : tensor<8x4xf32>
  %6 = nn.reduce <sum> %5 dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %7 = arith.constant dense<0.125> : tensor<4xf32>
  %8 = arith.mulf %6, %7 : tensor<4xf32>
  %9 = arith.constant dense<1.0e-05> : tensor<4xf32>
  %10 = arith.addf %8, %9 : tensor<4xf32>
  %11 = math.rsqrt %10 : tensor<4xf32>
  %12 = nn.broadcast %11 dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %13 = arith.mulf %4, %12 : tensor<8x4xf32>
  return %13 : tensor<8x4xf32>
}

func.func @batch_statistics_of_replica_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    attributes {dist.local, dist.reference = @batch_statistics_of_replica} {
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
  %11 = arith.constant dense<1.0e-05> : tensor<4xf32>
  %12 = arith.addf %10, %11 : tensor<4xf32>
  %13 = math.rsqrt %12 : tensor<4xf32>
  %14 = nn.broadcast %13 dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %15 = arith.mulf %5, %14 : tensor<4x4xf32>
  return %15 : tensor<4x4xf32>
}

func.func @batch_statistics_of_replica_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    attributes {dist.local, dist.reference = @batch_statistics_of_replica} {
  %0 = nn.reduce <sum> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = arith.constant dense<0.25> : tensor<4xf32>
  %2 = arith.mulf %0, %1 : tensor<4xf32>
  %3 = nn.broadcast %2 dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %4 = arith.subf %x, %3 : tensor<4x4xf32>
  %5 = arith.mulf %4, %4 : tensor<4x4xf32>
  %6 = nn.reduce <sum> %5 dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %7 = arith.constant dense<0.25> : tensor<4xf32>
  %8 = arith.mulf %6, %7 : tensor<4xf32>
  %9 = arith.constant dense<1.0e-05> : tensor<4xf32>
  %10 = arith.addf %8, %9 : tensor<4xf32>
  %11 = math.rsqrt %10 : tensor<4xf32>
  %12 = nn.broadcast %11 dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %13 = arith.mulf %4, %12 : tensor<4x4xf32>
  return %13 : tensor<4x4xf32>
}
