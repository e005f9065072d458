// Types grow, true shapes are kept, masks are inserted if padding would count.
// RUN: tessera-opt %s --dist-propagate-shardings --dist-pad-factors | FileCheck %s

dist.mesh @mesh ["x"=8]

// CHECK-LABEL: func.func @parallel(
// CHECK-SAME: %{{.*}}: tensor<24x4xf32> {dist.global_shape = array<i64: 17, 4>
// CHECK-SAME: -> (tensor<24x4xf32> {dist.global_shape = array<i64: 17, 4>
// CHECK: math.exp {{.*}} : tensor<24x4xf32>
// CHECK-NOT: nn.mask_padding
// CHECK: return
func.func @parallel(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<17x4xf32> {
  %0 = math.exp %x : tensor<17x4xf32>
  return %0 : tensor<17x4xf32>
}

// Zeros of arguments stay zeros in linear ops: no mask.
// CHECK-LABEL: func.func @zeros_stay(
// CHECK-NOT: nn.mask_padding
// CHECK: nn.reduce <sum> {{.*}} : tensor<24x4xf32> -> tensor<4xf32>
func.func @zeros_stay(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}, %w: tensor<4x4xf32>) -> tensor<4xf32> {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<17x4xf32>, tensor<4x4xf32> -> tensor<17x4xf32>
  %1 = arith.negf %0 : tensor<17x4xf32>
  %2 = nn.reduce <sum> %1 dims [0] : tensor<17x4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func.func @sum(
// CHECK: %[[M:.*]] = nn.mask_padding %{{.*}} dim 0 size 17 value 0.000000e+00
// CHECK-NEXT: nn.reduce <sum> %[[M]]
func.func @sum(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<17x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<17x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Zeros are not neutral in a maximum, not even an argument's.
// CHECK-LABEL: func.func @max(
// CHECK: nn.mask_padding %{{.*}} dim 0 size 17 value 0xFF800000
// CHECK-NEXT: nn.reduce <max>
func.func @max(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<4xf32> {
  %1 = nn.reduce <max> %x dims [0] : tensor<17x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @integer_min(
// CHECK: nn.mask_padding %{{.*}} dim 0 size 17 value 2147483647
// CHECK-NEXT: nn.reduce <min>
func.func @integer_min(%x: tensor<17xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> tensor<i32> {
  %1 = nn.reduce <min> %x dims [0] : tensor<17xi32> -> tensor<i32>
  return %1 : tensor<i32>
}

// Attention masks keys itself.
// CHECK-LABEL: func.func @attention(
// CHECK-NOT: nn.mask_padding
// CHECK: nn.attention scale {{.*}} keys 9
func.func @attention(%q: tensor<2x5x4x1x8xf32>, %k: tensor<2x9x4x8xf32>, %v: tensor<2x9x4x8xf32>,
    %p: tensor<9x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2x5x4x1x8xf32>, tensor<9x2x4x8xf32>) {
  %o = nn.attention scale 0.35 %q, %k, %v : tensor<2x5x4x1x8xf32>, tensor<2x9x4x8xf32>, tensor<2x9x4x8xf32> -> tensor<2x5x4x1x8xf32>
  %t = nn.transpose %k [1, 0, 2, 3] {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}, {}, {}]>]} : tensor<2x9x4x8xf32> -> tensor<9x2x4x8xf32>
  return %o, %t : tensor<2x5x4x1x8xf32>, tensor<9x2x4x8xf32>
}

// Sizes that divide are unchanged.
// CHECK-LABEL: func.func @divides(
// CHECK-NOT: dist.global_shape
// CHECK: return
func.func @divides(%x: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>}) -> tensor<16x4xf32> {
  %0 = math.exp %x : tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
