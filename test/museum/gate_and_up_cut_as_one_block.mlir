// Source: NVIDIA-NeMo/Automodel PR #1324; xLLM-AI/xllm PR #1616; tenstorrent/tt-forge-models PR
// #855
// Mistake: The fused weight of gate and up is cut into tp blocks as if it were one: rank 0 takes
// its gates for pairs of gate and up.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @gate_and_up_cut_as_one_block(
    %x: tensor<4x4xf32>,
    %w: tensor<4x2x8xf32>)
    -> tensor<4x8xf32> {
  %0 = nn.einsum "td,dpn->tpn" %x, %w : tensor<4x4xf32>, tensor<4x2x8xf32> -> tensor<4x2x8xf32>
  %1 = tensor.extract_slice %0[0, 0, 0] [4, 1, 8] [1, 1, 1] : tensor<4x2x8xf32> to tensor<4x1x8xf32>
  %2 = tensor.collapse_shape %1 [[0], [1, 2]] : tensor<4x1x8xf32> into tensor<4x8xf32>
  %3 = tensor.extract_slice %0[0, 1, 0] [4, 1, 8] [1, 1, 1] : tensor<4x2x8xf32> to tensor<4x1x8xf32>
  %4 = tensor.collapse_shape %3 [[0], [1, 2]] : tensor<4x1x8xf32> into tensor<4x8xf32>
  %5 = nn.silu %2 : tensor<4x8xf32>
  %6 = arith.mulf %5, %4 : tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

func.func @gate_and_up_cut_as_one_block_right(
    %x: tensor<4x4xf32>,
    %w: tensor<4x2x8xf32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @gate_and_up_cut_as_one_block} {
  %0 = dist.all_slice %w dim 2 over <{"tp"}> on @mesh : tensor<4x2x8xf32> -> tensor<4x2x4xf32>
  %1 = nn.einsum "td,dpn->tpn" %x, %0 : tensor<4x4xf32>, tensor<4x2x4xf32> -> tensor<4x2x4xf32>
  %2 = tensor.extract_slice %1[0, 0, 0] [4, 1, 4] [1, 1, 1] : tensor<4x2x4xf32> to tensor<4x1x4xf32>
  %3 = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<4x1x4xf32> into tensor<4x4xf32>
  %4 = tensor.extract_slice %1[0, 1, 0] [4, 1, 4] [1, 1, 1] : tensor<4x2x4xf32> to tensor<4x1x4xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2]] : tensor<4x1x4xf32> into tensor<4x4xf32>
  %6 = nn.silu %3 : tensor<4x4xf32>
  %7 = arith.mulf %6, %5 : tensor<4x4xf32>
  return %7 : tensor<4x4xf32>
}

func.func @gate_and_up_cut_as_one_block_wrong(
    %x: tensor<4x4xf32>,
    %w: tensor<4x2x8xf32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>})
    attributes {dist.local, dist.reference = @gate_and_up_cut_as_one_block} {
  %0 = tensor.collapse_shape %w [[0], [1, 2]] : tensor<4x2x8xf32> into tensor<4x16xf32>
  %1 = dist.all_slice %0 dim 1 over <{"tp"}> on @mesh : tensor<4x16xf32> -> tensor<4x8xf32>
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %3 = nn.einsum "td,dpn->tpn" %x, %2 : tensor<4x4xf32>, tensor<4x2x4xf32> -> tensor<4x2x4xf32>
  %4 = tensor.extract_slice %3[0, 0, 0] [4, 1, 4] [1, 1, 1] : tensor<4x2x4xf32> to tensor<4x1x4xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2]] : tensor<4x1x4xf32> into tensor<4x4xf32>
  %6 = tensor.extract_slice %3[0, 1, 0] [4, 1, 4] [1, 1, 1] : tensor<4x2x4xf32> to tensor<4x1x4xf32>
  %7 = tensor.collapse_shape %6 [[0], [1, 2]] : tensor<4x1x4xf32> into tensor<4x4xf32>
  %8 = nn.silu %5 : tensor<4x4xf32>
  %9 = arith.mulf %8, %7 : tensor<4x4xf32>
  return %9 : tensor<4x4xf32>
}
