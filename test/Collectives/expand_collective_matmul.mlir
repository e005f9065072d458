// A ring of three: each device multiplies its own shard while it sends it, and
// then the shards that it receives. (Two devices, and reduce-scatters, are in
// form_collective_matmul.mlir.)
// RUN: tessera-opt %s --dist-expand-collective-matmul | FileCheck %s

dist.mesh @mesh ["tp"=3]

// CHECK-LABEL: func.func @gather
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x6xf32>
// CHECK-NEXT: %[[X1:.*]] = dist.collective_permute %[[X]] targets [2, 0, 1] over <{"tp"}>
// CHECK-NEXT: %[[Y0:.*]] = nn.einsum "sd,de->se" %[[X]], %[[W]]
// CHECK-NEXT: %[[X2:.*]] = dist.collective_permute %[[X1]] targets [2, 0, 1] over <{"tp"}>
// CHECK-NEXT: %[[Y1:.*]] = nn.einsum "sd,de->se" %[[X1]], %[[W]]
// CHECK-NEXT: %[[Y2:.*]] = nn.einsum "sd,de->se" %[[X2]], %[[W]]
// CHECK-NEXT: %[[R:.*]] = dist.assemble %[[Y0]], %[[Y1]], %[[Y2]] dim 0 over <{"tp"}>
// CHECK-NEXT: return %[[R]]
func.func @gather(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<12x6xf32> {
  %r = dist.collective_matmul (%x, %w) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<12x6xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>):
    %g = dist.all_gather %a dim 0 over <{"tp"}> on @mesh : tensor<4x8xf32> -> tensor<12x8xf32>
    %p = nn.einsum "sd,de->se" %g, %b : tensor<12x8xf32>, tensor<8x6xf32> -> tensor<12x6xf32>
    dist.yield %p : tensor<12x6xf32>
  }
  return %r : tensor<12x6xf32>
}
