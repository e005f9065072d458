// RUN: tessera-opt %s --rt-fold-empty -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<0xFF800000> : tensor<3xf32>
// CHECK-DAG: %[[EINSUM:.*]] = arith.constant dense<0.000000e+00> : tensor<3x3xf32>
// CHECK: return %arg0, %[[ZERO]], %[[LEAST]], %[[EINSUM]], %{{.*}} :
func.func @f(%x: tensor<4x3xf32>, %n: tensor<0x3xf32>) -> (tensor<4x3xf32>, tensor<f32>, tensor<3xf32>, tensor<3x3xf32>, tensor<0x3xf32>) {
  %0 = arith.addf %n, %n : tensor<0x3xf32>
  %1 = tensor.concat dim(0) %x, %n : (tensor<4x3xf32>, tensor<0x3xf32>) -> tensor<4x3xf32>
  %2 = nn.reduce <sum> %0 dims [0, 1] : tensor<0x3xf32> -> tensor<f32>
  %3 = nn.reduce <max> %n dims [0] : tensor<0x3xf32> -> tensor<3xf32>
  %4 = nn.einsum "ka,kb->ab" %n, %n : tensor<0x3xf32>, tensor<0x3xf32> -> tensor<3x3xf32>
  %5 = nn.gelu <tanh> %0 : tensor<0x3xf32>
  return %1, %2, %3, %4, %5 : tensor<4x3xf32>, tensor<f32>, tensor<3xf32>, tensor<3x3xf32>, tensor<0x3xf32>
}

// -----

func.func @unknown(%n: tensor<0x3xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{expects tensors with elements in nn.embedding}}
  %0 = nn.embedding %n, %i : tensor<0x3xf32>, tensor<2xi32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// A loop over empty values is erased with its body.
// CHECK-LABEL: func.func @loop
// CHECK-NOT: scf.for
// CHECK: return %{{.*}} : tensor<0xf32>
func.func @loop(%x: tensor<0xf32>) -> tensor<0xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %x) -> tensor<0xf32> {
    %1 = arith.addf %sum, %x : tensor<0xf32>
    scf.yield %1 : tensor<0xf32>
  }
  return %0 : tensor<0xf32>
}
