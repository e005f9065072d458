// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(rt-tensorize-boundary))' | FileCheck %s

// An index is passed as 64 bits; a tensor is unchanged.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: (%[[A:.*]]: tensor<f32>, %[[I:.*]]: tensor<i64>, %[[T:.*]]: tensor<2xf32>) -> (tensor<f32>, tensor<i64>, tensor<2xf32>)
// CHECK-DAG: %[[A0:.*]] = tensor.extract %[[A]][] : tensor<f32>
// CHECK-DAG: %[[I0:.*]] = tensor.extract %[[I]][] : tensor<i64>
// CHECK-DAG: %[[I1:.*]] = arith.index_cast %[[I0]] : i64 to index
// CHECK-DAG: %[[S:.*]] = arith.mulf %[[A0]], %[[A0]] : f32
// CHECK-DAG: %[[J:.*]] = arith.addi %[[I1]], %[[I1]] : index
// CHECK-DAG: %[[RA:.*]] = linalg.fill ins(%[[S]] : f32)
// CHECK-DAG: %[[J1:.*]] = arith.index_cast %[[J]] : index to i64
// CHECK-DAG: %[[RI:.*]] = linalg.fill ins(%[[J1]] : i64)
// CHECK: return %[[RA]], %[[RI]], %[[T]]
func.func @scalars(%a: f32, %i: index, %t: tensor<2xf32>) -> (f32, index, tensor<2xf32>) {
  %0 = arith.mulf %a, %a : f32
  %1 = arith.addi %i, %i : index
  return %0, %1, %t : f32, index, tensor<2xf32>
}
