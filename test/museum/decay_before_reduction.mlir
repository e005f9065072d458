// Source: a form, not a thread
// Mistake: The decay of weights is added to each replica's gradient before the all-reduce, so it
// counts dp times.
// Parallelism: dp
// Found by: comparing an update with dp=1

dist.mesh @mesh ["dp"=2]

func.func @decay_before_reduction(
    %x: tensor<8x4xf32>,
    %g: tensor<8x2xf32>,
    %w: tensor<4x2xf32>)
    -> tensor<4x2xf32> {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.1> : tensor<4x2xf32>
  %2 = arith.mulf %w, %1 : tensor<4x2xf32>
  %3 = arith.addf %0, %2 : tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}

func.func @decay_before_reduction_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %w: tensor<4x2xf32>)
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @decay_before_reduction} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %2 = arith.constant dense<0.1> : tensor<4x2xf32>
  %3 = arith.mulf %w, %2 : tensor<4x2xf32>
  %4 = arith.addf %1, %3 : tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}

// Unproven: dp ranks that each add a share of the decay add the decay by algebra.
func.func @decay_before_reduction_right_share(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %w: tensor<4x2xf32>)
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @decay_before_reduction} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.05> : tensor<4x2xf32>
  %2 = arith.mulf %w, %1 : tensor<4x2xf32>
  %3 = arith.addf %0, %2 : tensor<4x2xf32>
  %4 = dist.all_reduce <sum> %3 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}

func.func @decay_before_reduction_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %w: tensor<4x2xf32>)
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @decay_before_reduction} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.constant dense<0.1> : tensor<4x2xf32>
  %2 = arith.mulf %w, %1 : tensor<4x2xf32>
  %3 = arith.addf %0, %2 : tensor<4x2xf32>
  %4 = dist.all_reduce <sum> %3 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}
