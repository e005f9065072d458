// RUN: tessera-opt %s --allow-unregistered-dialect --dist-wrap-foreign --split-input-file --verify-diagnostics | FileCheck %s

dist.mesh @mesh ["dp"=2]

// CHECK-LABEL: func.func @f
// CHECK: dist.foreign "my.scale"(%arg0, %arg1) <"([i,j],[i])->([i,j]) {i=8, j=64}"> with {k = 2 : i64}
// CHECK-SAME: {dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {}]>]}
// CHECK-SAME: : (tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
func.func @f(%x: tensor<8x64xf32>, %s: tensor<8xf32>) -> tensor<8x64xf32> {
  %y = "my.scale"(%x, %s) {k = 2 : i64, dist.rule = #dist.rule<"([i,j],[i])->([i,j]) {i=8, j=64}">, dist.shardings = [#dist.sharding<@mesh, [{"dp"}, {}]>]}
      : (tensor<8x64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

func.func @f(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @below {{expects a sharding rule (dist.rule) of an op that is not registered}}
  %y = "my.scale"(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
