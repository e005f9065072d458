// Source: a form, not a thread
// Mistake: The gradient of earlier micro-batches is reduced already and is reduced again together
// with the next one's.
// Parallelism: dp, accumulation
// Found by: comparing gradients with dp=1

dist.mesh @mesh ["dp"=2]

func.func @accumulated_gradient_reduced_again(
    %held: tensor<4x2xf32>,
    %x: tensor<8x4xf32>,
    %g: tensor<8x2xf32>)
    -> tensor<4x2xf32> {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %1 = arith.addf %held, %0 : tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

func.func @accumulated_gradient_reduced_again_right(
    %held: tensor<4x2xf32>,
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @accumulated_gradient_reduced_again} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %2 = arith.addf %held, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

func.func @accumulated_gradient_reduced_again_wrong(
    %held: tensor<4x2xf32>,
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @accumulated_gradient_reduced_again} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.addf %held, %0 : tensor<4x2xf32>
  %2 = dist.all_reduce <sum> %1 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
