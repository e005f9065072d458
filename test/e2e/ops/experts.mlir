// Experts and their gradients, compiled, on one rank and on two that share the experts: without
// stats, with stats and rows that other ops read too, and with ids that are no expert.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --dump %t/data
// RUN: tessera compile %s --quiet -o %t/one
// RUN: %t/one --inputs %t/data --compare %t/data/expected | FileCheck %s
// RUN: sed 's/"x"=1/"x"=2/; s/\(%%w[gud]0: tensor<6x[0-9x]*f32>\)/\1 {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>}/g' %s > %t/two.mlir
// RUN: tessera compile %t/two.mlir --quiet -o %t/two
// RUN: tessera run %t/two --ranks 2 --inputs %t/data --compare %t/data/expected | FileCheck %s

// CHECK-COUNT-13: {{[a-z0-9_]+}}: largest difference {{(0|[0-9.]+e-0[5-9])}},
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=1]
func.func @experts(%x: tensor<2x5x16xf32>, %gates: tensor<2x5x3xf32>, %grad: tensor<2x5x12xf32>,
                   %wg0: tensor<6x16x20xf32>, %wu0: tensor<6x16x20xf32>, %wd0: tensor<6x20x12xf32>,
                   %scores: tensor<2x5x6xf32>)
    -> (tensor<2x5x12xf32> {nn.output = "plain"}, tensor<2x5x12xf32> {nn.output = "tanh"},
        tensor<2x5x12xf32> {nn.output = "dropped"}, tensor<2x5x12xf32> {nn.output = "y"},
        tensor<2x5x6x20xf32> {nn.output = "g"}, tensor<2x5x16xf32> {nn.output = "dx"},
        tensor<2x5x3xf32> {nn.output = "dgates"}, tensor<2x5x6x20xf32> {nn.output = "du"},
        tensor<6x16x20xf32> {nn.output = "dwg"}, tensor<6x16x20xf32> {nn.output = "dwu"},
        tensor<6x20x12xf32> {nn.output = "dwd"}, tensor<6x20x12xf32> {nn.output = "dwd_of_scaled"},
        tensor<2x5x6x16xf32> {nn.output = "rows"}) {
  %eighth = arith.constant dense<0.125> : tensor<6x16x20xf32>
  %down_eighth = arith.constant dense<0.125> : tensor<6x20x12xf32>
  %wg = arith.mulf %wg0, %eighth : tensor<6x16x20xf32>
  %wu = arith.mulf %wu0, %eighth : tensor<6x16x20xf32>
  %wd = arith.mulf %wd0, %down_eighth : tensor<6x20x12xf32>
  %ids = nn.top_k 3 %scores : tensor<2x5x6xf32> -> tensor<2x5x3xi32>
  %kept = nn.expert_capacity 2 of 6 %ids, %gates : tensor<2x5x3xi32>, tensor<2x5x3xf32>
  %plain = nn.experts <gelu> of 6 %x, %ids, %gates, %wg, %wu, %wd
      : tensor<2x5x16xf32>, tensor<2x5x3xi32>, tensor<2x5x3xf32>, tensor<6x16x20xf32>, tensor<6x20x12xf32> -> tensor<2x5x12xf32>
  %tanh = nn.experts <gelu_tanh> of 6 %x, %ids, %gates, %wg, %wu, %wd
      : tensor<2x5x16xf32>, tensor<2x5x3xi32>, tensor<2x5x3xf32>, tensor<6x16x20xf32>, tensor<6x20x12xf32> -> tensor<2x5x12xf32>
  %dropped = nn.experts <silu> of 6 %x, %kept, %gates, %wg, %wu, %wd
      : tensor<2x5x16xf32>, tensor<2x5x3xi32>, tensor<2x5x3xf32>, tensor<6x16x20xf32>, tensor<6x20x12xf32> -> tensor<2x5x12xf32>
  %y, %g, %u = nn.experts <silu> of 6 %x, %ids, %gates, %wg, %wu, %wd
      : tensor<2x5x16xf32>, tensor<2x5x3xi32>, tensor<2x5x3xf32>, tensor<6x16x20xf32>, tensor<6x20x12xf32> -> tensor<2x5x12xf32>
      stats tensor<2x5x6x20xf32>, tensor<2x5x6x20xf32>
  %dx, %dgates, %dg, %du = nn.experts_backward <silu> of 6 %grad, %ids, %gates, %wg, %wu, %wd, %g, %u
      : tensor<2x5x12xf32>, tensor<2x5x3xi32>, tensor<2x5x3xf32>, tensor<6x16x20xf32>, tensor<6x20x12xf32>, tensor<2x5x6x20xf32> -> tensor<2x5x16xf32>
  %rows = nn.expert_rows %x, %ids : tensor<2x5x16xf32>, tensor<2x5x3xi32> -> tensor<2x5x6x16xf32>
  %grad_rows = nn.expert_rows %grad, %ids : tensor<2x5x12xf32>, tensor<2x5x3xi32> -> tensor<2x5x6x12xf32>
  %dwg, %dwu, %dwd = nn.experts_weight_gradient <silu> of 6 %rows, %grad_rows, %ids, %gates, %g, %u, %dg, %du
      : tensor<2x5x6x16xf32>, tensor<2x5x6x12xf32>, tensor<2x5x3xi32>, tensor<2x5x3xf32>, tensor<2x5x6x20xf32> -> tensor<6x16x20xf32>, tensor<6x20x12xf32>
  %more = arith.addf %grad_rows, %grad_rows : tensor<2x5x6x12xf32>
  %dwg2, %dwu2, %dwd2 = nn.experts_weight_gradient <silu> of 6 %rows, %more, %ids, %gates, %g, %u, %dg, %du
      : tensor<2x5x6x16xf32>, tensor<2x5x6x12xf32>, tensor<2x5x3xi32>, tensor<2x5x3xf32>, tensor<2x5x6x20xf32> -> tensor<6x16x20xf32>, tensor<6x20x12xf32>
  return %plain, %tanh, %dropped, %y, %g, %dx, %dgates, %du, %dwg, %dwu, %dwd, %dwd2, %rows
      : tensor<2x5x12xf32>, tensor<2x5x12xf32>, tensor<2x5x12xf32>, tensor<2x5x12xf32>, tensor<2x5x6x20xf32>, tensor<2x5x16xf32>,
        tensor<2x5x3xf32>, tensor<2x5x6x20xf32>, tensor<6x16x20xf32>, tensor<6x16x20xf32>, tensor<6x20x12xf32>, tensor<6x20x12xf32>, tensor<2x5x6x16xf32>
}
