// Source: a form, not a thread
// Mistake: A stage takes the activations of another micro-batch for those that it waits for.
// Parallelism: pp
// Found by: a comparison with pp=1

dist.mesh @mesh ["pp"=2]

func.func @receive_of_another_micro_batch(
    %x: tensor<8x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tensor.extract_slice %x[0, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  %1 = tensor.extract_slice %x[4, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  %2 = math.exp %0 : tensor<4x4xf32>
  %3 = math.exp %1 : tensor<4x4xf32>
  return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

func.func @receive_of_another_micro_batch_right(
    %x: tensor<8x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>)
    attributes {dist.local, dist.reference = @receive_of_another_micro_batch} {
  %0 = tensor.extract_slice %x[0, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  %1 = tensor.extract_slice %x[4, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  %2 = math.exp %0 : tensor<4x4xf32>
  %3 = math.exp %1 : tensor<4x4xf32>
  dist.send %2 along "pp" 0 to 1 tag 0 on @mesh : tensor<4x4xf32>
  dist.send %3 along "pp" 0 to 1 tag 1 on @mesh : tensor<4x4xf32>
  %4 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<4x4xf32>
  %5 = dist.recv along "pp" 0 to 1 tag 1 on @mesh : tensor<4x4xf32>
  %6 = dist.all_reduce <sum> %4 over <{"pp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  %7 = dist.all_reduce <sum> %5 over <{"pp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %6, %7 : tensor<4x4xf32>, tensor<4x4xf32>
}

func.func @receive_of_another_micro_batch_wrong(
    %x: tensor<8x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>)
    attributes {dist.local, dist.reference = @receive_of_another_micro_batch} {
  %0 = tensor.extract_slice %x[0, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  %1 = tensor.extract_slice %x[4, 0] [4, 4] [1, 1] : tensor<8x4xf32> to tensor<4x4xf32>
  %2 = math.exp %0 : tensor<4x4xf32>
  %3 = math.exp %1 : tensor<4x4xf32>
  dist.send %2 along "pp" 0 to 1 tag 0 on @mesh : tensor<4x4xf32>
  dist.send %3 along "pp" 0 to 1 tag 1 on @mesh : tensor<4x4xf32>
  %4 = dist.recv along "pp" 0 to 1 tag 1 on @mesh : tensor<4x4xf32>
  %5 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<4x4xf32>
  %6 = dist.all_reduce <sum> %4 over <{"pp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  %7 = dist.all_reduce <sum> %5 over <{"pp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %6, %7 : tensor<4x4xf32>, tensor<4x4xf32>
}
