// A reduction over a mesh of one device has no links, and is placed all the same.
// RUN: tessera-opt %s --dist-place-reductions | FileCheck %s

dist.mesh @mesh ["x"=1]

// CHECK-LABEL: func.func @one(
// CHECK: arith.negf
// CHECK-NEXT: dist.reshard
func.func @one(%a: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced={"x"}>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<8x4xf32>
  %1 = arith.negf %0 {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
