// Source: THUDM/slime PR #2235; radixark/miles PR #3229
// Mistake: Advantages are normalized by the mean and the variance of the rank's part of the
// sequences in place of all: parts of one sequence go through different maps (0.28 relative).
// Parallelism: cp, dp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=2]

func.func @advantages_normalized_by_rank(%adv: tensor<16xf32>) -> tensor<16xf32> {
  %0 = nn.reduce <sum> %adv dims [0] : tensor<16xf32> -> tensor<f32>
  %1 = arith.constant dense<0.0625> : tensor<f32>
  %2 = arith.mulf %0, %1 : tensor<f32>
  %3 = nn.broadcast %2 dims [] : tensor<f32> -> tensor<16xf32>
  %4 = arith.subf %adv, %3 : tensor<16xf32>
  %5 = arith.mulf %4, %4 : tensor<16xf32>
  %6 = nn.reduce <sum> %5 dims [0] : tensor<16xf32> -> tensor<f32>
  %7 = arith.constant dense<0.0625> : tensor<f32>
  %8 = arith.mulf %6, %7 : tensor<f32>
  %9 = arith.constant dense<1.0e-08> : tensor<f32>
  %10 = arith.addf %8, %9 : tensor<f32>
  %11 = math.rsqrt %10 : tensor<f32>
  %12 = nn.broadcast %11 dims [] : tensor<f32> -> tensor<16xf32>
  %13 = arith.mulf %4, %12 : tensor<16xf32>
  return %13 : tensor<16xf32>
}

func.func @advantages_normalized_by_rank_right(
    %adv: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    attributes {dist.local, dist.reference = @advantages_normalized_by_rank} {
  %0 = nn.reduce <sum> %adv dims [0] : tensor<8xf32> -> tensor<f32>
  %1 = dist.all_reduce <sum> %0 over <{"cp"}> on @mesh : tensor<f32> -> tensor<f32>
  %2 = arith.constant dense<0.0625> : tensor<f32>
  %3 = arith.mulf %1, %2 : tensor<f32>
  %4 = nn.broadcast %3 dims [] : tensor<f32> -> tensor<8xf32>
  %5 = arith.subf %adv, %4 : tensor<8xf32>
  %6 = arith.mulf %5, %5 : tensor<8xf32>
  %7 = nn.reduce <sum> %6 dims [0] : tensor<8xf32> -> tensor<f32>
  %8 = dist.all_reduce <sum> %7 over <{"cp"}> on @mesh : tensor<f32> -> tensor<f32>
  %9 = arith.constant dense<0.0625> : tensor<f32>
  %10 = arith.mulf %8, %9 : tensor<f32>
  %11 = arith.constant dense<1.0e-08> : tensor<f32>
  %12 = arith.addf %10, %11 : tensor<f32>
  %13 = math.rsqrt %12 : tensor<f32>
  %14 = nn.broadcast %13 dims [] : tensor<f32> -> tensor<8xf32>
  %15 = arith.mulf %5, %14 : tensor<8xf32>
  return %15 : tensor<8xf32>
}

// Unproven: the variance is the mean of squares less the square of the mean, which rounds
// otherwise.
func.func @advantages_normalized_by_rank_right_moments(
    %adv: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    attributes {dist.local, dist.reference = @advantages_normalized_by_rank} {
  %0 = nn.reduce <sum> %adv dims [0] : tensor<8xf32> -> tensor<f32>
  %1 = dist.all_reduce <sum> %0 over <{"cp"}> on @mesh : tensor<f32> -> tensor<f32>
  %2 = arith.constant dense<0.0625> : tensor<f32>
  %3 = arith.mulf %1, %2 : tensor<f32>
  %4 = arith.mulf %adv, %adv : tensor<8xf32>
  %5 = nn.reduce <sum> %4 dims [0] : tensor<8xf32> -> tensor<f32>
  %6 = dist.all_reduce <sum> %5 over <{"cp"}> on @mesh : tensor<f32> -> tensor<f32>
  %7 = arith.constant dense<0.0625> : tensor<f32>
  %8 = arith.mulf %6, %7 : tensor<f32>
  %9 = arith.mulf %3, %3 : tensor<f32>
  %10 = arith.subf %8, %9 : tensor<f32>
  %11 = arith.constant dense<1.0e-08> : tensor<f32>
  %12 = arith.addf %10, %11 : tensor<f32>
  %13 = math.rsqrt %12 : tensor<f32>
  %14 = nn.broadcast %3 dims [] : tensor<f32> -> tensor<8xf32>
  %15 = arith.subf %adv, %14 : tensor<8xf32>
  %16 = nn.broadcast %13 dims [] : tensor<f32> -> tensor<8xf32>
  %17 = arith.mulf %15, %16 : tensor<8xf32>
  return %17 : tensor<8xf32>
}

func.func @advantages_normalized_by_rank_wrong(
    %adv: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    attributes {dist.local, dist.reference = @advantages_normalized_by_rank} {
  %0 = nn.reduce <sum> %adv dims [0] : tensor<8xf32> -> tensor<f32>
  %1 = arith.constant dense<0.125> : tensor<f32>
  %2 = arith.mulf %0, %1 : tensor<f32>
  %3 = nn.broadcast %2 dims [] : tensor<f32> -> tensor<8xf32>
  %4 = arith.subf %adv, %3 : tensor<8xf32>
  %5 = arith.mulf %4, %4 : tensor<8xf32>
  %6 = nn.reduce <sum> %5 dims [0] : tensor<8xf32> -> tensor<f32>
  %7 = arith.constant dense<0.125> : tensor<f32>
  %8 = arith.mulf %6, %7 : tensor<f32>
  %9 = arith.constant dense<1.0e-08> : tensor<f32>
  %10 = arith.addf %8, %9 : tensor<f32>
  %11 = math.rsqrt %10 : tensor<f32>
  %12 = nn.broadcast %11 dims [] : tensor<f32> -> tensor<8xf32>
  %13 = arith.mulf %4, %12 : tensor<8xf32>
  return %13 : tensor<8xf32>
}
