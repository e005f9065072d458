// Source: a form, not a thread
// Mistake: After attention over a rank's heads the result is reshaped to the rank's tokens without
// the exchange: it holds the rank's own heads at the place of all heads.
// Parallelism: sp (all-to-all)
// Found by: a comparison with sp=1

dist.mesh @mesh ["sp"=2]

func.func @blocks_not_exchanged_back(%x: tensor<8x4xf32>, %w: tensor<4x3xf32>) -> tensor<8x3xf32> {
  %0 = nn.softmax %x dim 0 : tensor<8x4xf32>
  %1 = arith.mulf %0, %x : tensor<8x4xf32>
  %2 = nn.einsum "th,hn->tn" %1, %w : tensor<8x4xf32>, tensor<4x3xf32> -> tensor<8x3xf32>
  return %2 : tensor<8x3xf32>
}

func.func @blocks_not_exchanged_back_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"sp"}, {}]>},
    %w: tensor<4x3xf32>)
    -> (tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"sp"}, {}]>})
    attributes {dist.local, dist.reference = @blocks_not_exchanged_back} {
  %0 = dist.all_to_all %x gather 0 split 1 over <{"sp"}> on @mesh : tensor<4x4xf32> -> tensor<8x2xf32>
  %1 = nn.softmax %0 dim 0 : tensor<8x2xf32>
  %2 = arith.mulf %1, %0 : tensor<8x2xf32>
  %3 = dist.all_to_all %2 gather 1 split 0 over <{"sp"}> on @mesh : tensor<8x2xf32> -> tensor<4x4xf32>
  %4 = nn.einsum "th,hn->tn" %3, %w : tensor<4x4xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  return %4 : tensor<4x3xf32>
}

func.func @blocks_not_exchanged_back_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"sp"}, {}]>},
    %w: tensor<4x3xf32>)
    -> (tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"sp"}, {}]>})
    attributes {dist.local, dist.reference = @blocks_not_exchanged_back} {
  %0 = dist.all_to_all %x gather 0 split 1 over <{"sp"}> on @mesh : tensor<4x4xf32> -> tensor<8x2xf32>
  %1 = nn.softmax %0 dim 0 : tensor<8x2xf32>
  %2 = arith.mulf %1, %0 : tensor<8x2xf32>
  // The blocks of the sequence stay where the blocks of heads belong.
  %3 = tensor.expand_shape %2 [[0, 1], [2]] output_shape [2, 4, 2] : tensor<8x2xf32> into tensor<2x4x2xf32>
  %4 = nn.transpose %3 [1, 0, 2] : tensor<2x4x2xf32> -> tensor<4x2x2xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2]] : tensor<4x2x2xf32> into tensor<4x4xf32>
  %6 = nn.einsum "th,hn->tn" %5, %w : tensor<4x4xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  return %6 : tensor<4x3xf32>
}
