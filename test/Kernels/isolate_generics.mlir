// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(rt-isolate-generics))' | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// An init that the body reads becomes an input; an element from outside is read
// inside.
// CHECK-LABEL: func.func @reads_outs_and_outside
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>, %[[T:.*]]: tensor<4xf32>
// CHECK: %[[E:.*]] = tensor.empty()
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[E]] :
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[S:.*]] = tensor.extract %[[T]][%{{.*}}]
// CHECK-NEXT: arith.mulf %[[B]], %[[S]]
func.func @reads_outs_and_outside(%x: tensor<4xf32>, %y: tensor<4xf32>, %t: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %s = tensor.extract %t[%c0] : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.mulf %b, %s : f32
    %2 = arith.addf %1, %a : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Elements that no op writes are zeros, as in the interpreter.
// CHECK-LABEL: func.func @unset_elements
// CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: tensor.insert_slice %{{.*}} into %[[Z]][1] [2] [1]
func.func @unset_elements(%x: tensor<2xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = tensor.insert_slice %x into %e[1] [2] [1] : tensor<2xf32> into tensor<4xf32>
  return %0 : tensor<4xf32>
}
