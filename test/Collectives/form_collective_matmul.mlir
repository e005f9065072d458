// Matmuls in chunks that overlap with their collective, formed if that is faster
// on links of 10 us per step, 25 GB/s, and expanded.
// RUN: tessera-opt %s --dist-form-collective-matmul --remarks-filter='partition.*' --remark-policy=all -o %t.mlir 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --input-file %t.mlir
// RUN: tessera-opt %s --dist-form-collective-matmul --dist-expand-collective-matmul | FileCheck %s --check-prefix=RING

dist.mesh @mesh ["tp"=2] {dist.links = [[array<f64: 2.0, 1.0e-5, 2.5e10>]]}

// 67 MB of activations: the gather takes 1.4 ms, the matmuls more. The gathered
// value has another use.
// REMARK: [Passed] CollectiveMatmul {{.*}}"all_gather over {"tp"} with 2 matmuls in chunks", apartUs={{.*}}, us={{.*}}, usSaved={{[0-9]}}
// CHECK-LABEL: func.func @large
// CHECK: %[[R:.*]]:3 = dist.collective_matmul(%arg0, %arg1, %arg2)
// CHECK:   %[[G:.*]] = dist.all_gather
// CHECK:   %[[A:.*]] = nn.einsum "sd,de->se" %[[G]]
// CHECK:   %[[B:.*]] = nn.einsum "sd,de->se" %[[G]]
// CHECK:   dist.yield %[[A]], %[[B]], %[[G]]
// CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
// RING-LABEL: func.func @large
// RING: %[[P:.*]] = dist.collective_permute %arg0 targets [1, 0] over <{"tp"}>
// RING: %[[A0:.*]] = nn.einsum "sd,de->se" %arg0, %arg1 : tensor<4096x4096xbf16>, tensor<4096x8192xbf16> -> tensor<4096x8192xbf16>
// RING: %[[B0:.*]] = nn.einsum "sd,de->se" %arg0, %arg2
// RING: %[[A1:.*]] = nn.einsum "sd,de->se" %[[P]], %arg1
// RING: %[[B1:.*]] = nn.einsum "sd,de->se" %[[P]], %arg2
// RING: dist.assemble %[[A0]], %[[A1]] dim 0 over <{"tp"}> on @mesh : {{.*}} -> tensor<8192x8192xbf16>
// RING: dist.assemble %[[B0]], %[[B1]] dim 0
// RING: dist.assemble %arg0, %[[P]] dim 0
func.func @large(%x: tensor<4096x4096xbf16>, %w: tensor<4096x8192xbf16>, %v: tensor<4096x8192xbf16>)
    -> (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>, tensor<8192x4096xbf16>) attributes {dist.local} {
  %g = dist.all_gather %x dim 0 over <{"tp"}> on @mesh : tensor<4096x4096xbf16> -> tensor<8192x4096xbf16>
  %a = nn.einsum "sd,de->se" %g, %w : tensor<8192x4096xbf16>, tensor<4096x8192xbf16> -> tensor<8192x8192xbf16>
  %b = nn.einsum "sd,de->se" %g, %v : tensor<8192x4096xbf16>, tensor<4096x8192xbf16> -> tensor<8192x8192xbf16>
  return %a, %b, %g : tensor<8192x8192xbf16>, tensor<8192x8192xbf16>, tensor<8192x4096xbf16>
}

// REMARK: [Passed] CollectiveMatmul {{.*}}"reduce_scatter over {"tp"} with 1 matmuls in chunks"
// CHECK-LABEL: func.func @scatter
// CHECK: dist.collective_matmul
// CHECK:   nn.einsum
// CHECK:   dist.reduce_scatter
// RING-LABEL: func.func @scatter
// RING-DAG: %[[OWN:.*]] = dist.axis_offset <{"tp"}> size 4096
// RING-DAG: %[[C:.*]] = arith.constant 8192 : index
// RING: arith.addi %[[OWN]]
// RING: %[[AT:.*]] = arith.remui %{{.*}}, %[[C]]
// RING: %[[X0:.*]] = tensor.extract_slice %arg0[%[[AT]], 0] [4096, 8192]
// RING: %[[Y0:.*]] = nn.einsum "se,ed->sd" %[[X0]], %arg1
// RING: %[[P:.*]] = dist.collective_permute %[[Y0]] targets [1, 0]
// RING: %[[Y1:.*]] = nn.einsum
// RING: %[[S:.*]] = arith.addf %[[P]], %[[Y1]]
// RING: return %[[S]]
func.func @scatter(%h: tensor<8192x8192xbf16>, %w: tensor<8192x4096xbf16>) -> tensor<4096x4096xbf16> attributes {dist.local} {
  %a = nn.einsum "se,ed->sd" %h, %w : tensor<8192x8192xbf16>, tensor<8192x4096xbf16> -> tensor<8192x4096xbf16>
  %r = dist.reduce_scatter <sum> %a dim 0 over <{"tp"}> on @mesh : tensor<8192x4096xbf16> -> tensor<4096x4096xbf16>
  return %r : tensor<4096x4096xbf16>
}

// A small matmul ends before a chunk arrives.
// REMARK: [Missed] CollectiveMatmul {{.*}}"all_gather over {"tp"} with 1 matmuls in chunks"{{.*}}usSaved=-
// CHECK-LABEL: func.func @small
// CHECK-NOT: dist.collective_matmul
func.func @small(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<8x8xf32> attributes {dist.local} {
  %g = dist.all_gather %x dim 0 over <{"tp"}> on @mesh : tensor<4x16xf32> -> tensor<8x16xf32>
  %a = nn.einsum "sd,de->se" %g, %w : tensor<8x16xf32>, tensor<16x8xf32> -> tensor<8x8xf32>
  return %a : tensor<8x8xf32>
}

// The gathered dimension is contracted: no chunk gives a part of the result.
// CHECK-LABEL: func.func @contracted
// CHECK-NOT: dist.collective_matmul
func.func @contracted(%x: tensor<4096x4096xbf16>, %y: tensor<8192x4096xbf16>) -> tensor<4096x4096xbf16> attributes {dist.local} {
  %g = dist.all_gather %x dim 0 over <{"tp"}> on @mesh : tensor<4096x4096xbf16> -> tensor<8192x4096xbf16>
  %a = nn.einsum "sd,se->de" %g, %y : tensor<8192x4096xbf16>, tensor<8192x4096xbf16> -> tensor<4096x4096xbf16>
  return %a : tensor<4096x4096xbf16>
}

// The second weight depends on the first matmul, so its matmul stays outside.
// CHECK-LABEL: func.func @late_weight
// CHECK: %[[R:.*]]:2 = dist.collective_matmul(%arg0, %arg1)
// CHECK: %[[W:.*]] = math.exp
// CHECK: nn.einsum "sd,ed->se" %[[R]]#1, %[[W]]
func.func @late_weight(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<8192x8192xbf16> attributes {dist.local} {
  %g = dist.all_gather %x dim 0 over <{"tp"}> on @mesh : tensor<4096x4096xbf16> -> tensor<8192x4096xbf16>
  %a = nn.einsum "sd,de->se" %g, %w : tensor<8192x4096xbf16>, tensor<4096x4096xbf16> -> tensor<8192x4096xbf16>
  %v = math.exp %a : tensor<8192x4096xbf16>
  %b = nn.einsum "sd,ed->se" %g, %v : tensor<8192x4096xbf16>, tensor<8192x4096xbf16> -> tensor<8192x8192xbf16>
  return %b : tensor<8192x8192xbf16>
}
