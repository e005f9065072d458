// Source: a form, not a thread
// Mistake: Activations that all ranks of tp have are dropped by another mask on each.
// Parallelism: tp
// Found by: comparing replicas

dist.mesh @mesh ["tp"=2]

func.func @dropout_differs_in_replicas(
    %x: tensor<8x4xf32>,
    %w: tensor<4x4xf32>)
    -> tensor<8x4xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = nn.iota : tensor<8xi32>
  %2 = arith.constant dense<-1640531535> : tensor<8xi32>
  %3 = arith.muli %1, %2 : tensor<8xi32>
  %4 = arith.constant dense<15> : tensor<8xi32>
  %5 = arith.shrui %3, %4 : tensor<8xi32>
  %6 = arith.xori %3, %5 : tensor<8xi32>
  %7 = arith.constant dense<-2048144777> : tensor<8xi32>
  %8 = arith.muli %6, %7 : tensor<8xi32>
  %9 = arith.constant dense<0> : tensor<8xi32>
  %10 = arith.cmpi sge, %8, %9 : tensor<8xi32>
  %11 = nn.broadcast %10 dims [0] : tensor<8xi1> -> tensor<8x4xi1>
  %12 = arith.constant dense<0.0> : tensor<8x4xf32>
  %13 = arith.select %11, %0, %12 : tensor<8x4xi1>, tensor<8x4xf32>
  return %13 : tensor<8x4xf32>
}

func.func @dropout_differs_in_replicas_right(
    %x: tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<8x4xf32>
    attributes {dist.local, dist.reference = @dropout_differs_in_replicas} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<8x2xf32>, tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %2 = nn.iota : tensor<8xi32>
  %3 = arith.constant dense<-1640531535> : tensor<8xi32>
  %4 = arith.muli %2, %3 : tensor<8xi32>
  %5 = arith.constant dense<15> : tensor<8xi32>
  %6 = arith.shrui %4, %5 : tensor<8xi32>
  %7 = arith.xori %4, %6 : tensor<8xi32>
  %8 = arith.constant dense<-2048144777> : tensor<8xi32>
  %9 = arith.muli %7, %8 : tensor<8xi32>
  %10 = arith.constant dense<0> : tensor<8xi32>
  %11 = arith.cmpi sge, %9, %10 : tensor<8xi32>
  %12 = nn.broadcast %11 dims [0] : tensor<8xi1> -> tensor<8x4xi1>
  %13 = arith.constant dense<0.0> : tensor<8x4xf32>
  %14 = arith.select %12, %1, %13 : tensor<8x4xi1>, tensor<8x4xf32>
  return %14 : tensor<8x4xf32>
}

func.func @dropout_differs_in_replicas_wrong(
    %x: tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<8x4xf32>
    attributes {dist.local, dist.reference = @dropout_differs_in_replicas} {
  %0 = dist.axis_offset <{"tp"}> size 8 on @mesh : index
  %1 = nn.einsum "bk,kn->bn" %x, %w : tensor<8x2xf32>, tensor<2x4xf32> -> tensor<8x4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %3 = nn.iota offset %0 : tensor<8xi32>
  %4 = arith.constant dense<-1640531535> : tensor<8xi32>
  %5 = arith.muli %3, %4 : tensor<8xi32>
  %6 = arith.constant dense<15> : tensor<8xi32>
  %7 = arith.shrui %5, %6 : tensor<8xi32>
  %8 = arith.xori %5, %7 : tensor<8xi32>
  %9 = arith.constant dense<-2048144777> : tensor<8xi32>
  %10 = arith.muli %8, %9 : tensor<8xi32>
  %11 = arith.constant dense<0> : tensor<8xi32>
  %12 = arith.cmpi sge, %10, %11 : tensor<8xi32>
  %13 = nn.broadcast %12 dims [0] : tensor<8xi1> -> tensor<8x4xi1>
  %14 = arith.constant dense<0.0> : tensor<8x4xf32>
  %15 = arith.select %13, %2, %14 : tensor<8x4xi1>, tensor<8x4xf32>
  return %15 : tensor<8x4xf32>
}
