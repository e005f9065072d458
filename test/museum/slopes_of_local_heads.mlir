// Source: bigscience-workshop/Megatron-DeepSpeed #227; flashinfer-ai/flashinfer #1606
// Mistake: The slopes of linear biases follow from a head's number; every rank numbers its heads
// from 0.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @slopes_of_local_heads(%scores: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.iota : tensor<4xi32>
  %1 = arith.sitofp %0 : tensor<4xi32> to tensor<4xf32>
  %2 = arith.constant dense<1.0> : tensor<4xf32>
  %3 = arith.addf %1, %2 : tensor<4xf32>
  %4 = arith.constant dense<-2.0> : tensor<4xf32>
  %5 = arith.mulf %3, %4 : tensor<4xf32>
  %6 = math.exp2 %5 : tensor<4xf32>
  %7 = nn.iota : tensor<8xi32>
  %8 = arith.sitofp %7 : tensor<8xi32> to tensor<8xf32>
  %9 = nn.broadcast %6 dims [0] : tensor<4xf32> -> tensor<4x8xf32>
  %10 = nn.broadcast %8 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %11 = arith.mulf %9, %10 : tensor<4x8xf32>
  %12 = arith.addf %scores, %11 : tensor<4x8xf32>
  return %12 : tensor<4x8xf32>
}

func.func @slopes_of_local_heads_right(
    %scores: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @slopes_of_local_heads} {
  %0 = dist.axis_offset <{"tp"}> size 2 on @mesh : index
  %1 = nn.iota offset %0 : tensor<2xi32>
  %2 = arith.sitofp %1 : tensor<2xi32> to tensor<2xf32>
  %3 = arith.constant dense<1.0> : tensor<2xf32>
  %4 = arith.addf %2, %3 : tensor<2xf32>
  %5 = arith.constant dense<-2.0> : tensor<2xf32>
  %6 = arith.mulf %4, %5 : tensor<2xf32>
  %7 = math.exp2 %6 : tensor<2xf32>
  %8 = nn.iota : tensor<8xi32>
  %9 = arith.sitofp %8 : tensor<8xi32> to tensor<8xf32>
  %10 = nn.broadcast %7 dims [0] : tensor<2xf32> -> tensor<2x8xf32>
  %11 = nn.broadcast %9 dims [1] : tensor<8xf32> -> tensor<2x8xf32>
  %12 = arith.mulf %10, %11 : tensor<2x8xf32>
  %13 = arith.addf %scores, %12 : tensor<2x8xf32>
  return %13 : tensor<2x8xf32>
}

func.func @slopes_of_local_heads_wrong(
    %scores: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    attributes {dist.local, dist.reference = @slopes_of_local_heads} {
  %0 = nn.iota : tensor<2xi32>
  %1 = arith.sitofp %0 : tensor<2xi32> to tensor<2xf32>
  %2 = arith.constant dense<1.0> : tensor<2xf32>
  %3 = arith.addf %1, %2 : tensor<2xf32>
  %4 = arith.constant dense<-2.0> : tensor<2xf32>
  %5 = arith.mulf %3, %4 : tensor<2xf32>
  %6 = math.exp2 %5 : tensor<2xf32>
  %7 = nn.iota : tensor<8xi32>
  %8 = arith.sitofp %7 : tensor<8xi32> to tensor<8xf32>
  %9 = nn.broadcast %6 dims [0] : tensor<2xf32> -> tensor<2x8xf32>
  %10 = nn.broadcast %8 dims [1] : tensor<8xf32> -> tensor<2x8xf32>
  %11 = arith.mulf %9, %10 : tensor<2x8xf32>
  %12 = arith.addf %scores, %11 : tensor<2x8xf32>
  return %12 : tensor<2x8xf32>
}
