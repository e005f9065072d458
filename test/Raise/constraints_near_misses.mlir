// A constraint that would change its meaning elsewhere keeps its group, with a remark.
// RUN: tessera-opt %s --nn-fold-shapes --nn-raise --split-input-file | FileCheck %s
// RUN: tessera-opt %s --nn-fold-shapes --nn-raise --split-input-file --remarks-filter=import -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

dist.mesh @mesh ["dp"=2, "tp"=2]

// Two different constraints of the result: the group ends before the second one.
// CHECK-LABEL: @two_of_result(
// CHECK: %[[Y:.+]] = nn.rms_norm %arg0, %{{[^1]+}} eps
// CHECK-NEXT: %[[C:.+]] = dist.constraint %[[Y]] <@mesh, [{"dp"}, {}, {"tp"}]>
// CHECK-NEXT: %[[D:.+]] = dist.constraint %[[C]] <@mesh, [{"dp"}, {"tp"}, {}]>
// CHECK: arith.mulf %[[D]]
// REMARK: constraints_near_misses.mlir:[[@LINE+12]]:{{[0-9]+}}: remark: [Missed] NotRaised | Category:import | Remark="nn.rms_norm: dist.constraint inside of it cannot move to an operand or the result"
func.func @two_of_result(%arg0: tensor<2x4x16xf32>, %arg1: tensor<16xf32>) -> tensor<2x4x16xf32> {
  %cst = arith.constant dense<9.99999997E-7> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %1 = nn.reduce <sum> %0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %2 = arith.divf %1, %cst_0 : tensor<2x4xf32>
  %3 = arith.addf %2, %cst : tensor<2x4xf32>
  %4 = math.sqrt %3 : tensor<2x4xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %c = dist.constraint %5 <@mesh, [{"dp"}, {}, {"tp"}]> : tensor<2x4x16xf32>
  %6 = arith.divf %arg0, %c : tensor<2x4x16xf32>
  %d = dist.constraint %6 <@mesh, [{"dp"}, {"tp"}, {}]> : tensor<2x4x16xf32>
  %7 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %8 = arith.mulf %d, %7 : tensor<2x4x16xf32>
  return %8 : tensor<2x4x16xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Axes that a number per row cannot have, but the result's last dimension could.
// CHECK-LABEL: @replicated(
// CHECK-NOT: nn.rms_norm
// CHECK: dist.constraint {{.*}} <@mesh, [{"dp"}, {?}], replicated={"tp"}>
// REMARK: remark: [Missed] NotRaised | Category:import | Remark="nn.rms_norm: dist.constraint inside of it cannot move to an operand or the result"
func.func @replicated(%arg0: tensor<2x4x16xf32>, %arg1: tensor<16xf32>) -> tensor<2x4x16xf32> {
  %cst = arith.constant dense<9.99999997E-7> : tensor<2x4xf32>
  %cst_0 = arith.constant dense<1.600000e+01> : tensor<2x4xf32>
  %0 = arith.mulf %arg0, %arg0 : tensor<2x4x16xf32>
  %1 = nn.reduce <sum> %0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %c = dist.constraint %1 <@mesh, [{"dp"}, {?}], replicated={"tp"}> : tensor<2x4xf32>
  %2 = arith.divf %c, %cst_0 : tensor<2x4xf32>
  %3 = arith.addf %2, %cst : tensor<2x4xf32>
  %4 = math.sqrt %3 : tensor<2x4xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %6 = arith.divf %arg0, %5 : tensor<2x4x16xf32>
  %7 = nn.broadcast %arg1 dims [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %8 = arith.mulf %6, %7 : tensor<2x4x16xf32>
  return %8 : tensor<2x4x16xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// A number per row is broadcast to a row, which is reduced: neither operand nor
// result is elementwise in it. The softmax after it is raised.
// CHECK-LABEL: @no_path(
// CHECK: dist.constraint {{.*}} <@mesh, [{"dp"}, {}, {"tp"}]>
// CHECK: %[[X:.+]] = arith.subf
// CHECK: nn.softmax %[[X]]
// REMARK: remark: [Missed] NotRaised | Category:import | Remark="nn.softmax: dist.constraint inside of it cannot move to an operand or the result"
func.func @no_path(%arg0: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %0 = nn.reduce <max> %arg0 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %b = nn.broadcast %0 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %c = dist.constraint %b <@mesh, [{"dp"}, {}, {"tp"}]> : tensor<2x4x16xf32>
  %m = nn.reduce <max> %c dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %1 = nn.broadcast %m dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %2 = arith.subf %arg0, %1 : tensor<2x4x16xf32>
  %3 = math.exp %2 : tensor<2x4x16xf32>
  %4 = nn.reduce <sum> %3 dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %6 = arith.divf %3, %5 : tensor<2x4x16xf32>
  return %6 : tensor<2x4x16xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// The ops around the constraint are not a softmax: there is no remark on it.
// CHECK-LABEL: @another_function(
// CHECK-NOT: nn.softmax
// CHECK: dist.constraint
// REMARK-NOT: inside of it
func.func @another_function(%arg0: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %3 = math.exp %arg0 : tensor<2x4x16xf32>
  %c = dist.constraint %3 <@mesh, [{"dp"}, {}, {"tp"}]> : tensor<2x4x16xf32>
  %p = arith.mulf %c, %c : tensor<2x4x16xf32>
  %4 = nn.reduce <sum> %p dims [2] : tensor<2x4x16xf32> -> tensor<2x4xf32>
  %5 = nn.broadcast %4 dims [0, 1] : tensor<2x4xf32> -> tensor<2x4x16xf32>
  %6 = arith.divf %c, %5 : tensor<2x4x16xf32>
  return %6 : tensor<2x4x16xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// Scores and weights with two shardings; the softmax between is raised.
// CHECK-LABEL: @attention_two(
// CHECK: dist.constraint {{.*}} <@mesh, [{"dp"}, {"tp"}, {}, {?}]>
// CHECK: nn.softmax
// CHECK: dist.constraint {{.*}} <@mesh, [{"dp"}, {}, {"tp"}, {?}]>
// CHECK-NOT: nn.attention
// REMARK: remark: [Missed] NotRaised | Category:import | Remark="nn.attention: dist.constraint inside of it cannot move to an operand or the result"
func.func @attention_two(%arg0: tensor<2x8x4x4xf32>, %arg1: tensor<2x8x4x4xf32>, %arg2: tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> {
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32> -> tensor<2x4x8x8xf32>
  %c = dist.constraint %0 <@mesh, [{"dp"}, {"tp"}, {}, {?}]> : tensor<2x4x8x8xf32>
  %7 = nn.softmax %c dim 3 : tensor<2x4x8x8xf32>
  %d = dist.constraint %7 <@mesh, [{"dp"}, {}, {"tp"}, {?}]> : tensor<2x4x8x8xf32>
  %8 = nn.einsum "acbd,abec->aebd" %arg2, %d : tensor<2x8x4x4xf32>, tensor<2x4x8x8xf32> -> tensor<2x8x4x4xf32>
  return %8 : tensor<2x8x4x4xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// A sharded mask: attention has none.
// CHECK-LABEL: @mask(
// CHECK: dist.constraint {{.*}} <@mesh, [{"tp"}, {}]> : tensor<8x8xi1>
// CHECK: nn.softmax
// CHECK-NOT: nn.attention
// REMARK: [[@LINE+7]]:{{[0-9]+}}: remark: [Missed] NotRaised | Category:import | Remark="nn.attention: dist.constraint inside of it cannot move to an operand or the result"
func.func @mask(%arg0: tensor<2x8x3x4xf32>, %arg1: tensor<2x8x3x4xf32>, %arg2: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %cst = arith.constant dense<-3.40282347E+38> : tensor<2x3x8x8xf32>
  %i = nn.iota : tensor<8xi32>
  %q = nn.broadcast %i dims [0] : tensor<8xi32> -> tensor<8x8xi32>
  %k = nn.broadcast %i dims [1] : tensor<8xi32> -> tensor<8x8xi32>
  %m = arith.cmpi sge, %q, %k : tensor<8x8xi32>
  %s = dist.constraint %m <@mesh, [{"tp"}, {}]> : tensor<8x8xi1>
  %0 = nn.einsum "adbc,aebc->abde" %arg0, %arg1 : tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32> -> tensor<2x3x8x8xf32>
  %2 = nn.broadcast %s dims [2, 3] : tensor<8x8xi1> -> tensor<2x3x8x8xi1>
  %3 = arith.select %2, %0, %cst : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %7 = nn.softmax %3 dim 3 : tensor<2x3x8x8xf32>
  %8 = nn.einsum "acbd,abec->aebd" %arg2, %7 : tensor<2x8x3x4xf32>, tensor<2x3x8x8xf32> -> tensor<2x8x3x4xf32>
  return %8 : tensor<2x8x3x4xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// A rotated row is read as a whole.
// CHECK-LABEL: @rope(
// CHECK: dist.constraint {{.*}} <@mesh, [{"dp"}, {}, {}, {"tp"}]> : tensor<2x3x4x2xf32>
// CHECK-NOT: nn.rope
// REMARK: remark: [Missed] NotRaised | Category:import | Remark="nn.rope: dist.constraint inside of it cannot move to an operand or the result"
func.func @rope(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %cb = nn.broadcast %c dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x3x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x3x4x2xf32>
  %2 = arith.subf %0, %1 : tensor<2x3x4x2xf32>
  %k = dist.constraint %2 <@mesh, [{"dp"}, {}, {}, {"tp"}]> : tensor<2x3x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x3x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x3x4x2xf32>
  %5 = arith.addf %3, %4 : tensor<2x3x4x2xf32>
  %6 = tensor.concat dim(3) %k, %5 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

dist.mesh @mesh ["dp"=2, "tp"=2]

// A sharded table, which nn.rope does not have.
// CHECK-LABEL: @rope_table(
// CHECK: dist.constraint {{.*}} <@mesh, [{"tp"}, {}]> : tensor<4x2xf32>
// CHECK-NOT: nn.rope
// REMARK: [[@LINE+4]]:{{[0-9]+}}: remark: [Missed] NotRaised | Category:import | Remark="nn.rope: dist.constraint inside of it cannot move to an operand or the result"
func.func @rope_table(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %c = arith.constant dense<[[1.000000000e+00, 1.000000000e+00], [5.403022766e-01, 9.999499917e-01], [-4.161468446e-01, 9.998000264e-01], [-9.899924994e-01, 9.995500445e-01]]> : tensor<4x2xf32>
  %s = arith.constant dense<[[0.000000000e+00, 0.000000000e+00], [8.414709568e-01, 9.999833070e-03], [9.092974067e-01, 1.999866590e-02], [1.411200017e-01, 2.999549918e-02]]> : tensor<4x2xf32>
  %k = dist.constraint %c <@mesh, [{"tp"}, {}]> : tensor<4x2xf32>
  %cb = nn.broadcast %k dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %sb = nn.broadcast %s dims [2, 3] : tensor<4x2xf32> -> tensor<2x3x4x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %high = tensor.extract_slice %x[0, 0, 0, 2] [2, 3, 4, 2] [1, 1, 1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x4x2xf32>
  %0 = arith.mulf %low, %cb : tensor<2x3x4x2xf32>
  %1 = arith.mulf %high, %sb : tensor<2x3x4x2xf32>
  %2 = arith.subf %0, %1 : tensor<2x3x4x2xf32>
  %3 = arith.mulf %high, %cb : tensor<2x3x4x2xf32>
  %4 = arith.mulf %low, %sb : tensor<2x3x4x2xf32>
  %5 = arith.addf %3, %4 : tensor<2x3x4x2xf32>
  %6 = tensor.concat dim(3) %2, %5 : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}
