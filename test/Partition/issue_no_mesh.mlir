// A module without a mesh is a program for one device: it is not changed.
// RUN: tessera-opt %s --tessera-propagate --tessera-partition | FileCheck %s
// RUN: tessera-opt %s --compile-to="partition" | FileCheck %s

// CHECK-NOT: dist.
// CHECK-LABEL: func.func @double
// CHECK-NEXT: arith.addf
func.func @double(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = arith.addf %x, %x : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
