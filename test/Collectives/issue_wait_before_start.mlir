// RUN: tessera-opt %s --dist-overlap-collectives | FileCheck %s

// A collective among pp ranks that is in two already, as text of phase schedule
// has it, keeps its wait after its start where other ops move.
dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"
// CHECK-LABEL: func.func @step_0
// CHECK: %[[F:.*]] = dist.start %{{.*}} : tensor<4xf32>
// CHECK: dist.all_gather %{{.*}} dim 0 over <{"pp"}>
// CHECK: dist.wait %[[F]]
func.func @step_0(%a: tensor<4xf32>, %b: tensor<8xf32>, %x: tensor<512x512xf32>)
    -> (tensor<8xf32>, tensor<16xf32>, tensor<512x512xf32>) attributes {dist.local, dist.pp_rank = 0} {
  %y = rt.matmul %x, %x <batch = 1, m = 512, n = 512, k = 512, lda = 512, ldb = 512, ldc = 512,
      stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 0, trans_b = 0>
      : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
  %f = dist.start %a : tensor<4xf32> -> !dist.future<tensor<8xf32>> {
  ^bb0(%in: tensor<4xf32>):
    %g = dist.all_gather %in dim 0 over <{"pp"}> on @mesh : tensor<4xf32> -> tensor<8xf32>
    dist.yield %g : tensor<8xf32>
  }
  %0 = dist.wait %f, %a : !dist.future<tensor<8xf32>>, tensor<4xf32> -> tensor<8xf32>
  %1 = dist.all_gather %b dim 0 over <{"dp"}> on @mesh : tensor<8xf32> -> tensor<16xf32>
  return %0, %1, %y : tensor<8xf32>, tensor<16xf32>, tensor<512x512xf32>
}
