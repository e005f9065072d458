// Each op becomes equivalent ops; calls are inlined, loops unrolled, the
// wrapping of ids is dropped, arguments and results are named.
// RUN: tessera-opt --allow-unregistered-dialect %S/Inputs/ops.mlir --stablehlo-to-nn="inputs=image" | FileCheck %s

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[IDS:arg[0-9]+]]: tensor<2x8xi32> {nn.input = "ids", nn.vocab = 16 : i64}
// CHECK-SAME: %[[TABLE:arg[0-9]+]]: tensor<16x6xf32> {nn.param = "wte"}
// CHECK-SAME: %[[W:arg[0-9]+]]: tensor<6x3x4xf32> {nn.param = "blocks.0.w"}
// CHECK-SAME: %[[IMAGE:arg[0-9]+]]: tensor<2x8x6xf32> {nn.input = "image"}
// CHECK-SAME: {nn.output = "heads"}
// CHECK-SAME: {nn.output = "mean.0"}
// CHECK-SAME: {nn.output = "result"}
// CHECK-SAME: {nn.output = "result.1"}
// CHECK: %[[X0:.+]] = nn.embedding %[[TABLE]], %[[IDS]]
// CHECK: %[[BELOW:.+]] = arith.cmpf olt, %[[IMAGE]]
// CHECK: %[[SIZE:.+]] = arith.select %[[BELOW]], %[[IMAGE]]
// CHECK: %[[E:.+]] = math.exp %[[SIZE]]
// CHECK: %[[ABOVE:.+]] = arith.select %[[BELOW]], %[[E]]
// CHECK: %[[SIGMOID:.+]] = arith.divf %[[ABOVE]]
// CHECK: %[[Z:.+]] = arith.mulf {{.*}}, %[[IMAGE]]
// CHECK: %[[X:.+]] = arith.addf %[[X0]], %[[Z]]
// CHECK: %[[HEADS:.+]] = nn.einsum "bca,ade->bcde" %[[X]], %[[W]]
// CHECK: %[[SUM:.+]] = nn.reduce <sum> %[[X]] dims [1]
// CHECK: %[[LARGEST:.+]] = nn.reduce <max> %[[X]] dims [2]
// CHECK: %[[IOTA:.+]] = nn.iota : tensor<8xi32>
// CHECK: %[[COUNT:.+]] = arith.sitofp %[[IOTA]]
// CHECK: %[[COUNTS:.+]] = nn.broadcast %[[COUNT]] dims [1]
// CHECK: %[[BOTH:.+]] = tensor.concat dim(1) %[[LARGEST]], %[[COUNTS]]
// CHECK: %[[PART:.+]] = tensor.extract_slice %[[BOTH]][0, 0] [2, 8] [1, 2]
// CHECK: %[[LOW:.+]] = tensor.concat dim(1) %{{.*}}, %[[PART]] : (tensor<2x3xf32>
// CHECK: %[[PADDED:.+]] = tensor.concat dim(1) %[[LOW]], %{{.*}} -> tensor<2x16xf32>
// CHECK: tensor.extract_slice %[[TABLE]][0, 0] [1, 1] [1, 1]
// CHECK: tensor.extract_slice %[[TABLE]][1, 0] [1, 1] [1, 1]
// CHECK: tensor.extract_slice %[[TABLE]][2, 0] [1, 1] [1, 1]
// CHECK: %[[LOOP:.+]] = arith.mulf
// CHECK-NEXT: return %[[HEADS]], %[[SUM]], %[[LOOP]], %[[PADDED]]

// A module with other ops is unchanged.
// RUN: tessera-opt %s --stablehlo-to-nn | FileCheck %s --check-prefix=PLAIN
// PLAIN: func.func private @helper
// PLAIN: func.func @plain
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.addf %0, %x : tensor<4xf32>
  return %1 : tensor<4xf32>
}
