// Source: NVIDIA/Megatron-LM #7452 (4 to 6)
// Mistake: A layer is given a group, but its gather takes the global one: each rank joins two
// copies of the same rows.
// Parallelism: tp
// Found by: comparing replicas

dist.mesh @mesh ["cp"=2, "tp"=2]

func.func @gather_over_global_group(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = math.exp %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

func.func @gather_over_global_group_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<8x4xf32>
    attributes {dist.local, dist.reference = @gather_over_global_group} {
  %0 = dist.all_gather %x dim 0 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = math.exp %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

func.func @gather_over_global_group_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<8x4xf32>
    attributes {dist.local, dist.reference = @gather_over_global_group} {
  %0 = dist.all_gather %x dim 0 over <{"cp"}> on @mesh : tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = math.exp %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
