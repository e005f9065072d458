// Source: neuralmagic/sparseml PR #135
// Mistake: A loss that is a mean already is multiplied by the number of ranks against the
// averaging of gradients.
// Parallelism: dp
// Found by: comparing gradients with dp=1

dist.mesh @mesh ["dp"=2]

func.func @loss_times_world_size(%x: tensor<8x4xf32>, %g: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.125> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// Unproven: the factors 1/4 and 1/2 are 1/8 by algebra.
func.func @loss_times_world_size_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @loss_times_world_size} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.25> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  // The loss is the mean over the rank's 4 tokens.
  %3 = dist.all_reduce <sum> %2 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %4 = arith.constant dense<0.5> : tensor<4x2xf32>
  %5 = arith.mulf %3, %4 : tensor<4x2xf32>
  return %5 : tensor<4x2xf32>
}

func.func @loss_times_world_size_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @loss_times_world_size} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.25> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  // The loss is the mean over the rank's 4 tokens.
  %3 = arith.constant dense<2.0> : tensor<4x2xf32>
  %4 = arith.mulf %2, %3 : tensor<4x2xf32>
  %5 = dist.all_reduce <sum> %4 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %6 = arith.constant dense<0.5> : tensor<4x2xf32>
  %7 = arith.mulf %5, %6 : tensor<4x2xf32>
  return %7 : tensor<4x2xf32>
}
