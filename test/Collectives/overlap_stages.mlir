// RUN: tessera-opt %s --dist-overlap-collectives | FileCheck %s

// Collectives with other pp ranks keep their position among all other ops, in
// every function alike; those within a pp rank start early.
dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"
// CHECK-LABEL: func.func @step_0
// CHECK: dist.all_gather %{{.*}} dim 0 over <{"pp"}>
// CHECK: dist.start
// CHECK: dist.all_gather %{{.*}} dim 0 over <{"dp"}>
// CHECK: rt.matmul
// CHECK-NEXT: dist.all_gather %{{.*}} dim 0 over <{"pp"}>
// CHECK: dist.wait
func.func @step_0(%a: tensor<4xf32>, %b: tensor<8xf32>, %x: tensor<512x512xf32>)
    -> (tensor<8xf32>, tensor<16xf32>, tensor<8xf32>, tensor<512x512xf32>) attributes {dist.local, dist.pp_rank = 0} {
  %0 = dist.all_gather %a dim 0 over <{"pp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  %y = rt.matmul %x, %x <batch = 1, m = 512, n = 512, k = 512, lda = 512, ldb = 512, ldc = 512,
      stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0>
      : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
  %1 = dist.all_gather %b dim 0 over <{"dp"}> on @mesh : tensor<8xf32> -> tensor<16xf32>
  %2 = dist.all_gather %a dim 0 over <{"pp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
  return %0, %1, %2, %y : tensor<8xf32>, tensor<16xf32>, tensor<8xf32>, tensor<512x512xf32>
}
