// An op with an internal reduction becomes plain reductions if the reduced
// dimension is sharded, and stays whole otherwise.
// RUN: tessera-opt %s --dist-propagate-shardings --dist-decompose | FileCheck %s

dist.mesh @mesh ["x"=4]

// CHECK-LABEL: func.func @softmax(
// CHECK-NOT: nn.softmax
// CHECK: nn.reduce <max>
// CHECK: math.exp {{.*}}[{}, {"x"}]
// CHECK: nn.reduce <sum>
// CHECK: arith.divf {{.*}}[{}, {"x"}]
func.func @softmax(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8x16xf32> {
  %0 = nn.softmax %x dim 1 : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @softmax_of_other_dim(
// CHECK: nn.softmax {{.*}}[{"x"}, {}]
func.func @softmax_of_other_dim(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x16xf32> {
  %0 = nn.softmax %x dim 1 : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @loss(
// CHECK-NOT: nn.cross_entropy
// CHECK: nn.reduce <max>
// CHECK: nn.reduce <sum>
// CHECK: nn.take_along_axis
func.func @loss(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}, %l: tensor<8xi32>) -> tensor<8xf32> {
  %0 = nn.cross_entropy %x, %l ignore -100 : tensor<8x16xf32>, tensor<8xi32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Not sharded, but padded: 18 columns on 4 devices by the other use.
// CHECK-LABEL: func.func @padded(
// CHECK-NOT: nn.softmax
// CHECK: nn.reduce <max>
func.func @padded(%x: tensor<8x18xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x18xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, tensor<8x18xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = nn.softmax %x dim 1 : tensor<8x18xf32>
  %1 = math.exp %x : tensor<8x18xf32>
  return %0, %1 : tensor<8x18xf32>, tensor<8x18xf32>
}
