// Source: unslothai/unsloth PR #10616; hpcaitech/ColossalAI #6167
// Mistake: The vocabulary is padded to a multiple of tp, and the logits of ids that do not exist
// count in the log-sum-exp.
// Parallelism: tp
// Found by: a comparison with tp=1

dist.mesh @mesh ["tp"=2]

func.func @padded_vocabulary_counts(%logits: tensor<4x7xf32>) -> tensor<4xf32> {
  %0 = nn.reduce <max> %logits dims [1] : tensor<4x7xf32> -> tensor<4xf32>
  %1 = nn.broadcast %0 dims [0] : tensor<4xf32> -> tensor<4x7xf32>
  %2 = arith.subf %logits, %1 : tensor<4x7xf32>
  %3 = math.exp %2 : tensor<4x7xf32>
  %4 = nn.reduce <sum> %3 dims [1] : tensor<4x7xf32> -> tensor<4xf32>
  %5 = math.log %4 : tensor<4xf32>
  %6 = arith.addf %0, %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

// Unproven: the proof does not follow that exp of minus infinity is 0 in the padding.
func.func @padded_vocabulary_counts_right(
    %logits: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>, dist.global_shape = array<i64: 4, 7>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @padded_vocabulary_counts} {
  %0 = dist.axis_offset <{"tp"}> size 4 on @mesh : index
  %1 = nn.mask_padding %logits dim 1 size 7 value 0xFF800000 : f32 offset %0 : tensor<4x4xf32>
  %2 = nn.reduce <max> %1 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %3 = dist.all_reduce <max> %2 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %4 = nn.broadcast %3 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %5 = arith.subf %1, %4 : tensor<4x4xf32>
  %6 = math.exp %5 : tensor<4x4xf32>
  %7 = nn.reduce <sum> %6 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %8 = dist.all_reduce <sum> %7 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %9 = math.log %8 : tensor<4xf32>
  %10 = arith.addf %3, %9 : tensor<4xf32>
  return %10 : tensor<4xf32>
}

func.func @padded_vocabulary_counts_right_masked_twice(
    %logits: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>, dist.global_shape = array<i64: 4, 7>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @padded_vocabulary_counts} {
  %0 = dist.axis_offset <{"tp"}> size 4 on @mesh : index
  %1 = nn.mask_padding %logits dim 1 size 7 value 0xFF800000 : f32 offset %0 : tensor<4x4xf32>
  %2 = nn.reduce <max> %1 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %3 = dist.all_reduce <max> %2 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %4 = nn.broadcast %3 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %5 = arith.subf %1, %4 : tensor<4x4xf32>
  %6 = math.exp %5 : tensor<4x4xf32>
  %7 = nn.mask_padding %6 dim 1 size 7 value 0.0 : f32 offset %0 : tensor<4x4xf32>
  %8 = nn.reduce <sum> %7 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %9 = dist.all_reduce <sum> %8 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %10 = math.log %9 : tensor<4xf32>
  %11 = arith.addf %3, %10 : tensor<4xf32>
  return %11 : tensor<4xf32>
}

func.func @padded_vocabulary_counts_wrong(
    %logits: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>, dist.global_shape = array<i64: 4, 7>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @padded_vocabulary_counts} {
  %0 = nn.reduce <max> %logits dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = dist.all_reduce <max> %0 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %2 = nn.broadcast %1 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %3 = arith.subf %logits, %2 : tensor<4x4xf32>
  %4 = math.exp %3 : tensor<4x4xf32>
  %5 = nn.reduce <sum> %4 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %6 = dist.all_reduce <sum> %5 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %7 = math.log %6 : tensor<4xf32>
  %8 = arith.addf %1, %7 : tensor<4xf32>
  return %8 : tensor<4xf32>
}
