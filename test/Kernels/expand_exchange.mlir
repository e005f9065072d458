// RUN: tessera-opt %s --dist-expand-exchange --split-input-file | FileCheck %s

// Rows of all pp ranks are as long as the longest; each type has its own.
dist.mesh @mesh ["pp"=2, "tp"=2] stage "pp"
// CHECK-LABEL: func @one
// CHECK-SAME: (%[[A:.*]]: tensor<f32>, %[[N:.*]]: tensor<i32>)
// CHECK: %[[FLAT:.*]] = tensor.expand_shape %[[A]]
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1xf32>
// CHECK: %[[ROW:.*]] = rt.concat %[[FLAT]], %[[ZERO]] dim 0
// CHECK: %[[ALL:.*]] = dist.all_gather %[[ROW]] dim 0 over <{"pp"}> on @mesh : tensor<2xf32> -> tensor<4xf32>
// CHECK: %[[R0:.*]] = tensor.extract_slice %[[ALL]][0] [1] [1]
// CHECK: %[[S0:.*]] = tensor.collapse_shape %[[R0]]
// CHECK: tensor.extract_slice %[[ALL]][2] [1] [1]
// CHECK: %[[R2:.*]] = tensor.extract_slice %[[ALL]][3] [1] [1]
// CHECK: %[[S2:.*]] = tensor.collapse_shape %[[R2]]
// CHECK: dist.all_gather {{.*}} : tensor<1xi32> -> tensor<2xi32>
// CHECK: return %[[S0]], %[[S2]]
func.func @one(%a: tensor<f32>, %n: tensor<i32>) -> (tensor<f32>, tensor<f32>) attributes {dist.pp_rank = 0} {
  %r:4 = dist.exchange (%a, %n) from [0, 0, 1, 1] among [0, 1]
      : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>, tensor<f32>, tensor<f32>)
  return %r#0, %r#3 : tensor<f32>, tensor<f32>
}

// -----

// Among some pp ranks, each sends its values of one type as one row.
dist.mesh @mesh ["pp"=4] stage "pp"
// CHECK-LABEL: func @some
// CHECK-SAME: (%[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[A]]
// CHECK: %[[ROW:.*]] = rt.concat %[[FLAT]], %[[B]] dim 0
// CHECK: %[[R:.*]]:2 = dist.exchange(%[[ROW]]) from [3, 0] among [0, 3] : (tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
// CHECK-DAG: %[[THEIRS:.*]] = tensor.extract_slice %[[R]]#0[6] [4] [1]
// CHECK-DAG: %[[MINE:.*]] = tensor.extract_slice %[[R]]#1[0] [6] [1]
// CHECK-DAG: %[[SHAPED:.*]] = tensor.expand_shape %[[MINE]]
// CHECK: return %[[SHAPED]], %[[THEIRS]]
func.func @some(%a: tensor<2x3xf32>, %b: tensor<4xf32>) -> (tensor<2x3xf32>, tensor<4xf32>) attributes {dist.pp_rank = 0} {
  %r:4 = dist.exchange (%a, %b) from [3, 0, 3, 0] among [0, 3]
      : (tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<4xf32>)
  return %r#1, %r#2 : tensor<2x3xf32>, tensor<4xf32>
}

// -----

// One value of each type and pp rank is a row as it is.
dist.mesh @mesh ["pp"=4] stage "pp"
// CHECK-LABEL: func @alone
// CHECK-NEXT: dist.exchange(%{{.*}}) from [0, 3] among [0, 3] : (tensor<2x3xf32>)
func.func @alone(%a: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {dist.pp_rank = 0} {
  %r:2 = dist.exchange (%a) from [0, 3] among [0, 3] : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return %r#1 : tensor<2x3xf32>
}
