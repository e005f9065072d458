// A training step whose loss depends on rows that are set and added, compiled on the host, on two
// ranks and on emulated GPUs: of equal ids the last one gets the gradient of what it sets.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --optimizer sgd --clip 0 --dump %t/data | FileCheck %s --check-prefix=PROVEN
// RUN: tessera compile %s --optimizer sgd --clip 0 --quiet -o %t/two
// RUN: tessera run %t/two --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: tessera compile %s --optimizer sgd --clip 0 --target cuda-emulated --quiet -o %t/emulated
// RUN: tessera run %t/emulated --simulate-ranks=2 --inputs %t/data --compare %t/data/expected | FileCheck %s
// PROVEN: partition proven
// CHECK-DAG: {{^ *}}x: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]),)}}
// CHECK-DAG: {{^ *}}set: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]),)}}
// CHECK-DAG: {{^ *}}added: largest difference {{(0,|[0-9.]+e-(0[6-9]|[1-9][0-9]),)}}

dist.mesh @mesh ["dp"=2]
func.func @forward(
    %x: tensor<7x6xf32> {nn.param = "x", dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %set: tensor<8x6xf32> {nn.param = "set"},
    %added: tensor<8x6xf32> {nn.param = "added", dist.sharding = #dist.sharding<@mesh, [{"dp"}, {}]>},
    %i: tensor<8xi32> {nn.input = "i"}) -> (tensor<f32> {nn.output = "loss"}) {
  %two = arith.constant dense<2> : tensor<8xi32>
  %ids = arith.subi %i, %two : tensor<8xi32>
  %y = nn.scatter <set> %x, %ids, %set : tensor<7x6xf32>, tensor<8xi32>, tensor<8x6xf32>
  %z = nn.scatter <add> %y, %ids, %added : tensor<7x6xf32>, tensor<8xi32>, tensor<8x6xf32>
  %e = math.tanh %z : tensor<7x6xf32>
  %loss = nn.reduce <sum> %e dims [0, 1] : tensor<7x6xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
