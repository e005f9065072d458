// Source: a form, not a thread
// Mistake: Ring attention averages the results over the chunks of keys, without weights by their
// sums of exponentials.
// Parallelism: cp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=2]

func.func @attention_parts_averaged(
    %q: tensor<4x4xf32>,
    %k: tensor<8x4xf32>,
    %v: tensor<8x4xf32>)
    -> tensor<4x4xf32> {
  %0 = nn.einsum "td,sd->ts" %q, %k : tensor<4x4xf32>, tensor<8x4xf32> -> tensor<4x8xf32>
  %1 = nn.softmax %0 dim 1 : tensor<4x8xf32>
  %2 = nn.einsum "ts,sd->td" %1, %v : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

func.func @attention_parts_averaged_right(
    %q: tensor<4x4xf32>,
    %k: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %v: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @attention_parts_averaged} {
  %0 = nn.einsum "td,sd->ts" %q, %k : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.reduce <max> %0 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <max> %1 over <{"cp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.broadcast %2 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %4 = arith.subf %0, %3 : tensor<4x4xf32>
  %5 = math.exp %4 : tensor<4x4xf32>
  %6 = nn.reduce <sum> %5 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %7 = dist.all_reduce <sum> %6 over <{"cp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %8 = nn.broadcast %7 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %9 = arith.divf %5, %8 : tensor<4x4xf32>
  %10 = nn.einsum "ts,sd->td" %9, %v : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %11 = dist.all_reduce <sum> %10 over <{"cp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %11 : tensor<4x4xf32>
}

// Unproven: the division by the sum of exponentials comes after the matmul, by algebra.
func.func @attention_parts_averaged_right_divided_last(
    %q: tensor<4x4xf32>,
    %k: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %v: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @attention_parts_averaged} {
  %0 = nn.einsum "td,sd->ts" %q, %k : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.reduce <max> %0 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = dist.all_reduce <max> %1 over <{"cp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.broadcast %2 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %4 = arith.subf %0, %3 : tensor<4x4xf32>
  %5 = math.exp %4 : tensor<4x4xf32>
  %6 = nn.reduce <sum> %5 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %7 = dist.all_reduce <sum> %6 over <{"cp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %8 = nn.einsum "ts,sd->td" %5, %v : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %9 = dist.all_reduce <sum> %8 over <{"cp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  %10 = nn.broadcast %7 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %11 = arith.divf %9, %10 : tensor<4x4xf32>
  return %11 : tensor<4x4xf32>
}

// Unproven: the weights of the chunks' results are the quotients of sums of exponentials, by
// algebra.
func.func @attention_parts_averaged_right_weighted(
    %q: tensor<4x4xf32>,
    %k: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %v: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @attention_parts_averaged} {
  %0 = nn.einsum "td,sd->ts" %q, %k : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = math.exp %0 : tensor<4x4xf32>
  %2 = nn.reduce <sum> %1 dims [1] : tensor<4x4xf32> -> tensor<4xf32>
  %3 = math.log %2 : tensor<4xf32>
  %4 = math.exp %3 : tensor<4xf32>
  %5 = dist.all_reduce <sum> %4 over <{"cp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %6 = math.log %5 : tensor<4xf32>
  %7 = arith.subf %3, %6 : tensor<4xf32>
  %8 = math.exp %7 : tensor<4xf32>
  %9 = nn.softmax %0 dim 1 : tensor<4x4xf32>
  %10 = nn.einsum "ts,sd->td" %9, %v : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %11 = nn.broadcast %8 dims [0] : tensor<4xf32> -> tensor<4x4xf32>
  %12 = arith.mulf %10, %11 : tensor<4x4xf32>
  %13 = dist.all_reduce <sum> %12 over <{"cp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %13 : tensor<4x4xf32>
}

func.func @attention_parts_averaged_wrong(
    %q: tensor<4x4xf32>,
    %k: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %v: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @attention_parts_averaged} {
  %0 = nn.einsum "td,sd->ts" %q, %k : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.softmax %0 dim 1 : tensor<4x4xf32>
  %2 = nn.einsum "ts,sd->td" %1, %v : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = dist.all_reduce <sum> %2 over <{"cp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  %4 = arith.constant dense<0.5> : tensor<4x4xf32>
  %5 = arith.mulf %3, %4 : tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}
