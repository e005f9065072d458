// Source: a form, not a thread
// Mistake: The sequence is stored in zig-zag order for balance, but rotary embeddings count
// positions as if it were in plain order.
// Parallelism: cp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=2]

func.func @order_of_sequence_ignored(%q: tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %0 = nn.rope %q dim 1 theta 1.0e4 order <shards = 2, size = 8> : tensor<1x8x2x4xf32>
  return %0 : tensor<1x8x2x4xf32>
}

func.func @order_of_sequence_ignored_right(
    %q: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    attributes {dist.local, dist.reference = @order_of_sequence_ignored} {
  %0 = dist.axis_offset <{"cp"}> size 4 on @mesh : index
  %1 = nn.rope %q dim 1 theta 1.0e4 offset %0 order <shards = 2, size = 8> : tensor<1x4x2x4xf32>
  return %1 : tensor<1x4x2x4xf32>
}

func.func @order_of_sequence_ignored_wrong(
    %q: tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    -> (tensor<1x4x2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"cp"}, {}, {}]>})
    attributes {dist.local, dist.reference = @order_of_sequence_ignored} {
  %0 = dist.axis_offset <{"cp"}> size 4 on @mesh : index
  %1 = nn.rope %q dim 1 theta 1.0e4 offset %0 : tensor<1x4x2x4xf32>
  return %1 : tensor<1x4x2x4xf32>
}
