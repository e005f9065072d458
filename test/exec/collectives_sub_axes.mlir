// Collectives over sub-axes, on eight ranks: rank = 2 * x + y, where x has a
// major and a minor half: x = 2 * x:(1)2 + x:(2)2.
// RUN: tessera verify %s --interpret | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// CHECK-LABEL: @offsets
// CHECK-NEXT: result0, ranks 0-3: 0
// CHECK-NEXT: result0, ranks 4-7: 1
// CHECK-NEXT: result1, ranks 0-1,4-5: 0
// CHECK-NEXT: result1, ranks 2-3,6-7: 1
func.func @offsets() -> (index, index) {
  %0 = dist.axis_offset <{"x":(1)2}> size 1 on @mesh : index
  %1 = dist.axis_offset <{"x":(2)2}> size 1 on @mesh : index
  return %0, %1 : index, index
}

// Groups over the major half: ranks 0 and 4, 1 and 5, 2 and 6, 3 and 7.
// CHECK-LABEL: @gather_major
// CHECK-NEXT: result0, ranks 0,4: [0, 4]
// CHECK-NEXT: result0, ranks 1,5: [1, 5]
// CHECK-NEXT: result0, ranks 2,6: [2, 6]
// CHECK-NEXT: result0, ranks 3,7: [3, 7]
func.func @gather_major(%a: tensor<1xi32> {interpret.values = [
    dense<0> : tensor<1xi32>, dense<1> : tensor<1xi32>, dense<2> : tensor<1xi32>,
    dense<3> : tensor<1xi32>, dense<4> : tensor<1xi32>, dense<5> : tensor<1xi32>,
    dense<6> : tensor<1xi32>, dense<7> : tensor<1xi32>]}) -> tensor<2xi32> {
  %0 = dist.all_gather %a dim 0 over <{"x":(1)2}> on @mesh : tensor<1xi32> -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// Over y and the minor half, y major: ranks 0, 2, 1, 3 and 4, 6, 5, 7.
// CHECK-LABEL: @gather_y_minor
// CHECK-NEXT: result0, ranks 0-3: [0, 2, 1, 3]
// CHECK-NEXT: result0, ranks 4-7: [4, 6, 5, 7]
func.func @gather_y_minor(%a: tensor<1xi32> {interpret.values = [
    dense<0> : tensor<1xi32>, dense<1> : tensor<1xi32>, dense<2> : tensor<1xi32>,
    dense<3> : tensor<1xi32>, dense<4> : tensor<1xi32>, dense<5> : tensor<1xi32>,
    dense<6> : tensor<1xi32>, dense<7> : tensor<1xi32>]}) -> tensor<4xi32> {
  %0 = dist.all_gather %a dim 0 over <{"y", "x":(2)2}> on @mesh : tensor<1xi32> -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// The two halves of x, one after the other, are x.
// CHECK-LABEL: @reduce_halves
// CHECK-NEXT: result0, ranks 0,2,4,6: [12]
// CHECK-NEXT: result0, ranks 1,3,5,7: [16]
// CHECK-NEXT: result1, ranks 0,2,4,6: [12]
// CHECK-NEXT: result1, ranks 1,3,5,7: [16]
func.func @reduce_halves(%a: tensor<1xi32> {interpret.values = [
    dense<0> : tensor<1xi32>, dense<1> : tensor<1xi32>, dense<2> : tensor<1xi32>,
    dense<3> : tensor<1xi32>, dense<4> : tensor<1xi32>, dense<5> : tensor<1xi32>,
    dense<6> : tensor<1xi32>, dense<7> : tensor<1xi32>]})
    -> (tensor<1xi32>, tensor<1xi32>) {
  %0 = dist.all_reduce <sum> %a over <{"x":(1)2}> on @mesh : tensor<1xi32> -> tensor<1xi32>
  %1 = dist.all_reduce <sum> %0 over <{"x":(2)2}> on @mesh : tensor<1xi32> -> tensor<1xi32>
  %2 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<1xi32> -> tensor<1xi32>
  return %1, %2 : tensor<1xi32>, tensor<1xi32>
}
