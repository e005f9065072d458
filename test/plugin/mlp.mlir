// Another compiler's program: no op of ours, one annotated weight. A stock
// mlir-opt partitions it to the Megatron form.

// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(tessera-propagate,tessera-partition)" | FileCheck %s
// RUN: tessera-opt %s --tessera-propagate --tessera-partition | FileCheck %s
// RUN: tessera verify %s --seeds 3
// RUN: tessera verify %s --integers
// RUN: sed 's/"tp"=4/"tp"=2/' %s > %t.2.mlir
// RUN: tessera verify %t.2.mlir
// RUN: sed 's/"tp"=4/"tp"=8/' %s > %t.8.mlir
// RUN: tessera verify %t.8.mlir

dist.mesh @mesh ["tp"=4]

// CHECK-LABEL: func.func @mlp
// CHECK-SAME: tensor<8x16xf32>
// Column-parallel, then row-parallel; no weight is gathered.
// CHECK-SAME: tensor<16x8xf32>
// CHECK-SAME: tensor<8x16xf32>
// CHECK-NOT: dist.all_gather
// CHECK: linalg.matmul {{.*}} outs({{.*}} : tensor<8x8xf32>)
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<8x8xf32>)
// CHECK: linalg.matmul {{.*}} outs({{.*}} : tensor<8x16xf32>)
// CHECK: dist.all_reduce <sum> {{.*}} over <{"tp"}> on @mesh : tensor<8x16xf32> -> tensor<8x16xf32>
// CHECK-NOT: dist.all_{{.*}}
// CHECK: return
#id = affine_map<(i, j) -> (i, j)>
func.func @mlp(%x: tensor<8x16xf32>,
               %w1: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>},
               %w2: tensor<32x16xf32>)
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<8x32xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<8x16xf32>, tensor<16x32xf32>) outs(%f1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x32xf32>) outs(%e1 : tensor<8x32xf32>) {
  ^bb0(%v: f32, %o: f32):
    %r = arith.maximumf %v, %zero : f32
    linalg.yield %r : f32
  } -> tensor<8x32xf32>
  %e2 = tensor.empty() : tensor<8x16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.matmul ins(%a, %w2 : tensor<8x32xf32>, tensor<32x16xf32>) outs(%f2 : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
