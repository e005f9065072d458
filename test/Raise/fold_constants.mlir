// Values that depend on constants alone are computed, without the dimensions
// along which they are equal; integers in equal steps become an iota.
// RUN: tessera-opt %s --nn-fold-constants --split-input-file | FileCheck %s

// CHECK-LABEL: @steps
// CHECK-NEXT: %[[IOTA:.+]] = nn.iota : tensor<8xi32>
// CHECK-NEXT: return %[[IOTA]]
func.func @steps() -> tensor<8xi32> {
  %0 = nn.iota : tensor<8xi32>
  %1 = arith.constant dense<8> : tensor<8xi32>
  %2 = arith.addi %0, %1 : tensor<8xi32>
  %3 = arith.remsi %2, %1 : tensor<8xi32>
  return %3 : tensor<8xi32>
}

// -----

// CHECK-LABEL: @step_and_start
// CHECK: %[[IOTA:.+]] = nn.iota : tensor<4xi64>
// CHECK: %[[STEP:.+]] = arith.constant dense<-3> : tensor<4xi64>
// CHECK: %[[SCALED:.+]] = arith.muli %[[IOTA]], %[[STEP]]
// CHECK: %[[START:.+]] = arith.constant dense<5> : tensor<4xi64>
// CHECK: %[[MOVED:.+]] = arith.addi %[[SCALED]], %[[START]]
// CHECK: return %[[MOVED]]
func.func @step_and_start() -> tensor<4xi64> {
  %0 = arith.constant dense<[10, 4, -2, -8]> : tensor<4xi64>
  %1 = arith.constant dense<2> : tensor<4xi64>
  %2 = arith.divsi %0, %1 : tensor<4xi64>
  return %2 : tensor<4xi64>
}

// -----

// Equal rows: one is stored.
// CHECK-LABEL: @rows
// CHECK: %[[ROW:.+]] = arith.constant dense<[1.000000e+00, 2.000000e+00, 4.000000e+00]> : tensor<3xf32>
// CHECK: %[[ROWS:.+]] = nn.broadcast %[[ROW]] dims [1] : tensor<3xf32> -> tensor<2x3xf32>
// CHECK: arith.addf %{{.*}}, %[[ROWS]]
func.func @rows(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = arith.constant dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf32>
  %1 = math.exp2 %0 : tensor<2x3xf32>
  %2 = arith.addf %x, %1 : tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// A mask stays computed from positions, and ops without a folder stay.
// CHECK-LABEL: @kept
// CHECK: arith.cmpi sge
// CHECK: arith.divsi
func.func @kept() -> (tensor<8x8xi1>, tensor<2xi32>) {
  %0 = nn.iota : tensor<8xi32>
  %1 = nn.broadcast %0 dims [0] : tensor<8xi32> -> tensor<8x8xi32>
  %2 = nn.broadcast %0 dims [1] : tensor<8xi32> -> tensor<8x8xi32>
  %3 = arith.cmpi sge, %1, %2 : tensor<8x8xi32>
  %4 = arith.constant dense<[1, 0]> : tensor<2xi32>
  %5 = arith.divsi %4, %4 : tensor<2xi32>
  return %3, %5 : tensor<8x8xi1>, tensor<2xi32>
}

// -----

// More than 64 KiB are not computed.
// CHECK-LABEL: @large
// CHECK: math.exp
func.func @large() -> tensor<128x129xf32> {
  %0 = arith.constant dense<1.0> : tensor<128x129xf32>
  %1 = math.exp %0 : tensor<128x129xf32>
  return %1 : tensor<128x129xf32>
}

// -----

// A list is a constant too.
// CHECK-LABEL: @list
// CHECK: %[[IOTA:.+]] = nn.iota : tensor<4xi64>
// CHECK: nn.embedding %{{.*}}, %[[IOTA]]
func.func @list(%table: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %0 = arith.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %1 = nn.embedding %table, %0 : tensor<8x16xf32>, tensor<4xi64> -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// A splat is a constant of any size, and ops on it are folded.
// CHECK-LABEL: @splat
// CHECK-NEXT: %[[TWO:.+]] = arith.constant dense<2.000000e+00> : tensor<256x256xf32>
// CHECK-NEXT: %[[Y:.+]] = arith.mulf %arg0, %[[TWO]]
// CHECK-NEXT: return %[[Y]]
func.func @splat(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = arith.constant dense<1.0> : tensor<f32>
  %1 = arith.addf %0, %0 : tensor<f32>
  %2 = nn.broadcast %1 dims [] : tensor<f32> -> tensor<256x256xf32>
  %3 = arith.mulf %x, %2 : tensor<256x256xf32>
  return %3 : tensor<256x256xf32>
}

// -----

// A tensor larger than any memory is not computed.
// CHECK-LABEL: @too_large
// CHECK: nn.iota : tensor<9223372036854775807xi32>
// CHECK: nn.iota : tensor<1099511627776xi32>
func.func @too_large() -> (tensor<9223372036854775807xi32>, tensor<2xi32>) {
  %0 = nn.iota : tensor<9223372036854775807xi32>
  %1 = arith.constant dense<8> : tensor<9223372036854775807xi32>
  %2 = arith.remsi %0, %1 : tensor<9223372036854775807xi32>
  %3 = nn.iota : tensor<1099511627776xi32>
  %4 = tensor.extract_slice %3[7] [2] [1] : tensor<1099511627776xi32> to tensor<2xi32>
  return %2, %4 : tensor<9223372036854775807xi32>, tensor<2xi32>
}

// -----

// A constant without elements is erased.
// CHECK-LABEL: @empty
// CHECK: arith.negf %{{.*}} : tensor<0x4xf32>
func.func @empty() -> tensor<0x4xf32> {
  %0 = arith.constant dense<0.0> : tensor<0x4xf32>
  %1 = arith.negf %0 : tensor<0x4xf32>
  return %1 : tensor<0x4xf32>
}
