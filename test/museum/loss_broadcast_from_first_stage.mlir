// Source: a form, not a thread
// Mistake: The last stage has the loss, but all ranks take the number of the first one.
// Parallelism: pp
// Found by: a comparison with pp=1

dist.mesh @mesh ["pp"=2]

func.func @loss_broadcast_from_first_stage(%x: tensor<8xf32>) -> tensor<f32> {
  %0 = math.exp %x : tensor<8xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<8xf32> -> tensor<f32>
  %2 = arith.constant dense<0.125> : tensor<f32>
  %3 = arith.mulf %1, %2 : tensor<f32>
  return %3 : tensor<f32>
}

// Unproven: the proof knows zeros on the first stage as a part of a sum, and no broadcast of the
// part that is all of it.
func.func @loss_broadcast_from_first_stage_right(
    %x: tensor<8xf32>)
    -> tensor<f32>
    attributes {dist.local, dist.reference = @loss_broadcast_from_first_stage} {
  %0 = math.exp %x : tensor<8xf32>
  dist.send %0 along "pp" 0 to 1 tag 0 on @mesh : tensor<8xf32>
  %1 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<8xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<8xf32> -> tensor<f32>
  %3 = arith.constant dense<0.125> : tensor<f32>
  %4 = arith.mulf %2, %3 : tensor<f32>
  %5 = dist.broadcast %4 root 1 over <{"pp"}> on @mesh : tensor<f32> -> tensor<f32>
  return %5 : tensor<f32>
}

func.func @loss_broadcast_from_first_stage_right_sum(
    %x: tensor<8xf32>)
    -> tensor<f32>
    attributes {dist.local, dist.reference = @loss_broadcast_from_first_stage} {
  %0 = math.exp %x : tensor<8xf32>
  dist.send %0 along "pp" 0 to 1 tag 0 on @mesh : tensor<8xf32>
  %1 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<8xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<8xf32> -> tensor<f32>
  %3 = arith.constant dense<0.125> : tensor<f32>
  %4 = arith.mulf %2, %3 : tensor<f32>
  %5 = dist.all_reduce <sum> %4 over <{"pp"}> on @mesh : tensor<f32> -> tensor<f32>
  return %5 : tensor<f32>
}

func.func @loss_broadcast_from_first_stage_wrong(
    %x: tensor<8xf32>)
    -> tensor<f32>
    attributes {dist.local, dist.reference = @loss_broadcast_from_first_stage} {
  %0 = math.exp %x : tensor<8xf32>
  dist.send %0 along "pp" 0 to 1 tag 0 on @mesh : tensor<8xf32>
  %1 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<8xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<8xf32> -> tensor<f32>
  %3 = arith.constant dense<0.125> : tensor<f32>
  %4 = arith.mulf %2, %3 : tensor<f32>
  %5 = dist.broadcast %4 root 0 over <{"pp"}> on @mesh : tensor<f32> -> tensor<f32>
  return %5 : tensor<f32>
}
