// Source: a form, not a thread
// Mistake: The gradient of a table that is sharded over the vocabulary counts ids from 0 on every
// rank.
// Parallelism: tp
// Found by: comparing gradients with tp=1

dist.mesh @mesh ["tp"=2]

func.func @embedding_gradient_of_first_rows(
    %dx: tensor<6x4xf32>,
    %ids: tensor<6xi32>)
    -> tensor<8x4xf32> {
  %0 = nn.embedding_backward %dx, %ids : tensor<6x4xf32>, tensor<6xi32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

func.func @embedding_gradient_of_first_rows_right(
    %dx: tensor<6x4xf32>,
    %ids: tensor<6xi32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @embedding_gradient_of_first_rows} {
  %0 = dist.axis_offset <{"tp"}> size 4 on @mesh : index
  %1 = nn.embedding_backward %dx, %ids rows 8 offset %0 : tensor<6x4xf32>, tensor<6xi32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

func.func @embedding_gradient_of_first_rows_wrong(
    %dx: tensor<6x4xf32>,
    %ids: tensor<6xi32>)
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @embedding_gradient_of_first_rows} {
  %0 = nn.embedding_backward %dx, %ids : tensor<6x4xf32>, tensor<6xi32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
