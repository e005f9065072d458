// Source: uw-syfi/piper #13
// Mistake: The first and the last stage have one table, and each updates its copy with the
// gradient of its own use.
// Parallelism: pp
// Found by: comparing the copies after a step

dist.mesh @mesh ["pp"=2]

func.func @tied_table_of_two_stages(
    %dx: tensor<6x4xf32>,
    %ids: tensor<6xi32>,
    %dl: tensor<6x8xf32>,
    %h: tensor<6x4xf32>)
    -> tensor<8x4xf32> {
  %0 = nn.embedding_backward %dx, %ids : tensor<6x4xf32>, tensor<6xi32> -> tensor<8x4xf32>
  %1 = nn.einsum "tv,td->vd" %dl, %h : tensor<6x8xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  %2 = arith.addf %0, %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

func.func @tied_table_of_two_stages_right(
    %dx: tensor<6x4xf32>,
    %ids: tensor<6xi32>,
    %dl: tensor<6x8xf32>,
    %h: tensor<6x4xf32>)
    -> tensor<8x4xf32>
    attributes {dist.local, dist.reference = @tied_table_of_two_stages} {
  %0 = nn.embedding_backward %dx, %ids : tensor<6x4xf32>, tensor<6xi32> -> tensor<8x4xf32>
  %1 = nn.einsum "tv,td->vd" %dl, %h : tensor<6x8xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  // Stage 0 has the embedding, stage 1 the head.
  %2 = dist.to_partial <sum> %0 over <{"pp"}> on @mesh : tensor<8x4xf32>
  dist.send %1 along "pp" 0 to 1 tag 0 on @mesh : tensor<8x4xf32>
  %3 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<8x4xf32>
  %4 = arith.addf %2, %3 : tensor<8x4xf32>
  %5 = dist.all_reduce <sum> %4 over <{"pp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}

func.func @tied_table_of_two_stages_wrong(
    %dx: tensor<6x4xf32>,
    %ids: tensor<6xi32>,
    %dl: tensor<6x8xf32>,
    %h: tensor<6x4xf32>)
    -> tensor<8x4xf32>
    attributes {dist.local, dist.reference = @tied_table_of_two_stages} {
  %0 = nn.embedding_backward %dx, %ids : tensor<6x4xf32>, tensor<6xi32> -> tensor<8x4xf32>
  %1 = nn.einsum "tv,td->vd" %dl, %h : tensor<6x8xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  // Stage 0 has the embedding, stage 1 the head.
  %2 = dist.to_partial <sum> %0 over <{"pp"}> on @mesh : tensor<8x4xf32>
  dist.send %1 along "pp" 0 to 1 tag 0 on @mesh : tensor<8x4xf32>
  %3 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<8x4xf32>
  %4 = arith.addf %2, %3 : tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}
