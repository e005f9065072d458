// Source: huggingface/transformers #40709, PR #35808; huggingface/accelerate #3533
// Mistake: Two layers of software each divide the loss by the number of micro-batches.
// Parallelism: accumulation
// Found by: comparing gradients without accumulation

dist.mesh @mesh ["dp"=2]

func.func @divided_by_accumulation_twice(
    %x: tensor<2x8x4xf32>,
    %g: tensor<2x8x2xf32>)
    -> tensor<4x2xf32> {
  %0 = dist.accumulate 2 (%x, %g) : (tensor<2x8x4xf32>, tensor<2x8x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%p: tensor<8x4xf32>, %p1: tensor<8x2xf32>):
    %1 = nn.einsum "tk,tn->kn" %p, %p1 : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
    %2 = arith.constant dense<0.5> : tensor<4x2xf32>
    %3 = arith.mulf %1, %2 : tensor<4x2xf32>
    dist.yield %3 : tensor<4x2xf32>
  }
  return %0 : tensor<4x2xf32>
}

func.func @divided_by_accumulation_twice_right(
    %x: tensor<2x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>},
    %g: tensor<2x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @divided_by_accumulation_twice} {
  %0 = dist.accumulate 2 (%x, %g) : (tensor<2x4x4xf32>, tensor<2x4x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%p: tensor<4x4xf32>, %p1: tensor<4x2xf32>):
    %1 = nn.einsum "tk,tn->kn" %p, %p1 : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    %2 = arith.constant dense<0.5> : tensor<4x2xf32>
    %3 = arith.mulf %1, %2 : tensor<4x2xf32>
    dist.yield %3 : tensor<4x2xf32>
  }
  %4 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}

func.func @divided_by_accumulation_twice_wrong(
    %x: tensor<2x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>},
    %g: tensor<2x4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @divided_by_accumulation_twice} {
  %0 = dist.accumulate 2 (%x, %g) : (tensor<2x4x4xf32>, tensor<2x4x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%p: tensor<4x4xf32>, %p1: tensor<4x2xf32>):
    %1 = nn.einsum "tk,tn->kn" %p, %p1 : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    %2 = arith.constant dense<0.5> : tensor<4x2xf32>
    %3 = arith.mulf %1, %2 : tensor<4x2xf32>
    dist.yield %3 : tensor<4x2xf32>
  }
  %4 = arith.constant dense<0.5> : tensor<4x2xf32>
  %5 = arith.mulf %0, %4 : tensor<4x2xf32>
  %6 = dist.all_reduce <sum> %5 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %6 : tensor<4x2xf32>
}
