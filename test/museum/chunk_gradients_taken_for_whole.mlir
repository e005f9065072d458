// Source: pytorch/torchtitan PR #3412
// Mistake: The loss is computed in chunks; each chunk's gradient of the hidden state is a partial
// sum over the vocabulary, is labelled whole, and is used so in the backward pass.
// Parallelism: tp
// Found by: comparing gradients with tp=1

dist.mesh @mesh ["tp"=2]

func.func @chunk_gradients_taken_for_whole(
    %dlogits: tensor<2x4x8xf32>,
    %w: tensor<8x4xf32>,
    %h: tensor<2x4x3xf32>)
    -> tensor<4x3xf32> {
  %0 = dist.accumulate 2 (%dlogits) : (tensor<2x4x8xf32>) -> tensor<2x4x4xf32> {
  ^bb0(%p: tensor<4x8xf32>):
    %1 = nn.einsum "tv,vk->tk" %p, %w : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    dist.yield %1 : tensor<4x4xf32>
  }
  %2 = nn.einsum "ctk,ctn->kn" %0, %h : tensor<2x4x4xf32>, tensor<2x4x3xf32> -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}

func.func @chunk_gradients_taken_for_whole_right(
    %dlogits: tensor<2x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %h: tensor<2x4x3xf32>)
    -> tensor<4x3xf32>
    attributes {dist.local, dist.reference = @chunk_gradients_taken_for_whole} {
  %0 = dist.accumulate 2 (%dlogits) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %1 = nn.einsum "tv,vk->tk" %p, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    dist.yield %1 : tensor<4x4xf32>
  }
  %2 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<2x4x4xf32> -> tensor<2x4x4xf32>
  %3 = nn.einsum "ctk,ctn->kn" %2, %h : tensor<2x4x4xf32>, tensor<2x4x3xf32> -> tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}

func.func @chunk_gradients_taken_for_whole_wrong(
    %dlogits: tensor<2x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"tp"}]>},
    %w: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %h: tensor<2x4x3xf32>)
    -> tensor<4x3xf32>
    attributes {dist.local, dist.reference = @chunk_gradients_taken_for_whole} {
  %0 = dist.accumulate 2 (%dlogits) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %1 = nn.einsum "tv,vk->tk" %p, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    dist.yield %1 : tensor<4x4xf32>
  }
  %2 = nn.einsum "ctk,ctn->kn" %0, %h : tensor<2x4x4xf32>, tensor<2x4x3xf32> -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}
