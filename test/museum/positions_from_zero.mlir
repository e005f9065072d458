// Source: deepspeedai/Megatron-DeepSpeed PR #392; NVIDIA-NeMo/Speech PR #6178
// Mistake: Each rank adds the position embeddings from row 0 on to its part of the sequence.
// Parallelism: sp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @positions_from_zero(%x: tensor<8x4xf32>, %table: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = nn.iota : tensor<8xi32>
  %1 = nn.embedding %table, %0 : tensor<16x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  %2 = arith.addf %x, %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

func.func @positions_from_zero_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %table: tensor<16x4xf32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @positions_from_zero} {
  %0 = dist.axis_offset <{"tp"}> size 4 on @mesh : index
  %1 = nn.iota offset %0 : tensor<4xi32>
  %2 = nn.embedding %table, %1 : tensor<16x4xf32>, tensor<4xi32> -> tensor<4x4xf32>
  %3 = arith.addf %x, %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

func.func @positions_from_zero_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %table: tensor<16x4xf32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @positions_from_zero} {
  %0 = nn.iota : tensor<4xi32>
  %1 = nn.embedding %table, %0 : tensor<16x4xf32>, tensor<4xi32> -> tensor<4x4xf32>
  %2 = arith.addf %x, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
