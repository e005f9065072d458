// Partial arguments and results of an executable are whole in its files, and a
// sum of booleans is modulo 2 over ranks as well as within one.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/prog
// RUN: tessera run %t/prog --ranks 4 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=4 --inputs %t/data --compare %t/data/expected | FileCheck %s

// CHECK-COUNT-5: {{[a-z0-9_]+}}: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]),)}}
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=2, "y"=2]
func.func @f(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>},
             %b: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
             %c: tensor<4xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}], unreduced={"x"} max>},
             %i: tensor<4x6xi1> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (
    tensor<4xf32> {nn.output = "of_a_partial_argument", dist.sharding = #dist.sharding<@mesh, [{}]>},
    tensor<4xf32> {nn.output = "partial_sums", dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>},
    tensor<4xf32> {nn.output = "partial_argument_and_result", dist.sharding = #dist.sharding<@mesh, [{}], unreduced={"x"}>},
    tensor<4xi32> {nn.output = "partial_maxima", dist.sharding = #dist.sharding<@mesh, [{"y"}], unreduced={"x"} max>},
    tensor<6xi1> {nn.output = "sum_of_booleans"}) {
  %0 = arith.negf %a : tensor<4xf32>
  %1 = nn.reduce <sum> %b dims [1] : tensor<4x2xf32> -> tensor<4xf32>
  %2 = nn.reduce <sum> %i dims [0] : tensor<4x6xi1> -> tensor<6xi1>
  return %0, %1, %a, %c, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<6xi1>
}
