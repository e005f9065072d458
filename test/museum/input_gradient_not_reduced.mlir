// Source: a form, not a thread
// Mistake: A column-parallel layer passes on the gradient of its input from its own columns alone.
// Parallelism: tp
// Found by: comparing gradients with tp=1

dist.mesh @mesh ["tp"=2]

func.func @input_gradient_not_reduced(%g: tensor<8x6xf32>, %w: tensor<4x6xf32>) -> tensor<8x4xf32> {
  %0 = nn.einsum "tn,kn->tk" %g, %w : tensor<8x6xf32>, tensor<4x6xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

func.func @input_gradient_not_reduced_right(
    %g: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<8x4xf32>
    attributes {dist.local, dist.reference = @input_gradient_not_reduced} {
  %0 = nn.einsum "tn,kn->tk" %g, %w : tensor<8x3xf32>, tensor<4x3xf32> -> tensor<8x4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

func.func @input_gradient_not_reduced_wrong(
    %g: tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<8x4xf32>
    attributes {dist.local, dist.reference = @input_gradient_not_reduced} {
  %0 = nn.einsum "tn,kn->tk" %g, %w : tensor<8x3xf32>, tensor<4x3xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
