// linalg.pack and linalg.unpack, compiled: as in the interpreter.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-4: {{[a-z0-9_]+}}: largest difference 0,

dist.mesh @mesh ["x"=2]
func.func @f(%a: tensor<4x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %i: tensor<6xi16>) -> (tensor<4x2x2x2xf32> {nn.output = "packed"},
    tensor<4x7xf32> {nn.output = "unpacked"}, tensor<3x2xi16> {nn.output = "tiles"},
    tensor<1x8xi16> {nn.output = "one"}) {
  %z = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4x2x2x2xf32>
  %p = linalg.pack %a padding_value(%z : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 2]
      into %e : tensor<4x7xf32> -> tensor<4x2x2x2xf32>
  %d = tensor.empty() : tensor<4x7xf32>
  %r = linalg.unpack %p outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 2]
      into %d : tensor<4x2x2x2xf32> -> tensor<4x7xf32>
  %s = arith.addf %r, %a : tensor<4x7xf32>
  %f = tensor.empty() : tensor<3x2xi16>
  %t = linalg.pack %i inner_dims_pos = [0] inner_tiles = [2] into %f : tensor<6xi16> -> tensor<3x2xi16>
  %c = arith.constant 5 : i16
  %g = tensor.empty() : tensor<1x8xi16>
  %o = linalg.pack %i padding_value(%c : i16) inner_dims_pos = [0] inner_tiles = [8] into %g : tensor<6xi16> -> tensor<1x8xi16>
  return %p, %s, %t, %o : tensor<4x2x2x2xf32>, tensor<4x7xf32>, tensor<3x2xi16>, tensor<1x8xi16>
}
