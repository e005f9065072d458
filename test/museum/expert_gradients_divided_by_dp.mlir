// Source: pytorch/pytorch #160285; NVIDIA/Megatron-LM PR #5956; databricks/megablocks PR #20
// Mistake: The tokens of all ranks of ep reach an expert, so its gradient is a sum over ep
// already; the average divides by dp alone, and the gradient is ep times too large.
// Parallelism: ep
// Found by: comparing gradients with ep=1

dist.mesh @mesh ["dp"=2, "ep"=2]

func.func @expert_gradients_divided_by_dp(
    %x: tensor<4x8x2xf32>,
    %g: tensor<4x8x3xf32>)
    -> tensor<4x2x3xf32> {
  %0 = nn.einsum "etk,etn->ekn" %x, %g : tensor<4x8x2xf32>, tensor<4x8x3xf32> -> tensor<4x2x3xf32>
  %1 = arith.constant dense<0.125> : tensor<4x2x3xf32>
  %2 = arith.mulf %0, %1 : tensor<4x2x3xf32>
  return %2 : tensor<4x2x3xf32>
}

// Unproven: the factors 1/2 and 1/4 are 1/8 by algebra.
func.func @expert_gradients_divided_by_dp_right(
    %x: tensor<4x2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp", "ep"}, {}]>},
    %g: tensor<4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp", "ep"}, {}]>})
    -> (tensor<2x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>})
    attributes {dist.local, dist.reference = @expert_gradients_divided_by_dp} {
  // Rows and gradients go to the ranks that have their experts.
  %0 = dist.all_to_all %x gather 1 split 0 over <{"ep"}> on @mesh : tensor<4x2x2xf32> -> tensor<2x4x2xf32>
  %1 = dist.all_to_all %g gather 1 split 0 over <{"ep"}> on @mesh : tensor<4x2x3xf32> -> tensor<2x4x3xf32>
  %2 = nn.einsum "etk,etn->ekn" %0, %1 : tensor<2x4x2xf32>, tensor<2x4x3xf32> -> tensor<2x2x3xf32>
  %3 = dist.all_reduce <sum> %2 over <{"dp"}> on @mesh : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
  %4 = arith.constant dense<0.5> : tensor<2x2x3xf32>
  %5 = arith.mulf %3, %4 : tensor<2x2x3xf32>
  // The loss is the mean over a rank's 2 tokens; this is the mean over ranks.
  %6 = arith.constant dense<0.25> : tensor<2x2x3xf32>
  %7 = arith.mulf %5, %6 : tensor<2x2x3xf32>
  return %7 : tensor<2x2x3xf32>
}

func.func @expert_gradients_divided_by_dp_right_once(
    %x: tensor<4x2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp", "ep"}, {}]>},
    %g: tensor<4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp", "ep"}, {}]>})
    -> (tensor<2x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>})
    attributes {dist.local, dist.reference = @expert_gradients_divided_by_dp} {
  // Rows and gradients go to the ranks that have their experts.
  %0 = dist.all_to_all %x gather 1 split 0 over <{"ep"}> on @mesh : tensor<4x2x2xf32> -> tensor<2x4x2xf32>
  %1 = dist.all_to_all %g gather 1 split 0 over <{"ep"}> on @mesh : tensor<4x2x3xf32> -> tensor<2x4x3xf32>
  %2 = nn.einsum "etk,etn->ekn" %0, %1 : tensor<2x4x2xf32>, tensor<2x4x3xf32> -> tensor<2x2x3xf32>
  %3 = dist.all_reduce <sum> %2 over <{"dp"}> on @mesh : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
  %4 = arith.constant dense<0.125> : tensor<2x2x3xf32>
  %5 = arith.mulf %3, %4 : tensor<2x2x3xf32>
  return %5 : tensor<2x2x3xf32>
}

func.func @expert_gradients_divided_by_dp_wrong(
    %x: tensor<4x2x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp", "ep"}, {}]>},
    %g: tensor<4x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"dp", "ep"}, {}]>})
    -> (tensor<2x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"ep"}, {}, {}]>})
    attributes {dist.local, dist.reference = @expert_gradients_divided_by_dp} {
  // Rows and gradients go to the ranks that have their experts.
  %0 = dist.all_to_all %x gather 1 split 0 over <{"ep"}> on @mesh : tensor<4x2x2xf32> -> tensor<2x4x2xf32>
  %1 = dist.all_to_all %g gather 1 split 0 over <{"ep"}> on @mesh : tensor<4x2x3xf32> -> tensor<2x4x3xf32>
  %2 = nn.einsum "etk,etn->ekn" %0, %1 : tensor<2x4x2xf32>, tensor<2x4x3xf32> -> tensor<2x2x3xf32>
  %3 = dist.all_reduce <sum> %2 over <{"dp"}> on @mesh : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
  %4 = arith.constant dense<0.5> : tensor<2x2x3xf32>
  %5 = arith.mulf %3, %4 : tensor<2x2x3xf32>
  // The loss is the mean over a rank's 2 tokens; this is the mean over ranks.
  %6 = arith.constant dense<0.5> : tensor<2x2x3xf32>
  %7 = arith.mulf %5, %6 : tensor<2x2x3xf32>
  return %7 : tensor<2x2x3xf32>
}
