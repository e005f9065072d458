// A mask of minus infinity before a softmax whose dimension is sharded: shards
// where a row is fully masked, partly masked rows, and sizes that do not
// divide. Gradients equal the whole tensor's.
// RUN: tessera verify %s --seeds 2 | FileCheck %s
// RUN: tessera-opt %s --dist-build-backward -o %t.mlir
// RUN: tessera verify %t.mlir --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @hidden_shard
// CHECK-NOT: {{ no$}}
// CHECK: all_reduce
func.func @hidden_shard(
    %x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %mask = arith.constant dense<[0xFF800000, 0xFF800000, 0.0, 0xFF800000, 0.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  %m = nn.broadcast %mask dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %s = arith.addf %x, %m : tensor<4x8xf32>
  %0 = nn.softmax %s dim 1 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The mask is an input; 77 replaces the NaN of a row that sees nothing.
// CHECK-LABEL: @hidden_rows
// CHECK-NOT: {{ no$}}
// CHECK: all_reduce
func.func @hidden_rows(
    %x: tensor<24x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %given: tensor<24x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<24x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %low = arith.constant dense<0xFF800000> : tensor<24x3xf32>
  %zero = arith.constant dense<0.0> : tensor<24x3xf32>
  %instead = arith.constant dense<77.0> : tensor<24x3xf32>
  %isShown = arith.cmpf ogt, %given, %zero : tensor<24x3xf32>
  %mask = arith.select %isShown, %zero, %low : tensor<24x3xi1>, tensor<24x3xf32>
  %s = arith.addf %x, %mask : tensor<24x3xf32>
  %w = nn.softmax %s dim 1 : tensor<24x3xf32>
  %isNaN = arith.cmpf uno, %w, %w : tensor<24x3xf32>
  %0 = arith.select %isNaN, %instead, %w : tensor<24x3xi1>, tensor<24x3xf32>
  return %0 : tensor<24x3xf32>
}
