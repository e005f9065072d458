// Source: huggingface/transformers PR #35210; unslothai/unsloth-zoo PR #1023;
// PrimeIntellect-ai/prime-rl PR #583; verl-project/verl #7200
// Mistake: Each micro-batch divides its loss by its own number of tokens, and the means are
// averaged.
// Parallelism: accumulation
// Found by: a comparison without accumulation

dist.mesh @mesh ["dp"=2]

func.func @micro_batches_divide_by_own_count(
    %loss: tensor<2x16xf32>,
    %mask: tensor<2x16xi1>)
    -> tensor<f32> {
  %0, %1 = dist.accumulate 2 (%loss, %mask) : (tensor<2x16xf32>, tensor<2x16xi1>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%p: tensor<16xf32>, %p1: tensor<16xi1>):
    %2 = arith.uitofp %p1 : tensor<16xi1> to tensor<16xf32>
    %3 = arith.mulf %p, %2 : tensor<16xf32>
    %4 = nn.reduce <sum> %3 dims [0] : tensor<16xf32> -> tensor<f32>
    %5 = nn.reduce <sum> %2 dims [0] : tensor<16xf32> -> tensor<f32>
    dist.yield %4, %5 : tensor<f32>, tensor<f32>
  }
  %6 = arith.divf %0, %1 : tensor<f32>
  return %6 : tensor<f32>
}

func.func @micro_batches_divide_by_own_count_right(
    %loss: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}]>},
    %mask: tensor<2x8xi1> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @micro_batches_divide_by_own_count} {
  %0, %1 = dist.accumulate 2 (%loss, %mask) : (tensor<2x8xf32>, tensor<2x8xi1>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%p: tensor<8xf32>, %p1: tensor<8xi1>):
    %2 = arith.uitofp %p1 : tensor<8xi1> to tensor<8xf32>
    %3 = arith.mulf %p, %2 : tensor<8xf32>
    %4 = nn.reduce <sum> %3 dims [0] : tensor<8xf32> -> tensor<f32>
    %5 = nn.reduce <sum> %2 dims [0] : tensor<8xf32> -> tensor<f32>
    dist.yield %4, %5 : tensor<f32>, tensor<f32>
  }
  %6 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
  %7 = dist.all_reduce <sum> %1 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
  %8 = arith.divf %6, %7 : tensor<f32>
  return %8 : tensor<f32>
}

func.func @micro_batches_divide_by_own_count_wrong(
    %loss: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}]>},
    %mask: tensor<2x8xi1> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp"}]>})
    -> tensor<f32>
    attributes {dist.local, dist.reference = @micro_batches_divide_by_own_count} {
  %0 = dist.accumulate 2 (%loss, %mask) : (tensor<2x8xf32>, tensor<2x8xi1>) -> tensor<f32> {
  ^bb0(%p: tensor<8xf32>, %p1: tensor<8xi1>):
    %1 = arith.uitofp %p1 : tensor<8xi1> to tensor<8xf32>
    %2 = arith.mulf %p, %1 : tensor<8xf32>
    %3 = nn.reduce <sum> %2 dims [0] : tensor<8xf32> -> tensor<f32>
    %4 = nn.reduce <sum> %1 dims [0] : tensor<8xf32> -> tensor<f32>
    %5 = dist.all_reduce <sum> %3 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
    %6 = dist.all_reduce <sum> %4 over <{"dp"}> on @mesh : tensor<f32> -> tensor<f32>
    %7 = arith.divf %5, %6 : tensor<f32>
    dist.yield %7 : tensor<f32>
  }
  %8 = arith.constant dense<0.5> : tensor<f32>
  %9 = arith.mulf %0, %8 : tensor<f32>
  return %9 : tensor<f32>
}
