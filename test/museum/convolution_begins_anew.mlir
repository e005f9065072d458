// Source: PrimeIntellect-ai/prime-rl PR #3003
// Mistake: A short causal convolution pads each rank's part of the sequence with zeros in place of
// the end of the part before (0.46 off).
// Parallelism: cp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=2]

func.func @convolution_begins_anew(
    %x: tensor<1x2x1x8xf32>,
    %w: tensor<2x1x1x2xf32>)
    -> tensor<1x2x1x8xf32> {
  %0 = nn.convolution %x, %w strides [1] low [1] high [0] dilation [1] x_dilation [1] : tensor<1x2x1x8xf32>, tensor<2x1x1x2xf32> -> tensor<1x2x1x8xf32>
  return %0 : tensor<1x2x1x8xf32>
}

func.func @convolution_begins_anew_right(
    %x: tensor<1x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"cp"}]>},
    %w: tensor<2x1x1x2xf32>)
    -> (tensor<1x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"cp"}]>})
    attributes {dist.local, dist.reference = @convolution_begins_anew} {
  %0 = dist.all_gather %x dim 3 over <{"cp"}> on @mesh : tensor<1x2x1x4xf32> -> tensor<1x2x1x8xf32>
  %1 = nn.convolution %0, %w strides [1] low [1] high [0] dilation [1] x_dilation [1] : tensor<1x2x1x8xf32>, tensor<2x1x1x2xf32> -> tensor<1x2x1x8xf32>
  %2 = dist.all_slice %1 dim 3 over <{"cp"}> on @mesh : tensor<1x2x1x8xf32> -> tensor<1x2x1x4xf32>
  return %2 : tensor<1x2x1x4xf32>
}

// Unproven: no rule of the proof says which elements a shard with its neighbour's last one holds.
func.func @convolution_begins_anew_right_halo(
    %x: tensor<1x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"cp"}]>},
    %w: tensor<2x1x1x2xf32>)
    -> (tensor<1x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"cp"}]>})
    attributes {dist.local, dist.reference = @convolution_begins_anew} {
  %0 = tensor.extract_slice %x[0, 0, 0, 3] [1, 2, 1, 1] [1, 1, 1, 1] : tensor<1x2x1x4xf32> to tensor<1x2x1x1xf32>
  %1 = dist.collective_permute %0 targets [1, 0] over <{"cp"}> on @mesh : tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
  // Rank 0 has zeros before its first position.
  %2 = dist.axis_offset <{"cp"}> size 1 on @mesh : index
  %3 = arith.constant 1 : index
  %4 = arith.subi %3, %2 : index
  %5 = nn.mask_padding %1 dim 3 size 1 value 0.0 : f32 offset %4 : tensor<1x2x1x1xf32>
  %6 = tensor.concat dim(3) %5, %x : (tensor<1x2x1x1xf32>, tensor<1x2x1x4xf32>) -> tensor<1x2x1x5xf32>
  %7 = nn.convolution %6, %w strides [1] low [0] high [0] dilation [1] x_dilation [1] : tensor<1x2x1x5xf32>, tensor<2x1x1x2xf32> -> tensor<1x2x1x4xf32>
  return %7 : tensor<1x2x1x4xf32>
}

func.func @convolution_begins_anew_wrong(
    %x: tensor<1x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"cp"}]>},
    %w: tensor<2x1x1x2xf32>)
    -> (tensor<1x2x1x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"cp"}]>})
    attributes {dist.local, dist.reference = @convolution_begins_anew} {
  %0 = nn.convolution %x, %w strides [1] low [1] high [0] dilation [1] x_dilation [1] : tensor<1x2x1x4xf32>, tensor<2x1x1x2xf32> -> tensor<1x2x1x4xf32>
  return %0 : tensor<1x2x1x4xf32>
}
