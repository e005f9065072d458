// In the local form a gathered tensor is whole if it is equal on all devices.
// RUN: tessera-opt %s --split-input-file --verify-diagnostics --dist-check-budget=no-full-gather -o /dev/null

dist.mesh @mesh ["x"=4, "y"=2]
#x = #dist.sharding<@mesh, [{"x"}, {}]>
#xy = #dist.sharding<@mesh, [{"x"}, {"y"}]>
#none = #dist.sharding<@mesh, [{}, {}]>

// One axis is left, from the argument or from an operand of its computation.
func.func @part(%a: tensor<2x4xf32> {dist.sharding = #xy}, %w: tensor<8x2xf32> {dist.sharding = #x})
    -> (tensor<8x4xf32>, tensor<32x4xf32>) attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = nn.einsum "ik,kj->ij" %w, %a : tensor<8x2xf32>, tensor<2x4xf32> -> tensor<8x4xf32>
  %2 = dist.all_gather %1 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<32x4xf32>
  return %0, %2 : tensor<8x4xf32>, tensor<32x4xf32>
}

// A value that is equal on all devices is whole before its gather, too.
func.func @same(%a: tensor<2x4xf32> {dist.sharding = #none})
    -> tensor<8x4xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// An argument without a sharding is unknown.
func.func @unknown(%a: tensor<2x4xf32>) -> tensor<8x4xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

dist.mesh @mesh ["x"=4, "y"=2]
func.func @one_axis(%a: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<8x4xf32> attributes {dist.local} {
  %0 = math.exp %a : tensor<2x4xf32>
  // expected-error @+1 {{budget: expects no device to gather a whole tensor but got all_gather over {"x"} to 'tensor<8x4xf32>' on each device of @one_axis}}
  %1 = dist.all_gather %0 dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// The second step of two, after a reduce-scatter and a reduction over the rest.
dist.mesh @mesh ["x"=4, "y"=2]
func.func @steps(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> tensor<8x4xf32> attributes {dist.local} {
  %0 = dist.all_reduce <max> %a over <{"y"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.reduce_scatter <sum> %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  %2 = dist.all_gather %1 dim 0 over <{"x":(2)2}> on @mesh : tensor<2x4xf32> -> tensor<4x4xf32>
  // expected-error @+1 {{all_gather over {"x":(1)2} to 'tensor<8x4xf32>' on each device of @steps}}
  %3 = dist.all_gather %2 dim 0 over <{"x":(1)2}> on @mesh : tensor<4x4xf32> -> tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// -----

// In a bucket and in a loop over micro-batches, with tensors from outside.
dist.mesh @mesh ["x"=4]
#x = #dist.sharding<@mesh, [{"x"}]>
func.func @bucket(%a: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %p: tensor<2xf32> {dist.sharding = #x}, %q: tensor<2xf32> {dist.sharding = #x})
    -> tensor<8xf32> attributes {dist.local} {
  %0 = dist.accumulate 4 (%a) : (tensor<4x2xf32>) -> tensor<8xf32> {
  ^bb0(%b: tensor<2xf32>):
    %1:2 = dist.bucket(%p, %q) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    ^bb0(%c: tensor<2xf32>, %d: tensor<2xf32>):
      // expected-error @+1 {{all_gather over {"x"} to 'tensor<8xf32>' on each device of @bucket}}
      %2 = dist.all_gather %c dim 0 over <{"x"}> on @mesh : tensor<2xf32> -> tensor<8xf32>
      %3 = dist.all_gather %d dim 0 over <{"x"}> on @mesh : tensor<2xf32> -> tensor<8xf32>
      dist.yield %2, %3 : tensor<8xf32>, tensor<8xf32>
    }
    dist.yield %1#0 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

// A value that depends on a device's coordinate differs along that axis.
dist.mesh @mesh ["x"=4, "y"=2]
func.func @offset(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x4xf32>, tensor<2x4xf32>) attributes {dist.local} {
  %i = dist.axis_offset <{"x"}> size 2 on @mesh : index
  %0 = tensor.extract_slice %a[%i, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
  %j = dist.axis_offset <{"y"}> size 1 on @mesh : index
  %1 = tensor.extract_slice %a[%j, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
  %2 = arith.addf %0, %1 : tensor<2x4xf32>
  %3 = dist.all_gather %2 dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  // expected-error @+1 {{all_gather over {"x"} to 'tensor<8x4xf32>' on each device of @offset}}
  %4 = dist.all_gather %0 dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %4, %2 : tensor<8x4xf32>, tensor<2x4xf32>
}
