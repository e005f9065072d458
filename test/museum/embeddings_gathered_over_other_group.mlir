// Source: NVIDIA/Megatron-LM #7452 (7)
// Mistake: Embeddings are scattered over one group and gathered over another: the rows [0, 1, 2,
// 3] come back as [0, 1, 0, 1].
// Parallelism: tp, sp
// Found by: comparing replicas

dist.mesh @mesh ["a"=2, "b"=2]

func.func @embeddings_gathered_over_other_group(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = math.exp %x : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

func.func @embeddings_gathered_over_other_group_right(
    %x: tensor<4x4xf32>)
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @embeddings_gathered_over_other_group} {
  %0 = dist.all_slice %x dim 0 over <{"a"}> on @mesh : tensor<4x4xf32> -> tensor<2x4xf32>
  %1 = math.exp %0 : tensor<2x4xf32>
  %2 = dist.all_gather %1 dim 0 over <{"a"}> on @mesh : tensor<2x4xf32> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

func.func @embeddings_gathered_over_other_group_wrong(
    %x: tensor<4x4xf32>)
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @embeddings_gathered_over_other_group} {
  %0 = dist.all_slice %x dim 0 over <{"a"}> on @mesh : tensor<4x4xf32> -> tensor<2x4xf32>
  %1 = math.exp %0 : tensor<2x4xf32>
  %2 = dist.all_gather %1 dim 0 over <{"b"}> on @mesh : tensor<2x4xf32> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
