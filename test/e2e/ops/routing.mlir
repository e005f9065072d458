// The choice of experts, compiled: ties, NaN and infinities, groups, the smallest elements,
// capacities in plain and in zig-zag order. They equal the interpreter's exactly.

// RUN: rm -rf %t && mkdir %t
// RUN: tessera verify %s --integers --dump %t/data
// RUN: tessera compile %s --quiet -o %t/host
// RUN: %t/host --inputs %t/data --compare %t/data/expected | FileCheck %s
// CHECK-COUNT-9: {{[a-z0-9_]+}}: largest difference 0,
// CHECK-NOT: largest difference

dist.mesh @mesh ["x"=1]
func.func @route(%x: tensor<3x5x24xf32>, %d: tensor<7x6xf64>, %h: tensor<2x8xbf16>, %s: tensor<2x16x2xf32>,
                 %ids: tensor<2x16x2xi32>)
    -> (tensor<3x5x4xi32> {nn.output = "largest"}, tensor<3x5x4xi64> {nn.output = "smallest"},
        tensor<3x5x4xi32> {nn.output = "by_max"}, tensor<3x5x5xi32> {nn.output = "by_sum"},
        tensor<7x6xi8> {nn.output = "all"}, tensor<2x1xi32> {nn.output = "first"},
        tensor<2x5xi32> {nn.output = "special"},
        tensor<2x16x2xi32> {nn.output = "kept"}, tensor<2x16x2xi32> {nn.output = "kept_in_order"}) {
  %0 = nn.top_k 4 %x : tensor<3x5x24xf32> -> tensor<3x5x4xi32>
  %1 = nn.top_k 4 smallest %x : tensor<3x5x24xf32> -> tensor<3x5x4xi64>
  %2 = nn.top_k 4 groups 2 of 6 by <max> %x : tensor<3x5x24xf32> -> tensor<3x5x4xi32>
  %3 = nn.top_k 5 groups 3 of 6 by <sum2> %x : tensor<3x5x24xf32> -> tensor<3x5x5xi32>
  %4 = nn.top_k 6 %d : tensor<7x6xf64> -> tensor<7x6xi8>
  %5 = nn.top_k 1 %h : tensor<2x8xbf16> -> tensor<2x1xi32>
  %c = arith.constant dense<[[0.0, -0.0, 0x7FC00000, -1.0, 0x7F800000], [0xFF800000, 0xFFC00000, 2.0, 0xFF800000, -2.0]]> : tensor<2x5xf32>
  %6 = nn.top_k 5 %c : tensor<2x5xf32> -> tensor<2x5xi32>
  %7 = nn.expert_capacity 3 of 4 %ids, %s : tensor<2x16x2xi32>, tensor<2x16x2xf32>
  %8 = nn.expert_capacity 3 of 4 order <shards = 2, size = 16> %ids, %s : tensor<2x16x2xi32>, tensor<2x16x2xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<3x5x4xi32>, tensor<3x5x4xi64>, tensor<3x5x4xi32>, tensor<3x5x5xi32>,
      tensor<7x6xi8>, tensor<2x1xi32>, tensor<2x5xi32>, tensor<2x16x2xi32>, tensor<2x16x2xi32>
}
