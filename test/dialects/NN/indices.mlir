// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// Ops that write at indices have the same printed and parsed form.

// CHECK-LABEL: func @scatter
func.func @scatter(%x: tensor<64x16xf32>, %ids: tensor<2x8xi32>, %u: tensor<2x8x16xf32>,
                   %id: tensor<i64>, %row: tensor<16xf32>, %o: index) {
  // CHECK: nn.scatter <add> %arg0, %arg1, %arg2 : tensor<64x16xf32>, tensor<2x8xi32>, tensor<2x8x16xf32>
  %0 = nn.scatter <add> %x, %ids, %u : tensor<64x16xf32>, tensor<2x8xi32>, tensor<2x8x16xf32>
  // CHECK: nn.scatter <set> %arg0, %arg1, %arg2 rows 61 offset %arg5 : tensor<64x16xf32>, tensor<2x8xi32>, tensor<2x8x16xf32>
  %1 = nn.scatter <set> %x, %ids, %u rows 61 offset %o
      : tensor<64x16xf32>, tensor<2x8xi32>, tensor<2x8x16xf32>
  // CHECK: nn.scatter <set> %arg0, %arg3, %arg4 : tensor<64x16xf32>, tensor<i64>, tensor<16xf32>
  %2 = nn.scatter <set> %x, %id, %row : tensor<64x16xf32>, tensor<i64>, tensor<16xf32>
  return
}
