// Source: PaddlePaddle/PaddleFleetX PR #1005; tenstorrent/tt-metal #55947
// Mistake: All ranks draw the same dropout mask for their different shards, since their random
// numbers begin at the same state.
// Parallelism: sp, dp
// Found by: comparing masks of two ranks

dist.mesh @mesh ["tp"=2]

func.func @one_dropout_mask_for_all_shards(%x: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %0 = nn.iota : tensor<16xi32>
  %1 = arith.constant dense<-1640531535> : tensor<16xi32>
  %2 = arith.muli %0, %1 : tensor<16xi32>
  %3 = arith.constant dense<15> : tensor<16xi32>
  %4 = arith.shrui %2, %3 : tensor<16xi32>
  %5 = arith.xori %2, %4 : tensor<16xi32>
  %6 = arith.constant dense<-2048144777> : tensor<16xi32>
  %7 = arith.muli %5, %6 : tensor<16xi32>
  %8 = arith.constant dense<0> : tensor<16xi32>
  %9 = arith.cmpi sge, %7, %8 : tensor<16xi32>
  %10 = nn.broadcast %9 dims [0] : tensor<16xi1> -> tensor<16x4xi1>
  %11 = arith.constant dense<0.0> : tensor<16x4xf32>
  %12 = arith.select %10, %x, %11 : tensor<16x4xi1>, tensor<16x4xf32>
  return %12 : tensor<16x4xf32>
}

func.func @one_dropout_mask_for_all_shards_right(
    %x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @one_dropout_mask_for_all_shards} {
  %0 = dist.axis_offset <{"tp"}> size 8 on @mesh : index
  %1 = nn.iota offset %0 : tensor<8xi32>
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
  %13 = arith.select %11, %x, %12 : tensor<8x4xi1>, tensor<8x4xf32>
  return %13 : tensor<8x4xf32>
}

func.func @one_dropout_mask_for_all_shards_wrong(
    %x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @one_dropout_mask_for_all_shards} {
  %0 = nn.iota : tensor<8xi32>
  %1 = arith.constant dense<-1640531535> : tensor<8xi32>
  %2 = arith.muli %0, %1 : tensor<8xi32>
  %3 = arith.constant dense<15> : tensor<8xi32>
  %4 = arith.shrui %2, %3 : tensor<8xi32>
  %5 = arith.xori %2, %4 : tensor<8xi32>
  %6 = arith.constant dense<-2048144777> : tensor<8xi32>
  %7 = arith.muli %5, %6 : tensor<8xi32>
  %8 = arith.constant dense<0> : tensor<8xi32>
  %9 = arith.cmpi sge, %7, %8 : tensor<8xi32>
  %10 = nn.broadcast %9 dims [0] : tensor<8xi1> -> tensor<8x4xi1>
  %11 = arith.constant dense<0.0> : tensor<8x4xf32>
  %12 = arith.select %10, %x, %11 : tensor<8x4xi1>, tensor<8x4xf32>
  return %12 : tensor<8x4xf32>
}
