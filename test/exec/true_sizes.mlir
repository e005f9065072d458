// Sizes that the mesh does not divide, at ops that cannot take padding. Every
// function is interpreted unchanged and on four ranks.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=4]

// CHECK-LABEL: @slice: 4 ranks
// CHECK: yes
// CHECK: partition proven
func.func @slice(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<9x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %e = math.exp %x : tensor<17x4xf32>
  %0 = tensor.extract_slice %e[5, 0] [9, 4] [1, 1] : tensor<17x4xf32> to tensor<9x4xf32>
  %1 = math.tanh %0 : tensor<9x4xf32>
  return %1 : tensor<9x4xf32>
}

// CHECK-LABEL: @join: 4 ranks
// CHECK: yes
// CHECK: partition proven
func.func @join(%x: tensor<5x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<6x4xf32>) -> tensor<4xf32> {
  %e = math.exp %x : tensor<5x4xf32>
  %0 = tensor.concat dim(0) %e, %y, %e : (tensor<5x4xf32>, tensor<6x4xf32>, tensor<5x4xf32>) -> tensor<16x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<16x4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @minor_factor: 4 ranks
// CHECK: yes
// CHECK: partition proven
func.func @minor_factor(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<24xf32>, tensor<4xf32>) {
  %e = math.exp %x : tensor<4x6xf32>
  %0 = tensor.collapse_shape %e [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  %1 = nn.reduce <sum> %e dims [1] : tensor<4x6xf32> -> tensor<4xf32>
  return %0, %1 : tensor<24xf32>, tensor<4xf32>
}

// Two reshapes that do not agree on a padded size.
// CHECK-LABEL: @no_common_ratio: 4 ranks
// CHECK: yes
// CHECK: yes
// CHECK: partition proven
func.func @no_common_ratio(%x: tensor<30xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<6x5xf32>, tensor<10x3xf32>) {
  %e = math.exp %x : tensor<30xf32>
  %0 = tensor.expand_shape %e [[0, 1]] output_shape [6, 5] : tensor<30xf32> into tensor<6x5xf32>
  %1 = tensor.expand_shape %e [[0, 1]] output_shape [10, 3] : tensor<30xf32> into tensor<10x3xf32>
  return %0, %1 : tensor<6x5xf32>, tensor<10x3xf32>
}

// A dimension of size 1 is padded for its user, not for the reshape.
// CHECK-LABEL: @unit_dimension: 4 ranks
// CHECK: yes
// CHECK: partition proven
func.func @unit_dimension(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %y: tensor<1x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x6xf32>, tensor<6xf32>) {
  %e = math.exp %x : tensor<6xf32>
  %0 = tensor.expand_shape %e [[0, 1]] output_shape [1, 6] : tensor<6xf32> into tensor<1x6xf32>
  %1 = arith.mulf %0, %y : tensor<1x6xf32>
  %2 = tensor.collapse_shape %y [[0, 1]] : tensor<1x6xf32> into tensor<6xf32>
  return %1, %2 : tensor<1x6xf32>, tensor<6xf32>
}

// A softmax that is not decomposed, since its dimension is not sharded, and
// another user that pads the dimension.
// CHECK-LABEL: @own_reduction: 4 ranks
// CHECK: yes
// CHECK: partition proven
func.func @own_reduction(%x: tensor<3x6xf32>, %w: tensor<6x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<3x5xf32> {
  %0 = nn.softmax %x dim 1 : tensor<3x6xf32>
  %1 = nn.einsum "ij,jk->ik" %0, %w : tensor<3x6xf32>, tensor<6x5xf32> -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// The callee has its own sizes, and its arguments have zeros in their padding.
// CHECK-LABEL: @caller: 4 ranks
// CHECK: yes
// CHECK: partition proven
func.func private @callee(%x: tensor<5x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<3xf32> {
  %0 = nn.reduce <sum> %x dims [0] : tensor<5x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func @caller(%x: tensor<5x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<3xf32> {
  %e = math.exp %x : tensor<5x3xf32>
  %0 = func.call @callee(%e) : (tensor<5x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Divisors and shift counts are valid in the padding.
// CHECK-LABEL: @divisors: 4 ranks
// CHECK: yes
// CHECK: partition proven
func.func @divisors(%a: tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<6xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %c = arith.constant dense<[1, -2, 3, 4, -5, 6]> : tensor<6xi32>
  %s = arith.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi32>
  %q = arith.divsi %a, %c : tensor<6xi32>
  %r = arith.remsi %a, %c : tensor<6xi32>
  %t = arith.addi %q, %r : tensor<6xi32>
  %l = arith.shli %t, %s : tensor<6xi32>
  %i = tensor.empty() : tensor<6xi32>
  %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%l, %c : tensor<6xi32>, tensor<6xi32>) outs(%i : tensor<6xi32>) {
  ^bb0(%x: i32, %y: i32, %o: i32):
    %k = arith.constant 2 : i32
    %y2 = arith.muli %y, %k : i32
    %m = arith.remsi %x, %y : i32
    %z = arith.divsi %m, %y2 : i32
    linalg.yield %z : i32
  } -> tensor<6xi32>
  return %g : tensor<6xi32>
}

// A dimension of size 1 that the slice drops is not padded to one on each
// device.
// CHECK-LABEL: @dropped_dimension
// CHECK: yes
// CHECK: partition proven
func.func @dropped_dimension(%a: tensor<1x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<6xf32> {
  %0 = tensor.extract_slice %a[0, 0] [1, 6] [1, 1] : tensor<1x6xf32> to tensor<6xf32>
  return %0 : tensor<6xf32>
}

// Positions and splats have no size of their own: their true elements are those
// that the users need.
// CHECK-LABEL: @positions: 4 ranks
// CHECK: yes
// CHECK: partition proven
func.func @positions() -> (tensor<2xi32>, tensor<7xi32>) {
  %0 = nn.iota {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<5xi32>
  %1 = tensor.extract_slice %0[2] [2] [1] : tensor<5xi32> to tensor<2xi32>
  %2 = tensor.generate {
  ^bb0(%i: index):
    %c = arith.index_cast %i : index to i32
    tensor.yield %c : i32
  } {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<2xi32>
  %3 = tensor.concat dim(0) %0, %2 : (tensor<5xi32>, tensor<2xi32>) -> tensor<7xi32>
  return %1, %3 : tensor<2xi32>, tensor<7xi32>
}
