// Source: modelscope/mcore-bridge PR #173; hao-ai-lab/FastVideo PR #1666
// Mistake: A low-rank factor that all ranks have sees a rank's part of the sequence, and its
// gradient is not summed over the parts.
// Parallelism: sp
// Found by: comparing replicas after a step

dist.mesh @mesh ["tp"=2]

func.func @adapter_gradient_not_summed(
    %x: tensor<8x4xf32>,
    %g: tensor<8x6xf32>,
    %b: tensor<2x6xf32>)
    -> tensor<4x2xf32> {
  %0 = nn.einsum "tn,rn->tr" %g, %b : tensor<8x6xf32>, tensor<2x6xf32> -> tensor<8x2xf32>
  %1 = nn.einsum "tk,tr->kr" %x, %0 : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

func.func @adapter_gradient_not_summed_right(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %g: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %b: tensor<2x6xf32>)
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @adapter_gradient_not_summed} {
  %0 = nn.einsum "tn,rn->tr" %g, %b : tensor<4x6xf32>, tensor<2x6xf32> -> tensor<4x2xf32>
  %1 = nn.einsum "tk,tr->kr" %x, %0 : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  %2 = dist.all_reduce <sum> %1 over <{"tp"}> on @mesh : tensor<4x2xf32> -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

func.func @adapter_gradient_not_summed_wrong(
    %x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %g: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"tp"}, {}]>},
    %b: tensor<2x6xf32>)
    -> tensor<4x2xf32>
    attributes {dist.local, dist.reference = @adapter_gradient_not_summed} {
  %0 = nn.einsum "tn,rn->tr" %g, %b : tensor<4x6xf32>, tensor<2x6xf32> -> tensor<4x2xf32>
  %1 = nn.einsum "tk,tr->kr" %x, %0 : tensor<4x4xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}
