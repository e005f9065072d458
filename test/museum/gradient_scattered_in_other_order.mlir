// Source: a form, not a thread
// Mistake: Weights are sharded over two axes in one order and their gradients are scattered in the
// other, so two ranks update their shards by each other's gradients.
// Parallelism: dp
// Found by: comparing an update with dp=1

dist.mesh @mesh ["dp"=2, "fsdp"=2]

func.func @gradient_scattered_in_other_order(
    %x: tensor<8x8xf32>,
    %g: tensor<8x8xf32>,
    %w: tensor<8xf32>)
    -> tensor<8xf32> {
  %0 = arith.mulf %x, %g : tensor<8x8xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<8x8xf32> -> tensor<8xf32>
  %2 = arith.constant dense<0.1> : tensor<8xf32>
  %3 = arith.mulf %1, %2 : tensor<8xf32>
  %4 = arith.subf %w, %3 : tensor<8xf32>
  return %4 : tensor<8xf32>
}

func.func @gradient_scattered_in_other_order_right(
    %x: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %g: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %w: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "fsdp"}]>})
    -> (tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "fsdp"}]>})
    attributes {dist.local, dist.reference = @gradient_scattered_in_other_order} {
  %0 = arith.mulf %x, %g : tensor<2x8xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<2x8xf32> -> tensor<8xf32>
  %2 = dist.reduce_scatter <sum> %1 dim 0 over <{"dp", "fsdp"}> on @mesh : tensor<8xf32> -> tensor<2xf32>
  %3 = arith.constant dense<0.1> : tensor<2xf32>
  %4 = arith.mulf %2, %3 : tensor<2xf32>
  %5 = arith.subf %w, %4 : tensor<2xf32>
  return %5 : tensor<2xf32>
}

func.func @gradient_scattered_in_other_order_wrong(
    %x: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %g: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "fsdp"}, {}]>},
    %w: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "fsdp"}]>})
    -> (tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp", "fsdp"}]>})
    attributes {dist.local, dist.reference = @gradient_scattered_in_other_order} {
  %0 = arith.mulf %x, %g : tensor<2x8xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<2x8xf32> -> tensor<8xf32>
  %2 = dist.reduce_scatter <sum> %1 dim 0 over <{"fsdp", "dp"}> on @mesh : tensor<8xf32> -> tensor<2xf32>
  %3 = arith.constant dense<0.1> : tensor<2xf32>
  %4 = arith.mulf %2, %3 : tensor<2xf32>
  %5 = arith.subf %w, %4 : tensor<2xf32>
  return %5 : tensor<2xf32>
}
