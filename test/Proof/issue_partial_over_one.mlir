// A value that is partial over an axis of one device is whole.
// RUN: tessera verify %s --quiet | FileCheck %s
// CHECK: partition proven
dist.mesh @mesh ["x"=1]
func.func @f(%a: tensor<8x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced={"x"}>}) -> (tensor<8x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %1 = arith.negf %a : tensor<8x1xf32>
  return %1 : tensor<8x1xf32>
}
