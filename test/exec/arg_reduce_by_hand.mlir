// Searches written by hand; the originals are interpreted unchanged.
// RUN: tessera verify %s --seeds 2 | FileCheck %s
// RUN: tessera verify %s --integers --tolerance 0 --seeds 3 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// torch-mlir's lowering of max along a dimension; 17 on 8.
// CHECK-LABEL: @torch
// CHECK-COUNT-2: yes
// CHECK: all_reduce 4 224
// CHECK-NEXT: proven
func.func @torch(%x: tensor<8x17xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8xf32>
  %v = linalg.fill ins(%low : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %f = tensor.empty() : tensor<8xi32>
  %p = linalg.fill ins(%zero : i32) outs(%f : tensor<8xi32>) -> tensor<8xi32>
  %0:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x17xf32>) outs(%v, %p : tensor<8xf32>, tensor<8xi32>) {
  ^bb0(%a: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %m = arith.maximumf %a, %best : f32
    %gt = arith.cmpf ogt, %a, %best : f32
    %s = arith.select %gt, %n, %at : i32
    linalg.yield %m, %s : f32, i32
  } -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}

// The smallest of integers, the position first, along the first dimension, with
// initial values.
// CHECK-LABEL: @with_start
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2
// CHECK-NEXT: proven
func.func @with_start(%x: tensor<16x6xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
    %v: tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %p: tensor<6xi64> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<6xi64> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
        tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0:2 = linalg.generic {indexing_maps = [#all, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<16x6xi32>) outs(%p, %v : tensor<6xi64>, tensor<6xi32>) {
  ^bb0(%a: i32, %at: i64, %best: i32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %lt = arith.cmpi sgt, %best, %a : i32
    %s = arith.select %lt, %n, %at : i64
    %m = arith.select %lt, %a, %best : i32
    linalg.yield %s, %m : i64, i32
  } -> (tensor<6xi64>, tensor<6xi32>)
  return %0#0, %0#1 : tensor<6xi64>, tensor<6xi32>
}

// A choice ignores NaN, in whole rows too, and the initial value stays if no
// element is above it.
// CHECK-LABEL: @passes_over
// CHECK-COUNT-2: yes
// CHECK: all_reduce 2
// CHECK-NEXT: proven
func.func @passes_over(%x: tensor<32x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<32xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %zero = arith.constant dense<0.0> : tensor<32x3xf32>
  %nan = arith.constant dense<0x7FC00000> : tensor<32x3xf32>
  %is = arith.cmpf ogt, %x, %zero : tensor<32x3xf32>
  %y = arith.select %is, %nan, %x : tensor<32x3xi1>, tensor<32x3xf32>
  %low = arith.constant dense<-1.0> : tensor<32xf32>
  %none = arith.constant dense<-1> : tensor<32xi32>
  %0:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<32x3xf32>) outs(%low, %none : tensor<32xf32>, tensor<32xi32>) {
  ^bb0(%a: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %gt = arith.cmpf ogt, %a, %best : f32
    %v = arith.select %gt, %a, %best : f32
    %p = arith.select %gt, %n, %at : i32
    linalg.yield %v, %p : f32, i32
  } -> (tensor<32xf32>, tensor<32xi32>)
  return %0#0, %0#1 : tensor<32xf32>, tensor<32xi32>
}
