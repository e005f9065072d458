// Source: pytorch/torchtitan #166; facebookresearch/detr #544
// Mistake: Each replica draws its initial weights from a seed of its own, and nothing makes the
// replicas equal before the first step.
// Parallelism: dp
// Found by: comparing replicas before the first step

dist.mesh @mesh ["dp"=2]

func.func @replicas_start_apart(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %0 = nn.iota : tensor<4xi32>
  %1 = arith.constant dense<-1640531535> : tensor<4xi32>
  %2 = arith.muli %0, %1 : tensor<4xi32>
  %3 = arith.constant dense<15> : tensor<4xi32>
  %4 = arith.shrui %2, %3 : tensor<4xi32>
  %5 = arith.xori %2, %4 : tensor<4xi32>
  %6 = arith.constant dense<-2048144777> : tensor<4xi32>
  %7 = arith.muli %5, %6 : tensor<4xi32>
  %8 = arith.sitofp %7 : tensor<4xi32> to tensor<4xf32>
  %9 = arith.constant dense<4.656612873e-10> : tensor<4xf32>
  %10 = arith.mulf %8, %9 : tensor<4xf32>
  %11 = nn.einsum "bk,k->b" %x, %10 : tensor<8x4xf32>, tensor<4xf32> -> tensor<8xf32>
  return %11 : tensor<8xf32>
}

func.func @replicas_start_apart_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>})
    attributes {dist.local, dist.reference = @replicas_start_apart} {
  %0 = nn.iota : tensor<4xi32>
  %1 = arith.constant dense<-1640531535> : tensor<4xi32>
  %2 = arith.muli %0, %1 : tensor<4xi32>
  %3 = arith.constant dense<15> : tensor<4xi32>
  %4 = arith.shrui %2, %3 : tensor<4xi32>
  %5 = arith.xori %2, %4 : tensor<4xi32>
  %6 = arith.constant dense<-2048144777> : tensor<4xi32>
  %7 = arith.muli %5, %6 : tensor<4xi32>
  %8 = arith.sitofp %7 : tensor<4xi32> to tensor<4xf32>
  %9 = arith.constant dense<4.656612873e-10> : tensor<4xf32>
  %10 = arith.mulf %8, %9 : tensor<4xf32>
  %11 = nn.einsum "bk,k->b" %x, %10 : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %11 : tensor<4xf32>
}

func.func @replicas_start_apart_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}]>})
    attributes {dist.local, dist.reference = @replicas_start_apart} {
  %0 = dist.axis_offset <{"dp"}> size 4 on @mesh : index
  %1 = nn.iota offset %0 : tensor<4xi32>
  %2 = arith.constant dense<-1640531535> : tensor<4xi32>
  %3 = arith.muli %1, %2 : tensor<4xi32>
  %4 = arith.constant dense<15> : tensor<4xi32>
  %5 = arith.shrui %3, %4 : tensor<4xi32>
  %6 = arith.xori %3, %5 : tensor<4xi32>
  %7 = arith.constant dense<-2048144777> : tensor<4xi32>
  %8 = arith.muli %6, %7 : tensor<4xi32>
  %9 = arith.sitofp %8 : tensor<4xi32> to tensor<4xf32>
  %10 = arith.constant dense<4.656612873e-10> : tensor<4xf32>
  %11 = arith.mulf %9, %10 : tensor<4xf32>
  %12 = nn.einsum "bk,k->b" %x, %11 : tensor<4x4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %12 : tensor<4xf32>
}
