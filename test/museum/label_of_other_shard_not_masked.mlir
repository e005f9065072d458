// Source: a form, not a thread
// Mistake: A rank that does not have the label's logit wraps the label into its shard and adds the
// logit that it finds there.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @label_of_other_shard_not_masked(
    %x: tensor<6x8xf32>,
    %label: tensor<6xi32>)
    -> tensor<6xf32> {
  %0 = nn.take_along_axis %x, %label : tensor<6x8xf32>, tensor<6xi32> -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

func.func @label_of_other_shard_not_masked_right(
    %x: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %label: tensor<6xi32>)
    -> tensor<6xf32>
    attributes {dist.local, dist.reference = @label_of_other_shard_not_masked} {
  %0 = dist.axis_offset <{"tp"}> size 4 on @mesh : index
  %1 = nn.take_along_axis %x, %label size 8 offset %0 : tensor<6x4xf32>, tensor<6xi32> -> tensor<6xf32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<6xf32> -> tensor<6xf32>
  return %2 : tensor<6xf32>
}

func.func @label_of_other_shard_not_masked_wrong(
    %x: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %label: tensor<6xi32>)
    -> tensor<6xf32>
    attributes {dist.local, dist.reference = @label_of_other_shard_not_masked} {
  %0 = arith.constant dense<4> : tensor<6xi32>
  %1 = arith.remui %label, %0 : tensor<6xi32>
  %2 = nn.take_along_axis %x, %1 : tensor<6x4xf32>, tensor<6xi32> -> tensor<6xf32>
  %3 = dist.all_reduce <sum> %2 over <{"tp"}> on @mesh : tensor<6xf32> -> tensor<6xf32>
  return %3 : tensor<6xf32>
}
