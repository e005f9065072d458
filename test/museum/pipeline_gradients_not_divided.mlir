// Source: pytorch/torchtitan #2972
// Mistake: Under pipelines the sums of the micro-batches' losses are not divided by the number of
// tokens, so gradients grow with the batch.
// Parallelism: pp
// Found by: comparing gradients with pp=1

dist.mesh @mesh ["pp"=2]

func.func @pipeline_gradients_not_divided(
    %x: tensor<8x4xf32>,
    %g: tensor<8x2xf32>,
    %mask: tensor<8xi1>)
    -> tensor<4x2xf32> {
  %0 = math.exp %x : tensor<8x4xf32>
  %1 = nn.einsum "tk,tn->kn" %0, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %2 = arith.uitofp %mask : tensor<8xi1> to tensor<8xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<8xf32> -> tensor<f32>
  %4 = nn.broadcast %3 dims [] : tensor<f32> -> tensor<4x2xf32>
  %5 = arith.divf %1, %4 : tensor<4x2xf32>
  return %5 : tensor<4x2xf32>
}

func.func @pipeline_gradients_not_divided_right(
    %x: tensor<8x4xf32>,
    %g: tensor<8x2xf32>,
    %mask: tensor<8xi1>)
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @pipeline_gradients_not_divided} {
  %0 = math.exp %x : tensor<8x4xf32>
  dist.send %0 along "pp" 0 to 1 tag 0 on @mesh : tensor<8x4xf32>
  %1 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<8x4xf32>
  %2 = nn.einsum "tk,tn->kn" %1, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %3 = dist.all_reduce <sum> %2 over <{"pp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %4 = arith.uitofp %mask : tensor<8xi1> to tensor<8xf32>
  %5 = nn.reduce <sum> %4 dims [0] : tensor<8xf32> -> tensor<f32>
  %6 = nn.broadcast %5 dims [] : tensor<f32> -> tensor<4x2xf32>
  %7 = arith.divf %3, %6 : tensor<4x2xf32>
  return %7 : tensor<4x2xf32>
}

func.func @pipeline_gradients_not_divided_wrong(
    %x: tensor<8x4xf32>,
    %g: tensor<8x2xf32>,
    %mask: tensor<8xi1>)
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @pipeline_gradients_not_divided} {
  %0 = math.exp %x : tensor<8x4xf32>
  dist.send %0 along "pp" 0 to 1 tag 0 on @mesh : tensor<8x4xf32>
  %1 = dist.recv along "pp" 0 to 1 tag 0 on @mesh : tensor<8x4xf32>
  %2 = nn.einsum "tk,tn->kn" %1, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %3 = dist.all_reduce <sum> %2 over <{"pp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}
