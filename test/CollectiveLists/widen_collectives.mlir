// RUN: tessera-opt %s --pass-pipeline='builtin.module(func.func(rt-widen-collectives))' | FileCheck %s

dist.mesh @mesh ["x"=2]

// The runtime does not add 16-bit integers. A sum that wraps does so in a cast.
// CHECK-LABEL: func.func @sum
// CHECK: %[[W:.*]] = arith.extsi %{{.*}} : tensor<4xi16> to tensor<4xi32>
// CHECK: %[[R:.*]] = dist.all_reduce <sum> %[[W]] {{.*}} : tensor<4xi32> -> tensor<4xi32>
// CHECK: arith.trunci %[[R]] : tensor<4xi32> to tensor<4xi16>
func.func @sum(%a: tensor<4xi16>) -> tensor<4xi16> {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<4xi16> -> tensor<4xi16>
  return %0 : tensor<4xi16>
}

// CHECK-LABEL: func.func @max
// CHECK: dist.all_reduce <max> %{{.*}} : tensor<4xi32> -> tensor<4xi32>
func.func @max(%a: tensor<4xi16>) -> tensor<4xi16> {
  %0 = dist.all_reduce <max> %a over <{"x"}> on @mesh : tensor<4xi16> -> tensor<4xi16>
  return %0 : tensor<4xi16>
}

// A gather moves bytes of any type.
// CHECK-LABEL: func.func @gather
// CHECK-NEXT: dist.all_gather %{{.*}} : tensor<4xi16> -> tensor<8xi16>
func.func @gather(%a: tensor<4xi16>) -> tensor<8xi16> {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<4xi16> -> tensor<8xi16>
  return %0 : tensor<8xi16>
}

// CHECK-LABEL: func.func @has_it
// CHECK-NEXT: dist.all_reduce <sum> %{{.*}} : tensor<4xf32> -> tensor<4xf32>
func.func @has_it(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
