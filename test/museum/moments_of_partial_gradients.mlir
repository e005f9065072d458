// Source: a form, not a thread
// Mistake: The second moment sums the squares of the replicas' gradients in place of the square of
// their sum.
// Parallelism: dp
// Found by: comparing the state of the optimizer with dp=1

dist.mesh @mesh ["dp"=2]

func.func @moments_of_partial_gradients(
    %x: tensor<8x4xf32>,
    %g: tensor<8x2xf32>,
    %v: tensor<4x2xf32>)
    -> tensor<4x2xf32> {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %1 = arith.mulf %0, %0 : tensor<4x2xf32>
  %2 = arith.constant dense<0.95> : tensor<4x2xf32>
  %3 = arith.mulf %v, %2 : tensor<4x2xf32>
  %4 = arith.constant dense<0.05> : tensor<4x2xf32>
  %5 = arith.mulf %1, %4 : tensor<4x2xf32>
  %6 = arith.addf %3, %5 : tensor<4x2xf32>
  return %6 : tensor<4x2xf32>
}

func.func @moments_of_partial_gradients_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %v: tensor<4x2xf32>)
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @moments_of_partial_gradients} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %2 = arith.mulf %1, %1 : tensor<4x2xf32>
  %3 = arith.constant dense<0.95> : tensor<4x2xf32>
  %4 = arith.mulf %v, %3 : tensor<4x2xf32>
  %5 = arith.constant dense<0.05> : tensor<4x2xf32>
  %6 = arith.mulf %2, %5 : tensor<4x2xf32>
  %7 = arith.addf %4, %6 : tensor<4x2xf32>
  return %7 : tensor<4x2xf32>
}

func.func @moments_of_partial_gradients_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %v: tensor<4x2xf32>)
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @moments_of_partial_gradients} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.mulf %0, %0 : tensor<4x2xf32>
  %2 = dist.all_reduce <sum> %1 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %3 = arith.constant dense<0.95> : tensor<4x2xf32>
  %4 = arith.mulf %v, %3 : tensor<4x2xf32>
  %5 = arith.constant dense<0.05> : tensor<4x2xf32>
  %6 = arith.mulf %2, %5 : tensor<4x2xf32>
  %7 = arith.addf %4, %6 : tensor<4x2xf32>
  return %7 : tensor<4x2xf32>
}
