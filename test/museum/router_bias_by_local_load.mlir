// Source: a form, not a thread
// Mistake: The bias that balances experts follows from the choices of the rank's own tokens, so
// replicas of the router drift apart.
// Parallelism: dp, ep
// Found by: comparing replicas after a step

dist.mesh @mesh ["dp"=2]

func.func @router_bias_by_local_load(
    %bias: tensor<4xf32>,
    %chosen: tensor<16x4xi1>)
    -> tensor<4xf32> {
  %0 = arith.uitofp %chosen : tensor<16x4xi1> to tensor<16x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<16x4xf32> -> tensor<4xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<4xf32> -> tensor<f32>
  %3 = arith.constant dense<0.25> : tensor<f32>
  %4 = arith.mulf %2, %3 : tensor<f32>
  %5 = nn.broadcast %4 dims [] : tensor<f32> -> tensor<4xf32>
  %6 = arith.cmpf olt, %1, %5 : tensor<4xf32>
  %7 = arith.constant dense<0.01> : tensor<4xf32>
  %8 = arith.constant dense<-0.01> : tensor<4xf32>
  %9 = arith.select %6, %7, %8 : tensor<4xi1>, tensor<4xf32>
  %10 = arith.addf %bias, %9 : tensor<4xf32>
  return %10 : tensor<4xf32>
}

func.func @router_bias_by_local_load_right(
    %bias: tensor<4xf32>,
    %chosen: tensor<8x4xi1> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @router_bias_by_local_load} {
  %0 = arith.uitofp %chosen : tensor<8x4xi1> to tensor<8x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<4xf32> -> tensor<f32>
  %4 = arith.constant dense<0.25> : tensor<f32>
  %5 = arith.mulf %3, %4 : tensor<f32>
  %6 = nn.broadcast %5 dims [] : tensor<f32> -> tensor<4xf32>
  %7 = arith.cmpf olt, %2, %6 : tensor<4xf32>
  %8 = arith.constant dense<0.01> : tensor<4xf32>
  %9 = arith.constant dense<-0.01> : tensor<4xf32>
  %10 = arith.select %7, %8, %9 : tensor<4xi1>, tensor<4xf32>
  %11 = arith.addf %bias, %10 : tensor<4xf32>
  return %11 : tensor<4xf32>
}

func.func @router_bias_by_local_load_wrong(
    %bias: tensor<4xf32>,
    %chosen: tensor<8x4xi1> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @router_bias_by_local_load} {
  %0 = arith.uitofp %chosen : tensor<8x4xi1> to tensor<8x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<4xf32> -> tensor<f32>
  %3 = arith.constant dense<0.25> : tensor<f32>
  %4 = arith.mulf %2, %3 : tensor<f32>
  %5 = nn.broadcast %4 dims [] : tensor<f32> -> tensor<4xf32>
  %6 = arith.cmpf olt, %1, %5 : tensor<4xf32>
  %7 = arith.constant dense<0.01> : tensor<4xf32>
  %8 = arith.constant dense<-0.01> : tensor<4xf32>
  %9 = arith.select %6, %7, %8 : tensor<4xi1>, tensor<4xf32>
  %10 = arith.addf %bias, %9 : tensor<4xf32>
  return %10 : tensor<4xf32>
}
