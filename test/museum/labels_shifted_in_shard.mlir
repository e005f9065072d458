// Source: huggingface/transformers PR #36607; NVIDIA-BioNeMo/bionemo-recipes PR #1449
// Mistake: Each rank shifts the labels within its part of the sequence, so the last token of each
// part has no label.
// Parallelism: cp, sp
// Found by: a comparison with cp=1

dist.mesh @mesh ["cp"=4]

func.func @labels_shifted_in_shard(
    %logits: tensor<16x8xf32>,
    %labels: tensor<16xi32>)
    -> tensor<16xf32> {
  %0 = tensor.extract_slice %labels[1] [15] [1] : tensor<16xi32> to tensor<15xi32>
  %1 = arith.constant dense<-100> : tensor<1xi32>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<15xi32>, tensor<1xi32>) -> tensor<16xi32>
  %3 = nn.cross_entropy %logits, %2 ignore -100 : tensor<16x8xf32>, tensor<16xi32> -> tensor<16xf32>
  return %3 : tensor<16xf32>
}

func.func @labels_shifted_in_shard_right(
    %logits: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %labels: tensor<4xi32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    attributes {dist.local, dist.reference = @labels_shifted_in_shard} {
  %0 = dist.all_gather %labels dim 0 over <{"cp"}> on @mesh : tensor<4xi32> -> tensor<16xi32>
  %1 = tensor.extract_slice %0[1] [15] [1] : tensor<16xi32> to tensor<15xi32>
  %2 = arith.constant dense<-100> : tensor<1xi32>
  %3 = tensor.concat dim(0) %1, %2 : (tensor<15xi32>, tensor<1xi32>) -> tensor<16xi32>
  %4 = dist.all_slice %3 dim 0 over <{"cp"}> on @mesh : tensor<16xi32> -> tensor<4xi32>
  %5 = nn.cross_entropy %logits, %4 ignore -100 : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// Unproven: no rule of the proof says which elements a shard with its neighbour's first one holds.
func.func @labels_shifted_in_shard_right_halo(
    %logits: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %labels: tensor<4xi32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    attributes {dist.local, dist.reference = @labels_shifted_in_shard} {
  %0 = tensor.extract_slice %labels[0] [1] [1] : tensor<4xi32> to tensor<1xi32>
  %1 = dist.collective_permute %0 targets [3, 0, 1, 2] over <{"cp"}> on @mesh : tensor<1xi32> -> tensor<1xi32>
  %2 = dist.axis_offset <{"cp"}> size 1 on @mesh : index
  %3 = nn.mask_padding %1 dim 0 size 3 value -100 : i32 offset %2 : tensor<1xi32>
  %4 = tensor.extract_slice %labels[1] [3] [1] : tensor<4xi32> to tensor<3xi32>
  %5 = tensor.concat dim(0) %4, %3 : (tensor<3xi32>, tensor<1xi32>) -> tensor<4xi32>
  %6 = nn.cross_entropy %logits, %5 ignore -100 : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf32>
  return %6 : tensor<4xf32>
}

func.func @labels_shifted_in_shard_wrong(
    %logits: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}, {}]>},
    %labels: tensor<4xi32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"cp"}]>})
    attributes {dist.local, dist.reference = @labels_shifted_in_shard} {
  %0 = tensor.extract_slice %labels[1] [3] [1] : tensor<4xi32> to tensor<3xi32>
  %1 = arith.constant dense<-100> : tensor<1xi32>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<3xi32>, tensor<1xi32>) -> tensor<4xi32>
  %3 = nn.cross_entropy %logits, %2 ignore -100 : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
