// RUN: tessera-opt %s --nn-raise-arg-reductions | FileCheck %s
// RUN: tessera-opt %s --nn-raise-arg-reductions --remarks-filter="propagation.*" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Three reductions are left.
// REMARK-COUNT-3: remark: {{.*}}linalg.generic reduces a loop of 16 in a way that is no sum, max or min nor a search for one: each device does all of it
// REMARK-NOT: remark

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// From minus infinity and position 0. A running value that is NaN stays, since
// no comparison holds for it: the search ends before the first NaN.
// CHECK-LABEL: func.func @max
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %arg0, %arg0
// CHECK: %[[MARKS:.*]] = arith.select %[[NAN]]
// CHECK: %[[ANY:.*]], %[[END:.*]] = nn.arg_reduce <max> %[[MARKS]] dim 1 : tensor<8x16xf32> -> tensor<8xf32>, tensor<8xi64>
// CHECK: %[[HAS:.*]] = arith.cmpf ogt, %[[ANY]]
// CHECK: %[[X:.*]] = arith.select %{{.*}}, %arg0
// CHECK: %[[V:.*]], %[[I:.*]] = nn.arg_reduce <max> %[[X]] dim 1 : tensor<8x16xf32> -> tensor<8xf32>, tensor<8xi64>
// CHECK-NOT: linalg.generic
// CHECK: %[[R:.*]] = arith.select %[[HAS]], %{{.*}}, %[[V]]
// CHECK: return %[[R]], %[[I]]
func.func @max(%x: tensor<8x16xf32>) -> (tensor<8xf32>, tensor<8xi64>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<8xf32>
  %v = linalg.fill ins(%low : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %f = tensor.empty() : tensor<8xi64>
  %p = linalg.fill ins(%zero : i64) outs(%f : tensor<8xi64>) -> tensor<8xi64>
  %0:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%v, %p : tensor<8xf32>, tensor<8xi64>) {
  ^bb0(%a: f32, %best: f32, %at: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %m = arith.maximumf %best, %a : f32
    %gt = arith.cmpf ogt, %a, %best : f32
    %s = arith.select %gt, %n, %at : i64
    linalg.yield %m, %s : f32, i64
  } -> (tensor<8xf32>, tensor<8xi64>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi64>
}

// The position comes first, along the first dimension, of integers; the initial
// value counts.
// CHECK-LABEL: func.func @min_from
// CHECK: %[[V:.*]], %[[I:.*]] = nn.arg_reduce <min> %arg0 dim 0 : tensor<8x16xi32> -> tensor<16xi32>, tensor<16xi32>
// CHECK: %[[B:.*]] = arith.cmpi slt, %[[V]], %arg1
// CHECK: %[[VV:.*]] = arith.select %[[B]], %[[V]], %arg1
// CHECK: %[[II:.*]] = arith.select %[[B]], %[[I]], %arg2
// CHECK: return %[[II]], %[[VV]]
func.func @min_from(%x: tensor<8x16xi32>, %v: tensor<16xi32>, %p: tensor<16xi32>) -> (tensor<16xi32>, tensor<16xi32>) {
  %0:2 = linalg.generic {indexing_maps = [#all, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x16xi32>) outs(%p, %v : tensor<16xi32>, tensor<16xi32>) {
  ^bb0(%a: i32, %at: i32, %best: i32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %lt = arith.cmpi slt, %a, %best : i32
    %m = arith.minsi %a, %best : i32
    %s = arith.select %lt, %n, %at : i32
    linalg.yield %s, %m : i32, i32
  } -> (tensor<16xi32>, tensor<16xi32>)
  return %0#0, %0#1 : tensor<16xi32>, tensor<16xi32>
}

// A choice by comparison ignores NaN: NaNs become the least value before.
// CHECK-LABEL: func.func @choice
// CHECK-DAG: %[[LOW:.*]] = arith.constant dense<0xFF800000> : tensor<8x16xf32>
// CHECK-DAG: %[[U:.*]] = arith.cmpf uno, %arg0, %arg0
// CHECK: %[[X:.*]] = arith.select %[[U]], %[[LOW]], %arg0
// CHECK: %[[V:.*]], %[[I:.*]] = nn.arg_reduce <max> %[[X]] dim 1
// CHECK: arith.cmpf ogt, %[[V]], %arg1
func.func @choice(%x: tensor<8x16xf32>, %v: tensor<8xf32>, %p: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %0:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%v, %p : tensor<8xf32>, tensor<8xi32>) {
  ^bb0(%a: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %gt = arith.cmpf olt, %best, %a : f32
    %m = arith.select %gt, %a, %best : f32
    %s = arith.select %gt, %n, %at : i32
    linalg.yield %m, %s : f32, i32
  } -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}

// The last of equals: no such op.
// CHECK-LABEL: func.func @last
// CHECK: linalg.generic
// CHECK-NOT: nn.arg_reduce
func.func @last(%x: tensor<8x16xf32>, %v: tensor<8xf32>, %p: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %0:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%v, %p : tensor<8xf32>, tensor<8xi32>) {
  ^bb0(%a: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %ge = arith.cmpf oge, %a, %best : f32
    %m = arith.select %ge, %a, %best : f32
    %s = arith.select %ge, %n, %at : i32
    linalg.yield %m, %s : f32, i32
  } -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}

// A min of values with the position of a max, and a position in another loop:
// neither is an argmax.
// CHECK-LABEL: func.func @crossed
// CHECK-NOT: nn.arg_reduce
func.func @crossed(%x: tensor<8x16xi32>, %v: tensor<8xi32>, %p: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) {
  %0:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xi32>) outs(%v, %p : tensor<8xi32>, tensor<8xi32>) {
  ^bb0(%a: i32, %best: i32, %at: i32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %gt = arith.cmpi sgt, %a, %best : i32
    %m = arith.minsi %a, %best : i32
    %s = arith.select %gt, %n, %at : i32
    linalg.yield %m, %s : i32, i32
  } -> (tensor<8xi32>, tensor<8xi32>)
  %1:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xi32>) outs(%v, %p : tensor<8xi32>, tensor<8xi32>) {
  ^bb0(%a: i32, %best: i32, %at: i32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %gt = arith.cmpi sgt, %a, %best : i32
    %m = arith.maxsi %a, %best : i32
    %s = arith.select %gt, %n, %at : i32
    linalg.yield %m, %s : i32, i32
  } -> (tensor<8xi32>, tensor<8xi32>)
  return %0#0, %0#1, %1#1 : tensor<8xi32>, tensor<8xi32>, tensor<8xi32>
}
