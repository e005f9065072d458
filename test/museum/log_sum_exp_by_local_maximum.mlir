// Source: a form, not a thread
// Mistake: Each rank subtracts the maximum of its own shard before exp, and the sums are added as
// if they had been shifted alike.
// Parallelism: tp
// Found by: comparing replicas

dist.mesh @mesh ["tp"=2]

func.func @log_sum_exp_by_local_maximum(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <max> %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %1 = nn.broadcast %0 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %2 = arith.subf %x, %1 : tensor<4x8xf32>
  %3 = math.exp %2 : tensor<4x8xf32>
  %4 = nn.reduce <sum> %3 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
  %5 = math.log %4 : tensor<4xf32>
  %6 = arith.addf %0, %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

func.func @log_sum_exp_by_local_maximum_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @log_sum_exp_by_local_maximum} {
  %0 = nn.reduce <max> %x dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <max> %0 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = nn.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %3 = arith.subf %x, %2 : tensor<4x4xf32>
  %4 = math.exp %3 : tensor<4x4xf32>
  %5 = nn.reduce <sum> %4 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %6 = dist.all_reduce <sum> %5 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %7 = math.log %6 : tensor<4xf32>
  %8 = arith.addf %1, %7 : tensor<4xf32>
  return %8 : tensor<4xf32>
}

// Unproven: exp(x - m) exp(m - w) is exp(x - w), which no rule of the proof says.
func.func @log_sum_exp_by_local_maximum_right_rescaled(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @log_sum_exp_by_local_maximum} {
  %0 = nn.reduce <max> %x dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = nn.broadcast %0 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %2 = arith.subf %x, %1 : tensor<4x4xf32>
  %3 = math.exp %2 : tensor<4x4xf32>
  %4 = nn.reduce <sum> %3 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %5 = dist.all_reduce <max> %0 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %6 = arith.subf %0, %5 : tensor<4xf32>
  %7 = math.exp %6 : tensor<4xf32>
  %8 = arith.mulf %4, %7 : tensor<4xf32>
  %9 = dist.all_reduce <sum> %8 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %10 = math.log %9 : tensor<4xf32>
  %11 = arith.addf %5, %10 : tensor<4xf32>
  return %11 : tensor<4xf32>
}

func.func @log_sum_exp_by_local_maximum_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @log_sum_exp_by_local_maximum} {
  %0 = nn.reduce <max> %x dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = nn.broadcast %0 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %2 = arith.subf %x, %1 : tensor<4x4xf32>
  %3 = math.exp %2 : tensor<4x4xf32>
  %4 = nn.reduce <sum> %3 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %5 = dist.all_reduce <sum> %4 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %6 = math.log %5 : tensor<4xf32>
  %7 = arith.addf %0, %6 : tensor<4xf32>
  return %7 : tensor<4xf32>
}
