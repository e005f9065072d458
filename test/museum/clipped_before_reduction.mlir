// Source: a form, not a thread
// Mistake: Each replica clips its own gradient by its own norm before the all-reduce.
// Parallelism: dp
// Found by: comparing an update with dp=1

dist.mesh @mesh ["dp"=2]

func.func @clipped_before_reduction(%x: tensor<8x4xf32>, %g: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %1 = arith.mulf %0, %0 : tensor<4x2xf32>
  %2 = nn.reduce <sum> %1 dims [0, 1] : tensor<4x2xf32> -> tensor<f32>
  %3 = math.sqrt %2 : tensor<f32>
  %4 = arith.constant dense<1.0> : tensor<f32>
  %5 = arith.maximumf %3, %4 : tensor<f32>
  %6 = nn.broadcast %5 dims [] : tensor<f32> -> tensor<4x2xf32>
  %7 = arith.divf %0, %6 : tensor<4x2xf32>
  return %7 : tensor<4x2xf32>
}

func.func @clipped_before_reduction_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @clipped_before_reduction} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  %2 = arith.mulf %1, %1 : tensor<4x2xf32>
  %3 = nn.reduce <sum> %2 dims [0, 1] : tensor<4x2xf32> -> tensor<f32>
  %4 = math.sqrt %3 : tensor<f32>
  %5 = arith.constant dense<1.0> : tensor<f32>
  %6 = arith.maximumf %4, %5 : tensor<f32>
  %7 = nn.broadcast %6 dims [] : tensor<f32> -> tensor<4x2xf32>
  %8 = arith.divf %1, %7 : tensor<4x2xf32>
  return %8 : tensor<4x2xf32>
}

func.func @clipped_before_reduction_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %g: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>})
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @clipped_before_reduction} {
  %0 = nn.einsum "tk,tn->kn" %x, %g : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = arith.mulf %0, %0 : tensor<4x2xf32>
  %2 = nn.reduce <sum> %1 dims [0, 1] : tensor<4x2xf32> -> tensor<f32>
  %3 = math.sqrt %2 : tensor<f32>
  %4 = arith.constant dense<1.0> : tensor<f32>
  %5 = arith.maximumf %3, %4 : tensor<f32>
  %6 = nn.broadcast %5 dims [] : tensor<f32> -> tensor<4x2xf32>
  %7 = arith.divf %0, %6 : tensor<4x2xf32>
  %8 = dist.all_reduce <sum> %7 over <{"dp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %8 : tensor<4x2xf32>
}
