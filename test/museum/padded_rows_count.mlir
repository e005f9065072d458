// Source: a form, not a thread
// Mistake: The last batch is padded so that every rank has as many rows, and the loss of rows that
// do not exist counts.
// Parallelism: dp
// Found by: a comparison with dp=1

dist.mesh @mesh ["dp"=2]

func.func @padded_rows_count(%x: tensor<7x4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<7x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<7x4xf32> -> tensor<4xf32>
  %2 = arith.constant dense<0.1428571429> : tensor<4xf32>
  %3 = arith.mulf %1, %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

func.func @padded_rows_count_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>, dist.global_shape = array<i64: 7, 4>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @padded_rows_count} {
  %0 = math.exp %x : tensor<4x4xf32>
  %1 = dist.axis_offset <{"dp"}> size 4 on @mesh : index
  %2 = nn.mask_padding %0 dim 0 size 7 value 0.0 : f32 offset %1 : tensor<4x4xf32>
  %3 = nn.reduce <sum> %2 dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %4 = dist.all_reduce <sum> %3 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %5 = arith.constant dense<0.1428571429> : tensor<4xf32>
  %6 = arith.mulf %4, %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

func.func @padded_rows_count_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>, dist.global_shape = array<i64: 7, 4>})
    -> tensor<4xf32>
    attributes {dist.local, dist.reference = @padded_rows_count} {
  %0 = math.exp %x : tensor<4x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <sum> %1 over <{"dp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = arith.constant dense<0.1428571429> : tensor<4xf32>
  %4 = arith.mulf %2, %3 : tensor<4xf32>
  return %4 : tensor<4xf32>
}
