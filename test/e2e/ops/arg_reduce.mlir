// Positions of the largest and the smallest, compiled: along the last, a middle
// and the first dimension, long rows, ties, and one written by hand; on the
// host, on an emulated GPU, and on two ranks with the dimension sharded. They
// equal the interpreter's exactly.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --integers --dump %t/data
// RUN: tessera compile %s --quiet -o %t/host
// RUN: %t/host --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/gpu
// RUN: env TESSERA_EMULATOR_SEED=1 %t/gpu --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: sed 's/"x"=1/"x"=2/; s/%%x: tensor<6x10x31xf32>/%%x: tensor<6x10x31xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x"}]>}/; s/%%long: tensor<3x9001xf32>/%%long: tensor<3x9001xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}/' %s > %t/two.mlir
// RUN: tessera compile %t/two.mlir --quiet -o %t/two
// RUN: tessera run %t/two --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s

// CHECK-COUNT-10: {{[a-z0-9_]+}}: largest difference 0,
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=1]
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @positions(%x: tensor<6x10x31xf32>, %long: tensor<3x9001xf32>) -> (
    tensor<6x10xf32> {nn.output = "last"}, tensor<6x10xi32> {nn.output = "last_at"},
    tensor<6x31xf32> {nn.output = "middle"}, tensor<6x31xi64> {nn.output = "middle_at"},
    tensor<10x31xbf16> {nn.output = "first"}, tensor<10x31xi32> {nn.output = "first_at"},
    tensor<3xf32> {nn.output = "long"}, tensor<3xi32> {nn.output = "long_at"},
    tensor<3xf32> {nn.output = "hand"}, tensor<3xi64> {nn.output = "hand_at"}) {
  %0, %1 = nn.arg_reduce <max> %x dim 2 : tensor<6x10x31xf32> -> tensor<6x10xf32>, tensor<6x10xi32>
  %2, %3 = nn.arg_reduce <min> %x dim 1 : tensor<6x10x31xf32> -> tensor<6x31xf32>, tensor<6x31xi64>
  %n = arith.truncf %x : tensor<6x10x31xf32> to tensor<6x10x31xbf16>
  %4, %5 = nn.arg_reduce <max> %n dim 0 : tensor<6x10x31xbf16> -> tensor<10x31xbf16>, tensor<10x31xi32>
  %6, %7 = nn.arg_reduce <max> %long dim 1 : tensor<3x9001xf32> -> tensor<3xf32>, tensor<3xi32>
  %low = arith.constant dense<0x7F800000> : tensor<3xf32>
  %none = arith.constant dense<0> : tensor<3xi64>
  %8:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%long : tensor<3x9001xf32>) outs(%low, %none : tensor<3xf32>, tensor<3xi64>) {
  ^bb0(%a: f32, %best: f32, %at: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %lt = arith.cmpf olt, %a, %best : f32
    %v = arith.minimumf %a, %best : f32
    %p = arith.select %lt, %j, %at : i64
    linalg.yield %v, %p : f32, i64
  } -> (tensor<3xf32>, tensor<3xi64>)
  return %0, %1, %2, %3, %4, %5, %6, %7, %8#0, %8#1 : tensor<6x10xf32>, tensor<6x10xi32>, tensor<6x31xf32>, tensor<6x31xi64>,
      tensor<10x31xbf16>, tensor<10x31xi32>, tensor<3xf32>, tensor<3xi32>, tensor<3xf32>, tensor<3xi64>
}
