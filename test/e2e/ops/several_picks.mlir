// Several elements of each row, and the gradient, compiled: on the host, on an
// emulated GPU, and on two ranks with the rows' dimension sharded. They equal
// the interpreter's exactly.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --integers --dump %t/data
// RUN: tessera compile %s --quiet -o %t/host
// RUN: %t/host --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/gpu
// RUN: env TESSERA_EMULATOR_SEED=1 %t/gpu --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: sed 's/"x"=1/"x"=2/; s/%%x: tensor<6x31xf32>/%%x: tensor<6x31xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}/' %s > %t/two.mlir
// RUN: tessera compile %t/two.mlir --quiet -o %t/two
// RUN: tessera run %t/two --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s

// CHECK-COUNT-2: {{[a-z0-9_]+}}: largest difference 0,
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=1]
func.func @picks(%x: tensor<6x31xf32>, %d: tensor<6x4xf32>,
                 %i: tensor<6x4xi32> {nn.input = "ids", nn.vocab = 31 : i64})
    -> (tensor<6x4xf32> {nn.output = "picked"}, tensor<6x31xf32> {nn.output = "gradient"}) {
  %0 = nn.take_along_axis %x, %i : tensor<6x31xf32>, tensor<6x4xi32> -> tensor<6x4xf32>
  %1 = nn.take_along_axis_backward %d, %i : tensor<6x4xf32>, tensor<6x4xi32> -> tensor<6x31xf32>
  return %0, %1 : tensor<6x4xf32>, tensor<6x31xf32>
}
