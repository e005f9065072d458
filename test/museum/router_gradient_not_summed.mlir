// Source: huggingface/transformers #48687, PR #48205
// Mistake: The gradient of the router's scores has parts of the experts that a rank has, and the
// parts of the others are not added: the loss is right, the gradient is not.
// Parallelism: ep
// Found by: comparing gradients with ep=1

dist.mesh @mesh ["ep"=2]

func.func @router_gradient_not_summed(
    %grad: tensor<6x4xf32>,
    %y: tensor<4x6x4xf32>,
    %p: tensor<4x6xf32>)
    -> tensor<4x6xf32> {
  %0 = nn.broadcast %grad dims [1, 2] : tensor<6x4xf32> -> tensor<4x6x4xf32>
  %1 = arith.mulf %y, %0 : tensor<4x6x4xf32>
  %2 = nn.reduce <sum> %1 dims [2] : tensor<4x6x4xf32> -> tensor<4x6xf32>
  %3 = arith.mulf %2, %p : tensor<4x6xf32>
  %4 = nn.reduce <sum> %3 dims [0] : tensor<4x6xf32> -> tensor<6xf32>
  %5 = nn.broadcast %4 dims [1] : tensor<6xf32> -> tensor<4x6xf32>
  %6 = arith.subf %2, %5 : tensor<4x6xf32>
  %7 = arith.mulf %p, %6 : tensor<4x6xf32>
  return %7 : tensor<4x6xf32>
}

func.func @router_gradient_not_summed_right(
    %grad: tensor<6x4xf32>,
    %y: tensor<2x6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>},
    %p: tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}]>})
    -> (tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}]>})
    attributes {dist.local, dist.reference = @router_gradient_not_summed} {
  %0 = nn.broadcast %grad dims [1, 2] : tensor<6x4xf32> -> tensor<2x6x4xf32>
  %1 = arith.mulf %y, %0 : tensor<2x6x4xf32>
  %2 = nn.reduce <sum> %1 dims [2] : tensor<2x6x4xf32> -> tensor<2x6xf32>
  %3 = arith.mulf %2, %p : tensor<2x6xf32>
  %4 = nn.reduce <sum> %3 dims [0] : tensor<2x6xf32> -> tensor<6xf32>
  %5 = dist.all_reduce <sum> %4 over <{"ep"}> on @mesh : tensor<6xf32> -> tensor<6xf32>
  %6 = nn.broadcast %5 dims [1] : tensor<6xf32> -> tensor<2x6xf32>
  %7 = arith.subf %2, %6 : tensor<2x6xf32>
  %8 = arith.mulf %p, %7 : tensor<2x6xf32>
  return %8 : tensor<2x6xf32>
}

func.func @router_gradient_not_summed_wrong(
    %grad: tensor<6x4xf32>,
    %y: tensor<2x6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>},
    %p: tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}]>})
    -> (tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}]>})
    attributes {dist.local, dist.reference = @router_gradient_not_summed} {
  %0 = nn.broadcast %grad dims [1, 2] : tensor<6x4xf32> -> tensor<2x6x4xf32>
  %1 = arith.mulf %y, %0 : tensor<2x6x4xf32>
  %2 = nn.reduce <sum> %1 dims [2] : tensor<2x6x4xf32> -> tensor<2x6xf32>
  %3 = arith.mulf %2, %p : tensor<2x6xf32>
  %4 = nn.reduce <sum> %3 dims [0] : tensor<2x6xf32> -> tensor<6xf32>
  %5 = nn.broadcast %4 dims [1] : tensor<6xf32> -> tensor<2x6xf32>
  %6 = arith.subf %2, %5 : tensor<2x6xf32>
  %7 = arith.mulf %p, %6 : tensor<2x6xf32>
  return %7 : tensor<2x6xf32>
}
