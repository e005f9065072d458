// What the partitioner refuses, with the value, the dimension and the sizes.
// RUN: tessera-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(tessera-propagate,tessera-partition)'

// Padding of a minor factor would lie between true elements.
dist.mesh @mesh ["x"=8]
func.func @minor_factor(%x: tensor<4x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"} ]>}) -> tensor<48xf32> {
  // expected-error @+1 {{expects dimension 0 of 'tensor<48xf32>' to divide under the shardings around it but got a factor of size 12, which would be padded to 16; it is a minor part of a dimension, where padding would lie between true elements}}
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x12xf32> into tensor<48xf32>
  return %0 : tensor<48xf32>
}

// -----

// A slice of a dimension that is padded is no slice of the padded one.
dist.mesh @mesh ["x"=8]
func.func @cut_dimension(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<16x4xf32> {
  // expected-error @+1 {{expects dimension 0 of 'tensor<17x4xf32>' to divide under the shardings around it but got a factor of size 17, which would be padded to 24; the op needs its true size}}
  %0 = tensor.extract_slice %x[1, 0] [16, 4] [1, 1] : tensor<17x4xf32> to tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
