// Source: hpcaitech/ColossalAI PR #18
// Mistake: A step is to be skipped if a gradient overflows, but each rank looks at its own shard:
// some ranks take the step, and some do not.
// Parallelism: tp
// Found by: comparing the skipped steps of ranks

dist.mesh @mesh ["tp"=4]

func.func @overflow_flag_not_reduced(%w: tensor<4x8xf32>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = math.absf %g : tensor<4x8xf32>
  %1 = nn.reduce <max> %0 dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %2 = arith.constant dense<2.0> : tensor<f32>
  %3 = arith.cmpf ogt, %1, %2 : tensor<f32>
  %4 = nn.broadcast %3 dims [] : tensor<i1> -> tensor<4x8xi1>
  %5 = arith.constant dense<0.1> : tensor<4x8xf32>
  %6 = arith.mulf %g, %5 : tensor<4x8xf32>
  %7 = arith.subf %w, %6 : tensor<4x8xf32>
  %8 = arith.select %4, %w, %7 : tensor<4x8xi1>, tensor<4x8xf32>
  return %8 : tensor<4x8xf32>
}

func.func @overflow_flag_not_reduced_right(
    %w: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @overflow_flag_not_reduced} {
  %0 = math.absf %g : tensor<4x2xf32>
  %1 = nn.reduce <max> %0 dims [0, 1] : tensor<4x2xf32> -> tensor<f32>
  %2 = dist.all_reduce <max> %1 over <{"tp"}> on @mesh : tensor<f32> -> tensor<f32>
  %3 = arith.constant dense<2.0> : tensor<f32>
  %4 = arith.cmpf ogt, %2, %3 : tensor<f32>
  %5 = nn.broadcast %4 dims [] : tensor<i1> -> tensor<4x2xi1>
  %6 = arith.constant dense<0.1> : tensor<4x2xf32>
  %7 = arith.mulf %g, %6 : tensor<4x2xf32>
  %8 = arith.subf %w, %7 : tensor<4x2xf32>
  %9 = arith.select %5, %w, %8 : tensor<4x2xi1>, tensor<4x2xf32>
  return %9 : tensor<4x2xf32>
}

func.func @overflow_flag_not_reduced_wrong(
    %w: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @overflow_flag_not_reduced} {
  %0 = math.absf %g : tensor<4x2xf32>
  %1 = nn.reduce <max> %0 dims [0, 1] : tensor<4x2xf32> -> tensor<f32>
  %2 = arith.constant dense<2.0> : tensor<f32>
  %3 = arith.cmpf ogt, %1, %2 : tensor<f32>
  %4 = nn.broadcast %3 dims [] : tensor<i1> -> tensor<4x2xi1>
  %5 = arith.constant dense<0.1> : tensor<4x2xf32>
  %6 = arith.mulf %g, %5 : tensor<4x2xf32>
  %7 = arith.subf %w, %6 : tensor<4x2xf32>
  %8 = arith.select %4, %w, %7 : tensor<4x2xi1>, tensor<4x2xf32>
  return %8 : tensor<4x2xf32>
}
