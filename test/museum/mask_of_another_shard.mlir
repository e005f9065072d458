// Source: a form, not a thread
// Mistake: Tokens and their loss mask are distributed over cp in different orders, so a rank masks
// its losses by another rank's mask.
// Parallelism: cp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=2]

func.func @mask_of_another_shard(%loss: tensor<8xf32>, %mask: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.mulf %loss, %mask : tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func @mask_of_another_shard_right(
    %loss: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>},
    %mask: tensor<8xf32>)
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    attributes {dist.local, dist.reference = @mask_of_another_shard} {
  %0 = dist.all_slice %mask dim 0 over <{"cp"}> on @mesh : tensor<8xf32> -> tensor<4xf32>
  %1 = arith.mulf %loss, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func @mask_of_another_shard_wrong(
    %loss: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>},
    %mask: tensor<8xf32>)
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    attributes {dist.local, dist.reference = @mask_of_another_shard} {
  %0 = dist.all_slice %mask dim 0 over <{"cp"}> on @mesh : tensor<8xf32> -> tensor<4xf32>
  %1 = dist.collective_permute %0 targets [1, 0] over <{"cp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = arith.mulf %loss, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
