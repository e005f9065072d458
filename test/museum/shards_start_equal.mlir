// Source: a form, not a thread
// Mistake: Each rank draws its shard of a weight from the same random numbers, so the weight
// repeats tp times.
// Parallelism: tp
// Found by: comparing shards of a weight

dist.mesh @mesh ["tp"=2]

func.func @shards_start_equal(%w0: tensor<16xf32>) -> tensor<16xf32> {
  %0 = nn.iota : tensor<16xi32>
  %1 = arith.constant dense<-1640531535> : tensor<16xi32>
  %2 = arith.muli %0, %1 : tensor<16xi32>
  %3 = arith.constant dense<15> : tensor<16xi32>
  %4 = arith.shrui %2, %3 : tensor<16xi32>
  %5 = arith.xori %2, %4 : tensor<16xi32>
  %6 = arith.constant dense<-2048144777> : tensor<16xi32>
  %7 = arith.muli %5, %6 : tensor<16xi32>
  %8 = arith.sitofp %7 : tensor<16xi32> to tensor<16xf32>
  %9 = arith.constant dense<4.656612873e-10> : tensor<16xf32>
  %10 = arith.mulf %8, %9 : tensor<16xf32>
  %11 = arith.addf %w0, %10 : tensor<16xf32>
  return %11 : tensor<16xf32>
}

func.func @shards_start_equal_right(
    %w0: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}]>})
    attributes {dist.local, dist.reference = @shards_start_equal} {
  %0 = dist.axis_offset <{"tp"}> size 8 on @mesh : index
  %1 = nn.iota offset %0 : tensor<8xi32>
  %2 = arith.constant dense<-1640531535> : tensor<8xi32>
  %3 = arith.muli %1, %2 : tensor<8xi32>
  %4 = arith.constant dense<15> : tensor<8xi32>
  %5 = arith.shrui %3, %4 : tensor<8xi32>
  %6 = arith.xori %3, %5 : tensor<8xi32>
  %7 = arith.constant dense<-2048144777> : tensor<8xi32>
  %8 = arith.muli %6, %7 : tensor<8xi32>
  %9 = arith.sitofp %8 : tensor<8xi32> to tensor<8xf32>
  %10 = arith.constant dense<4.656612873e-10> : tensor<8xf32>
  %11 = arith.mulf %9, %10 : tensor<8xf32>
  %12 = arith.addf %w0, %11 : tensor<8xf32>
  return %12 : tensor<8xf32>
}

func.func @shards_start_equal_wrong(
    %w0: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}]>})
    attributes {dist.local, dist.reference = @shards_start_equal} {
  %0 = nn.iota : tensor<8xi32>
  %1 = arith.constant dense<-1640531535> : tensor<8xi32>
  %2 = arith.muli %0, %1 : tensor<8xi32>
  %3 = arith.constant dense<15> : tensor<8xi32>
  %4 = arith.shrui %2, %3 : tensor<8xi32>
  %5 = arith.xori %2, %4 : tensor<8xi32>
  %6 = arith.constant dense<-2048144777> : tensor<8xi32>
  %7 = arith.muli %5, %6 : tensor<8xi32>
  %8 = arith.sitofp %7 : tensor<8xi32> to tensor<8xf32>
  %9 = arith.constant dense<4.656612873e-10> : tensor<8xf32>
  %10 = arith.mulf %8, %9 : tensor<8xf32>
  %11 = arith.addf %w0, %10 : tensor<8xf32>
  return %11 : tensor<8xf32>
}
