// Source: pytorch/pytorch #190626
// Mistake: Partial sums in f32 are rounded to bf16 for the all-reduce, where sums in f32 were
// asked for.
// Parallelism: tp
// Found by: a comparison with tp=1 in f32

dist.mesh @mesh ["tp"=2]

func.func @reduction_in_bf16(%x: tensor<4x8xbf16>, %w: tensor<8x4xbf16>) -> tensor<4x4xf32> {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x8xbf16>, tensor<8x4xbf16> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

func.func @reduction_in_bf16_right(
    %x: tensor<4x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @reduction_in_bf16} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

func.func @reduction_in_bf16_wrong(
    %x: tensor<4x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
    %w: tensor<4x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>})
    -> tensor<4x4xf32>
    attributes {dist.local, dist.reference = @reduction_in_bf16} {
  %0 = nn.einsum "bk,kn->bn" %x, %w : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xf32>
  %1 = arith.truncf %0 : tensor<4x4xf32> to tensor<4x4xbf16>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<4x4xbf16> -> tensor<4x4xbf16>
  %3 = arith.extf %2 : tensor<4x4xbf16> to tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
