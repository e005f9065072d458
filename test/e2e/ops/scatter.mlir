// Rows that are added to and replaced at ids, compiled: on the host, on an emulated GPU, and on
// two and three ranks with the rows sharded, which three ranks pad. They equal the interpreter's
// exactly. Many ids are equal; those from 11 on are no rows, and neither are negative ones.

// RUN: rm -rf %t && mkdir %t
// RUN: sed 's/"x"=2/"x"=3/' %s > %t/three.mlir
// RUN: sed 's/"x"=2/"x"=1/' %s > %t/one.mlir
// RUN: tessera verify %s --integers --dump %t/data
// RUN: tessera compile %t/one.mlir --quiet -o %t/one
// RUN: tessera compile %s --quiet -o %t/two
// RUN: tessera compile %t/three.mlir --quiet -o %t/three
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/one --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera run %t/two --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera run %t/three --ranks 3 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: env TESSERA_EMULATOR_SEED=1 tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-7: {{[a-z0-9_]+}}: largest difference 0,
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=2]
func.func @scatter(
    %x: tensor<11x6xf32> {nn.input = "x", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %h: tensor<11x6xbf16> {nn.input = "h", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %f: tensor<11x6xf16> {nn.input = "f"}, %u: tensor<4x5x6xf32> {nn.input = "u"},
    %v: tensor<4x5x6xbf16> {nn.input = "v"}, %w: tensor<4x5x6xf16> {nn.input = "w"},
    %i: tensor<4x5xi32> {nn.input = "i"},
    %k: tensor<4x5xi32> {nn.input = "k", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (
    tensor<11x6xf32> {nn.output = "add"}, tensor<11x6xf32> {nn.output = "set"},
    tensor<11x6xbf16> {nn.output = "set_bf16"}, tensor<11x6xf16> {nn.output = "set_f16"},
    tensor<11x6xf32> {nn.output = "add_ids"}, tensor<11x6xf32> {nn.output = "set_ids"},
    tensor<11x6xf32> {nn.output = "twice"}) {
  %three = arith.constant dense<3> : tensor<4x5xi32>
  %seven = arith.constant dense<7> : tensor<4x5xi32>
  %above = arith.addi %i, %three : tensor<4x5xi32>
  %below = arith.subi %k, %seven : tensor<4x5xi32>
  %narrow = arith.trunci %above : tensor<4x5xi32> to tensor<4x5xi8>
  %add = nn.scatter <add> %x, %above, %u : tensor<11x6xf32>, tensor<4x5xi32>, tensor<4x5x6xf32>
  %set = nn.scatter <set> %x, %narrow, %u : tensor<11x6xf32>, tensor<4x5xi8>, tensor<4x5x6xf32>
  %set_bf16 = nn.scatter <set> %h, %i, %v : tensor<11x6xbf16>, tensor<4x5xi32>, tensor<4x5x6xbf16>
  %set_f16 = nn.scatter <set> %f, %above, %w : tensor<11x6xf16>, tensor<4x5xi32>, tensor<4x5x6xf16>
  %add_ids = nn.scatter <add> %x, %below, %u : tensor<11x6xf32>, tensor<4x5xi32>, tensor<4x5x6xf32>
  %set_ids = nn.scatter <set> %x, %below, %u : tensor<11x6xf32>, tensor<4x5xi32>, tensor<4x5x6xf32>
  // Rows of a value that replace others of it: it is not overwritten while it is read.
  %y = arith.addf %add, %set : tensor<11x6xf32>
  %count = nn.iota : tensor<11xi32>
  %ten = arith.constant dense<10> : tensor<11xi32>
  %back = arith.subi %ten, %count : tensor<11xi32>
  %twice = nn.scatter <set> %y, %back, %y : tensor<11x6xf32>, tensor<11xi32>, tensor<11x6xf32>
  return %add, %set, %set_bf16, %set_f16, %add_ids, %set_ids, %twice
      : tensor<11x6xf32>, tensor<11x6xf32>, tensor<11x6xbf16>, tensor<11x6xf16>,
        tensor<11x6xf32>, tensor<11x6xf32>, tensor<11x6xf32>
}
