// Source: hpcaitech/ColossalAI #817
// Mistake: The fused weight of queries, keys and values is cut into tp blocks as if it were one:
// rank 0 gets all queries and half of the keys.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @fused_qkv_cut_as_one_block(
    %x: tensor<4x4xf32>,
    %w: tensor<4x3x4xf32>)
    -> tensor<4x4xf32> {
  %0 = nn.einsum "td,dpn->tpn" %x, %w : tensor<4x4xf32>, tensor<4x3x4xf32> -> tensor<4x3x4xf32>
  %1 = tensor.extract_slice %0[0, 0, 0] [4, 1, 4] [1, 1, 1] : tensor<4x3x4xf32> to tensor<4x1x4xf32>
  %2 = tensor.collapse_shape %1 [[0], [1, 2]] : tensor<4x1x4xf32> into tensor<4x4xf32>
  %3 = tensor.extract_slice %0[0, 1, 0] [4, 1, 4] [1, 1, 1] : tensor<4x3x4xf32> to tensor<4x1x4xf32>
  %4 = tensor.collapse_shape %3 [[0], [1, 2]] : tensor<4x1x4xf32> into tensor<4x4xf32>
  %5 = tensor.extract_slice %0[0, 2, 0] [4, 1, 4] [1, 1, 1] : tensor<4x3x4xf32> to tensor<4x1x4xf32>
  %6 = tensor.collapse_shape %5 [[0], [1, 2]] : tensor<4x1x4xf32> into tensor<4x4xf32>
  %7 = arith.mulf %2, %4 : tensor<4x4xf32>
  %8 = arith.addf %7, %6 : tensor<4x4xf32>
  return %8 : tensor<4x4xf32>
}

func.func @fused_qkv_cut_as_one_block_right(
    %x: tensor<4x4xf32>,
    %w: tensor<4x3x4xf32>)
    -> (tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @fused_qkv_cut_as_one_block} {
  %0 = dist.all_slice %w dim 2 over <{"tp"}> on @mesh : tensor<4x3x4xf32> -> tensor<4x3x2xf32>
  %1 = nn.einsum "td,dpn->tpn" %x, %0 : tensor<4x4xf32>, tensor<4x3x2xf32> -> tensor<4x3x2xf32>
  %2 = tensor.extract_slice %1[0, 0, 0] [4, 1, 2] [1, 1, 1] : tensor<4x3x2xf32> to tensor<4x1x2xf32>
  %3 = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<4x1x2xf32> into tensor<4x2xf32>
  %4 = tensor.extract_slice %1[0, 1, 0] [4, 1, 2] [1, 1, 1] : tensor<4x3x2xf32> to tensor<4x1x2xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2]] : tensor<4x1x2xf32> into tensor<4x2xf32>
  %6 = tensor.extract_slice %1[0, 2, 0] [4, 1, 2] [1, 1, 1] : tensor<4x3x2xf32> to tensor<4x1x2xf32>
  %7 = tensor.collapse_shape %6 [[0], [1, 2]] : tensor<4x1x2xf32> into tensor<4x2xf32>
  %8 = arith.mulf %3, %5 : tensor<4x2xf32>
  %9 = arith.addf %8, %7 : tensor<4x2xf32>
  return %9 : tensor<4x2xf32>
}

func.func @fused_qkv_cut_as_one_block_wrong(
    %x: tensor<4x4xf32>,
    %w: tensor<4x3x4xf32>)
    -> (tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @fused_qkv_cut_as_one_block} {
  %0 = tensor.collapse_shape %w [[0], [1, 2]] : tensor<4x3x4xf32> into tensor<4x12xf32>
  %1 = dist.all_slice %0 dim 1 over <{"tp"}> on @mesh : tensor<4x12xf32> -> tensor<4x6xf32>
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [4, 3, 2] : tensor<4x6xf32> into tensor<4x3x2xf32>
  %3 = nn.einsum "td,dpn->tpn" %x, %2 : tensor<4x4xf32>, tensor<4x3x2xf32> -> tensor<4x3x2xf32>
  %4 = tensor.extract_slice %3[0, 0, 0] [4, 1, 2] [1, 1, 1] : tensor<4x3x2xf32> to tensor<4x1x2xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2]] : tensor<4x1x2xf32> into tensor<4x2xf32>
  %6 = tensor.extract_slice %3[0, 1, 0] [4, 1, 2] [1, 1, 1] : tensor<4x3x2xf32> to tensor<4x1x2xf32>
  %7 = tensor.collapse_shape %6 [[0], [1, 2]] : tensor<4x1x2xf32> into tensor<4x2xf32>
  %8 = tensor.extract_slice %3[0, 2, 0] [4, 1, 2] [1, 1, 1] : tensor<4x3x2xf32> to tensor<4x1x2xf32>
  %9 = tensor.collapse_shape %8 [[0], [1, 2]] : tensor<4x1x2xf32> into tensor<4x2xf32>
  %10 = arith.mulf %5, %7 : tensor<4x2xf32>
  %11 = arith.addf %10, %9 : tensor<4x2xf32>
  return %11 : tensor<4x2xf32>
}
