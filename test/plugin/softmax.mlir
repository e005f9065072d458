// A softmax written by hand over a sharded dimension: its maximum is reduced as
// a maximum, its sum as a sum.

// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(tessera-propagate,tessera-partition)" | FileCheck %s
// RUN: tessera verify %s --seeds 3
// RUN: sed 's/"tp"=4/"tp"=2/' %s > %t.2.mlir
// RUN: tessera verify %t.2.mlir
// RUN: sed 's/"tp"=4/"tp"=8/' %s > %t.8.mlir
// RUN: tessera verify %t.8.mlir
// A number of columns that the ranks do not divide.
// RUN: sed 's/x16xf32/x17xf32/g' %s > %t.17.mlir
// RUN: tessera verify %t.17.mlir

dist.mesh @mesh ["tp"=4]

// CHECK-LABEL: func.func @softmax
// CHECK: linalg.reduce {{.*}}arith.maximumf
// CHECK: dist.all_reduce <max> {{.*}} over <{"tp"}> on @mesh : tensor<6xf32> -> tensor<6xf32>
// CHECK: math.exp %{{.*}} : tensor<6x4xf32>
// CHECK: linalg.reduce {{.*}}arith.addf
// CHECK: dist.all_reduce <sum> {{.*}} over <{"tp"}> on @mesh : tensor<6xf32> -> tensor<6xf32>
// CHECK-NOT: dist.all_{{.*}}
// CHECK: return %{{.*}} : tensor<6x4xf32>
func.func @softmax(%x: tensor<6x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<6x16xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %w = tensor.empty() : tensor<6x16xf32>
  %f0 = linalg.fill ins(%lowest : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %max = linalg.reduce { arith.maximumf } ins(%x : tensor<6x16xf32>) outs(%f0 : tensor<6xf32>) dimensions = [1]
  %bmax = linalg.broadcast ins(%max : tensor<6xf32>) outs(%w : tensor<6x16xf32>) dimensions = [1]
  %shift = arith.subf %x, %bmax : tensor<6x16xf32>
  %exp = math.exp %shift : tensor<6x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %sum = linalg.reduce { arith.addf } ins(%exp : tensor<6x16xf32>) outs(%f1 : tensor<6xf32>) dimensions = [1]
  %bsum = linalg.broadcast ins(%sum : tensor<6xf32>) outs(%w : tensor<6x16xf32>) dimensions = [1]
  %y = arith.divf %exp, %bsum : tensor<6x16xf32>
  return %y : tensor<6x16xf32>
}
