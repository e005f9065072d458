// RUN: tessera-opt %s --allow-unregistered-dialect --dist-unwrap-foreign | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK: "my.scale"(%arg0, %arg1) {dist.rule = #dist.rule<"([i,j],[i])->([i,j]) {i=4, j=64}">, k = 2 : i64} : (tensor<4x64xf32>, tensor<4xf32>) -> tensor<4x64xf32>
func.func @f(%x: tensor<4x64xf32>, %s: tensor<4xf32>) -> tensor<4x64xf32> {
  %y = dist.foreign "my.scale"(%x, %s) <"([i,j],[i])->([i,j]) {i=4, j=64}"> with {k = 2 : i64} : (tensor<4x64xf32>, tensor<4xf32>) -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}
