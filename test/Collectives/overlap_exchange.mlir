// RUN: tessera-opt %s --dist-overlap-collectives --dist-report | FileCheck %s

// An exchange with another pp rank takes as long as its message on the links
// between them; a reduction within the pp rank runs meanwhile.
dist.mesh @mesh ["pp"=2, "dp"=2] stage "pp"
// CHECK: @step_0: what a device receives in one call
// CHECK: {{^}}  all_reduce       {"dp"} {{ *}}1 {{ *}}2097152 {{ *}}0 {{ *}}
// CHECK: {{^}}  exchange         {"pp"} {{ *}}1 {{ *}}4194304 {{ *}}4194304 {{ *}}
// CHECK-LABEL: func.func @step_0
// CHECK: %[[F:.*]] = dist.start
// CHECK: dist.exchange
// CHECK: dist.wait %[[F]]
func.func @step_0(%a: tensor<1048576xf32>, %b: tensor<524288xf32>)
    -> (tensor<1048576xf32>, tensor<524288xf32>) attributes {dist.local, dist.pp_rank = 0} {
  %0 = dist.all_reduce <sum> %b over <{"dp"}> on @mesh : tensor<524288xf32> -> tensor<524288xf32>
  %1:2 = dist.exchange (%a) from [0, 1] among [0, 1] : (tensor<1048576xf32>) -> (tensor<1048576xf32>, tensor<1048576xf32>)
  return %1#1, %0 : tensor<1048576xf32>, tensor<524288xf32>
}
