// Source: NVIDIA/Megatron-LM #673, #906, #3943
// Mistake: The loss is multiplied by cp for gradients that are averaged over dp and cp, but they
// are averaged over dp alone (or the reverse): gradients are off by the factor cp.
// Parallelism: cp
// Found by: comparing gradients with cp=1

dist.mesh @mesh ["dp"=2, "cp"=2]

func.func @loss_times_cp(%x: tensor<16x4xf32>, %g: tensor<16x2xf32>) -> tensor<4x2xf32> {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<16x4xf32>, tensor<16x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.0625> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// Unproven: the factors 2, 1/8 and 1/4 are 1/16 by algebra.
func.func @loss_times_cp_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "cp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "cp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @loss_times_cp} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<2.0> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  // The loss is a mean over a sequence, times cp.
  %3 = arith.constant dense<0.125> : tensor<4x2xf32>
  %4 = arith.mulf %2, %3 : tensor<4x2xf32>
  %5 = dist.all_reduce <sum> %4 over <{"dp", "cp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %6 = arith.constant dense<0.25> : tensor<4x2xf32>
  %7 = arith.mulf %5, %6 : tensor<4x2xf32>
  return %7 : tensor<4x2xf32>
}

func.func @loss_times_cp_right_sum(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "cp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "cp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @loss_times_cp} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = dist.all_reduce <sum> %0 over <{"dp", "cp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %2 = arith.constant dense<0.0625> : tensor<4x2xf32>
  %3 = arith.mulf %1, %2 : tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}

func.func @loss_times_cp_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "cp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "cp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @loss_times_cp} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<2.0> : tensor<4x2xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2xf32>
  // The loss is a mean over a sequence, times cp.
  %3 = arith.constant dense<0.125> : tensor<4x2xf32>
  %4 = arith.mulf %2, %3 : tensor<4x2xf32>
  %5 = dist.all_reduce <sum> %4 over <{"dp", "cp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %6 = arith.constant dense<0.5> : tensor<4x2xf32>
  %7 = arith.mulf %5, %6 : tensor<4x2xf32>
  return %7 : tensor<4x2xf32>
}
