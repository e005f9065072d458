// A program that communicates more than its budget is refused, with the cause.
// RUN: tessera-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(tessera-propagate,tessera-partition)' -o /dev/null

dist.mesh @mesh ["x"=4]
// The matmul needs 96 bytes in one collective.
func.func @within(%x: tensor<4x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<64x4xf32>)
    -> tensor<4x4xf32> attributes {dist.budget = {max_bytes = 96, max_collectives = 1, no_full_gather}} {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<4x64xf32>, tensor<64x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

dist.mesh @mesh ["x"=4]
// expected-error @+1 {{budget: expects at most 95 bytes received by a device in @bytes but got 96}}
func.func @bytes(%x: tensor<4x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<64x4xf32>)
    -> tensor<4x4xf32> attributes {dist.budget = {max_bytes = 95}} {
  // expected-note @+1 {{most bytes: all_reduce over {"x"} of tensor<4x4xf32> (96 bytes)}}
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<4x64xf32>, tensor<64x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

dist.mesh @mesh ["x"=4]
// expected-error @+1 {{budget: expects at most 0 collectives in @count but got 1}}
func.func @count(%x: tensor<4x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<64x4xf32>)
    -> tensor<4x4xf32> attributes {dist.budget = {max_collectives = 0}} {
  // expected-note @+1 {{most bytes: all_reduce over {"x"}}}
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<4x64xf32>, tensor<64x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

dist.mesh @mesh ["x"=4, "y"=2]
func.func @whole(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.budget = {no_full_gather}} {
  // expected-error @+1 {{budget: expects no device to gather a whole tensor but got all_gather over}}
  %0 = math.exp %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

dist.mesh @mesh ["x"=4, "y"=2]
// A gather of half of it is not a full gather.
func.func @half(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) attributes {dist.budget = {no_full_gather}} {
  %0 = math.exp %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

dist.mesh @mesh ["x"=4]
// Two gradients are one collective, which is named with its members.
// expected-error @+1 {{budget: expects at most 0 collectives in @bucket but got 1}}
func.func @bucket(%x: tensor<4x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<64x4xf32>, %v: tensor<64x8xf32>)
    -> (tensor<4x4xf32>, tensor<4x8xf32>) attributes {dist.budget = {max_collectives = 0}} {
  // expected-note @+1 {{most bytes: all_reduce over {"x"} of tensor<4x4xf32> and 1 more (288 bytes)}}
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<4x64xf32>, tensor<64x4xf32> -> tensor<4x4xf32>
  %1 = nn.einsum "ik,kj->ij" %x, %v : tensor<4x64xf32>, tensor<64x8xf32> -> tensor<4x8xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x8xf32>
}
