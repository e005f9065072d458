// RUN: tessera-opt %s --dist-propagate-shardings | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// A constant with two uses of different shardings becomes two.
// CHECK-LABEL: func @split
func.func @split(
    %a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %b: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<16xf32>, tensor<16xf32>) {
  // CHECK: %[[X:.*]] = arith.constant {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} dense<1.000000e+00>
  // CHECK: %[[Y:.*]] = arith.constant {dist.shardings = [#dist.sharding<@mesh, [{"y"}]>]} dense<1.000000e+00>
  // CHECK-NOT: arith.constant
  %one = arith.constant dense<1.0> : tensor<16xf32>
  // CHECK: arith.addf %{{.*}}, %[[X]]
  %0 = arith.addf %a, %one : tensor<16xf32>
  // CHECK: arith.addf %{{.*}}, %[[Y]]
  %1 = arith.addf %b, %one : tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// If the copies agree, one is left.
// CHECK-LABEL: func @merged
func.func @merged(
    %a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %b: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<16xf32>, tensor<16xf32>) {
  // CHECK: arith.constant
  // CHECK-NOT: arith.constant
  %one = arith.constant dense<1.0> : tensor<16xf32>
  %0 = arith.addf %a, %one : tensor<16xf32>
  %1 = arith.addf %b, %one : tensor<16xf32>
  // CHECK: return
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// A fill that two ops start from, with its empty tensor. An iota too.
// CHECK-LABEL: func @fill_and_iota
func.func @fill_and_iota(
    %a: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %c: tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>},
    %d: tensor<16xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<16xf32>, tensor<16xf32>, tensor<16xi32>, tensor<16xi32>) {
  %zero = arith.constant 0.0 : f32
  // CHECK-COUNT-2: tensor.empty
  // CHECK-COUNT-2: linalg.fill
  %empty = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16xf32>) -> tensor<16xf32>
  %0 = linalg.reduce ins(%a : tensor<16x4xf32>) outs(%init : tensor<16xf32>) dimensions = [1]
      (%x: f32, %y: f32) { %s = arith.addf %x, %y : f32 linalg.yield %s : f32 }
  %1 = linalg.reduce ins(%b : tensor<16x4xf32>) outs(%init : tensor<16xf32>) dimensions = [1]
      (%x: f32, %y: f32) { %s = arith.addf %x, %y : f32 linalg.yield %s : f32 }
  // CHECK-COUNT-2: nn.iota
  %i = nn.iota : tensor<16xi32>
  %2 = arith.addi %c, %i : tensor<16xi32>
  %3 = arith.addi %d, %i : tensor<16xi32>
  // CHECK: return
  return %0, %1, %2, %3 : tensor<16xf32>, tensor<16xf32>, tensor<16xi32>, tensor<16xi32>
}

// An unused constant is unchanged.
// CHECK-LABEL: func @unused
// CHECK: arith.constant {{.*}}dense<2.000000e+00> : tensor<16xf32>
func.func @unused(%a: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
  %two = arith.constant dense<2.0> : tensor<16xf32>
  return %a : tensor<16xf32>
}
