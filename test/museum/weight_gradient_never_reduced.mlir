// Source: pytorch/torchtitan #1373; areal-project/AReaL #313
// Mistake: The gradient of a replicated weight sums over the tokens of its own rank, and nothing
// reduces it.
// Parallelism: tp, cp
// Found by: comparing replicas after a step

dist.mesh @mesh ["cp"=2]

func.func @weight_gradient_never_reduced(
    %x: tensor<8x4xf32>,
    %g: tensor<8x2xf32>)
    -> tensor<4x2xf32> {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

func.func @weight_gradient_never_reduced_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @weight_gradient_never_reduced} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = dist.all_reduce <sum> %0 over <{"cp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

func.func @weight_gradient_never_reduced_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @weight_gradient_never_reduced} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
