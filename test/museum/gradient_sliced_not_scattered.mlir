// Source: NVIDIA-NeMo/Automodel PR #1260
// Mistake: The backward pass of a gather slices the gradient, as if all ranks had the same, where
// the ranks' gradients are parts of a sum (14 % of the loss at step 106).
// Parallelism: sp, tp, ep
// Found by: comparing gradients with tp=1

dist.mesh @mesh ["tp"=2]

func.func @gradient_sliced_not_scattered(
    %g: tensor<8x6xf32>,
    %w: tensor<4x6xf32>)
    -> tensor<8x4xf32> {
  %0 = nn.einsum "tn,kn->tk" %g, %w : tensor<8x6xf32>, tensor<4x6xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

func.func @gradient_sliced_not_scattered_right(
    %g: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @gradient_sliced_not_scattered} {
  %0 = nn.einsum "tn,kn->tk" %g, %w : tensor<8x3xf32>, tensor<4x3xf32> -> tensor<8x4xf32>
  %1 = dist.reduce_scatter <sum> %0 dim 0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

func.func @gradient_sliced_not_scattered_right_all_reduce(
    %g: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @gradient_sliced_not_scattered} {
  %0 = nn.einsum "tn,kn->tk" %g, %w : tensor<8x3xf32>, tensor<4x3xf32> -> tensor<8x4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %2 = dist.all_slice %1 dim 0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

func.func @gradient_sliced_not_scattered_wrong(
    %g: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @gradient_sliced_not_scattered} {
  %0 = nn.einsum "tn,kn->tk" %g, %w : tensor<8x3xf32>, tensor<4x3xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
