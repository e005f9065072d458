// Source: huggingface/diffusers #14265
// Mistake: The backward pass of ring attention uses one chunk's keys for all steps: the gradient
// of keys lacks the part of the other ranks' queries.
// Parallelism: cp
// Found by: comparing gradients with cp=1

dist.mesh @mesh ["cp"=2]

func.func @ring_gradient_of_own_queries(
    %ds: tensor<8x8xf32>,
    %q: tensor<8x4xf32>)
    -> tensor<8x4xf32> {
  %0 = nn.einsum "ts,td->sd" %ds, %q : tensor<8x8xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

func.func @ring_gradient_of_own_queries_right(
    %ds: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %q: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    attributes {dist.local, dist.reference = @ring_gradient_of_own_queries} {
  %0 = nn.einsum "ts,td->sd" %ds, %q : tensor<4x8xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = dist.reduce_scatter <sum> %0 dim 0 over <{"cp"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

func.func @ring_gradient_of_own_queries_wrong(
    %ds: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %q: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    attributes {dist.local, dist.reference = @ring_gradient_of_own_queries} {
  %0 = nn.einsum "ts,td->sd" %ds, %q : tensor<4x8xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"cp"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
