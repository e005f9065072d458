// Source: PaddlePaddle/PaddleFleet PR #104
// Mistake: A rank looks ids up in its rows of the table with another rank's offset, which follows
// from its coordinate on another axis.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["dp"=2, "tp"=2]

func.func @embedding_of_other_offset(
    %table: tensor<16x4xf32>,
    %ids: tensor<8xi32>)
    -> tensor<8x4xf32> {
  %0 = nn.embedding %table, %ids : tensor<16x4xf32>, tensor<8xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

func.func @embedding_of_other_offset_right(
    %table: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %ids: tensor<4xi32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    attributes {dist.local, dist.reference = @embedding_of_other_offset} {
  %0 = dist.axis_offset <{"tp"}> size 8 on @mesh : index
  %1 = nn.embedding %table, %ids rows 16 offset %0 : tensor<8x4xf32>, tensor<4xi32> -> tensor<4x4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

func.func @embedding_of_other_offset_wrong(
    %table: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %ids: tensor<4xi32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    attributes {dist.local, dist.reference = @embedding_of_other_offset} {
  %0 = dist.axis_offset <{"dp"}> size 8 on @mesh : index
  %1 = nn.embedding %table, %ids rows 16 offset %0 : tensor<8x4xf32>, tensor<4xi32> -> tensor<4x4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
