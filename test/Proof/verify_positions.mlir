// Refuted programs about positions, equal elements and padding.
// RUN: tessera-opt %s --dist-verify-partition --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

// Positions in each block differ from positions in the whole.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @position(%x: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  // expected-note @below {{the reference computes it here}}
  %v, %i = nn.arg_reduce <max> %x dim 0 : tensor<8x4xf32> -> tensor<4xf32>, tensor<4xi32>
  return %v, %i : tensor<4xf32>, tensor<4xi32>
}
func.func @own_positions(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<4xi32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    attributes {dist.local, dist.reference = @position} {
  %o = dist.axis_offset <{"x"}> size 4 on @mesh : index
  %m = nn.reduce <max> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %v = dist.all_reduce <max> %m over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %b = nn.broadcast %v dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %e = arith.cmpf oeq, %x, %b : tensor<4x4xf32>
  %n = arith.cmpf uno, %x, %x : tensor<4x4xf32>
  %is = arith.ori %e, %n : tensor<4x4xi1>
  %p = nn.iota : tensor<4xi32>
  %q = nn.broadcast %p dims [0] : tensor<4xi32> -> tensor<4x4xi32>
  %none = arith.constant dense<2147483647> : tensor<4x4xi32>
  // expected-error @below {{deviates: arith.select: operand 1 does not fit operand 0: in dimension 0 it is cut into 1 blocks but is needed in 2}}
  %c = arith.select %is, %q, %none : tensor<4x4xi1>, tensor<4x4xi32>
  %l = nn.reduce <min> %c dims [0] : tensor<4x4xi32> -> tensor<4xi32>
  %i = dist.all_reduce <min> %l over <{"x"}> on @mesh : tensor<4xi32> -> tensor<4xi32>
  return %v, %i : tensor<4xf32>, tensor<4xi32>
}

// -----

// The last position instead of the first.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @position(%x: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %v, %i = nn.arg_reduce <max> %x dim 0 : tensor<8x4xf32> -> tensor<4xf32>, tensor<4xi32>
  return %v, %i : tensor<4xf32>, tensor<4xi32>
}
func.func @last_position(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<4xi32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    attributes {dist.local, dist.reference = @position} {
  %o = dist.axis_offset <{"x"}> size 4 on @mesh : index
  %m = nn.reduce <max> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %v = dist.all_reduce <max> %m over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %b = nn.broadcast %v dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %e = arith.cmpf oeq, %x, %b : tensor<4x4xf32>
  %n = arith.cmpf uno, %x, %x : tensor<4x4xf32>
  %is = arith.ori %e, %n : tensor<4x4xi1>
  %p = nn.iota offset %o : tensor<4xi32>
  %q = nn.broadcast %p dims [0] : tensor<4xi32> -> tensor<4x4xi32>
  %none = arith.constant dense<2147483647> : tensor<4x4xi32>
  %c = arith.select %is, %q, %none : tensor<4x4xi1>, tensor<4x4xi32>
  %l = nn.reduce <min> %c dims [0] : tensor<4x4xi32> -> tensor<4xi32>
  // expected-error @below {{deviates: dist.all_reduce: the value is to be reduced by min, not by max}}
  %i = dist.all_reduce <max> %l over <{"x"}> on @mesh : tensor<4xi32> -> tensor<4xi32>
  return %v, %i : tensor<4xf32>, tensor<4xi32>
}

// -----

// Each device's own candidate.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @position(%x: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %v, %i = nn.arg_reduce <max> %x dim 0 : tensor<8x4xf32> -> tensor<4xf32>, tensor<4xi32>
  return %v, %i : tensor<4xf32>, tensor<4xi32>
}
func.func @own_candidate(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<4xi32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    attributes {dist.local, dist.reference = @position} {
  %o = dist.axis_offset <{"x"}> size 4 on @mesh : index
  %m = nn.reduce <max> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %v = dist.all_reduce <max> %m over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %b = nn.broadcast %v dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  %e = arith.cmpf oeq, %x, %b : tensor<4x4xf32>
  %n = arith.cmpf uno, %x, %x : tensor<4x4xf32>
  %is = arith.ori %e, %n : tensor<4x4xi1>
  %p = nn.iota offset %o : tensor<4xi32>
  %q = nn.broadcast %p dims [0] : tensor<4xi32> -> tensor<4x4xi32>
  %none = arith.constant dense<2147483647> : tensor<4x4xi32>
  %c = arith.select %is, %q, %none : tensor<4x4xi1>, tensor<4x4xi32>
  %l = nn.reduce <min> %c dims [0] : tensor<4x4xi32> -> tensor<4xi32>
  // expected-error @below {{deviates: func.return: result 1 is to be reduced over {"x"} but its sharding says {}}}
  return %v, %l : tensor<4xf32>, tensor<4xi32>
}

// -----

// Compared with the maximum of the block.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @position(%x: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  // expected-note @below {{the reference computes it here}}
  %v, %i = nn.arg_reduce <max> %x dim 0 : tensor<8x4xf32> -> tensor<4xf32>, tensor<4xi32>
  return %v, %i : tensor<4xf32>, tensor<4xi32>
}
func.func @own_maximum(%x: tensor<4x4xf32> {dist.global_shape = array<i64: 8, 4>, dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<4xi32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    attributes {dist.local, dist.reference = @position} {
  %o = dist.axis_offset <{"x"}> size 4 on @mesh : index
  %m = nn.reduce <max> %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
  %v = dist.all_reduce <max> %m over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  %b = nn.broadcast %m dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  // expected-error @below {{deviates: arith.cmpf: operand 1 is still to be reduced over {"x"} by max, which the op does not commute with on these operands}}
  %e = arith.cmpf oeq, %x, %b : tensor<4x4xf32>
  %n = arith.cmpf uno, %x, %x : tensor<4x4xf32>
  %is = arith.ori %e, %n : tensor<4x4xi1>
  %p = nn.iota offset %o : tensor<4xi32>
  %q = nn.broadcast %p dims [0] : tensor<4xi32> -> tensor<4x4xi32>
  %none = arith.constant dense<2147483647> : tensor<4x4xi32>
  %c = arith.select %is, %q, %none : tensor<4x4xi1>, tensor<4x4xi32>
  %l = nn.reduce <min> %c dims [0] : tensor<4x4xi32> -> tensor<4xi32>
  %i = dist.all_reduce <min> %l over <{"x"}> on @mesh : tensor<4xi32> -> tensor<4xi32>
  return %v, %i : tensor<4xf32>, tensor<4xi32>
}

// -----

// A tensor inserted into equal elements is not equal to them: its parts differ.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @insert(%a: tensor<2xf32>) -> tensor<8xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  %0 = tensor.insert_slice %a into %zeros[4] [2] [1] : tensor<2xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @other_part(%a: tensor<2xf32> {dist.global_shape = array<i64: 2>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {dist.global_shape = array<i64: 8>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @insert} {
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  %0 = tensor.insert_slice %a into %zeros[4] [2] [1] : tensor<2xf32> into tensor<8xf32>
  %1 = dist.all_slice %0 dim 0 over <{"y"}> on @mesh : tensor<8xf32> -> tensor<4xf32>
  // expected-error @below {{deviates: func.return: result 0, dimension 0: device 1 holds block 1 of 2 but needs block 0}}
  return %1 : tensor<4xf32>
}

// -----

// Positions are masked in the middle of the result.
dist.mesh @mesh ["x"=2]
func.func @positions() -> tensor<4xi32> {
  %0 = nn.iota : tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func @masked_positions() -> (tensor<4xi32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @positions} {
  %0 = nn.iota : tensor<4xi32>
  %1 = nn.mask_padding %0 dim 0 size 2 value 0 : i32 : tensor<4xi32>
  // expected-error @below {{deviates: func.return: result 0, dimension 0, is masked from element 2 on but its true size is 4}}
  return %1 : tensor<4xi32>
}

// -----

// A constant that is neutral in a maximum is masked with another number.
dist.mesh @mesh ["x"=2]
func.func @lowest(%a: tensor<4xf32>) -> tensor<f32> {
  %0 = arith.constant dense<0xFF800000> : tensor<3xf32>
  // expected-note @below {{the reference computes it here}}
  %1 = nn.reduce <max> %0 dims [0] : tensor<3xf32> -> tensor<f32>
  return %1 : tensor<f32>
}
func.func @masked_lowest(%a: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>}) -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @lowest} {
  %0 = arith.constant dense<0xFF800000> : tensor<4xf32>
  %m = nn.mask_padding %0 dim 0 size 3 value 5.0 : f32 : tensor<4xf32>
  // expected-error @below {{deviates: nn.reduce: operand 0 is reduced with its padding, 4 elements for 3, which is not known to be neutral in a max}}
  %1 = nn.reduce <max> %m dims [0] : tensor<4xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The initial value of a sum of equal elements counts once, not per shard.
dist.mesh @mesh ["x"=2]
func.func @init(%b: tensor<4xf32>, %i: tensor<f32>) -> tensor<f32> {
  %0 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<4x4xf32>
  // expected-note @below {{the reference computes it here}}
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4x4xf32>) outs(%i : tensor<f32>) dimensions = [0, 1]
  return %1 : tensor<f32>
}
func.func @init_twice(%b: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>},
    %i: tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @init} {
  %0 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  // expected-error @below {{deviates: linalg.reduce: operand 1, which the reduction starts with, would count once in each of several equal parts of the sum}}
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<2x4xf32>) outs(%i : tensor<f32>) dimensions = [0, 1]
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<f32> -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Equal rows are any block of rows, also when they are flattened with their
// elements: the block that the result declares.
dist.mesh @mesh ["x"=3, "y"=4]
func.func @flat_rows(%b: tensor<4xf32>) -> tensor<24xf32> {
  %0 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<6x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<6x4xf32> into tensor<24xf32>
  return %1 : tensor<24xf32>
}
func.func @flat_blocks(%b: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<8xf32> {dist.global_shape = array<i64: 24>, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) attributes {dist.local, dist.reference = @flat_rows} {
  %0 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  return %1 : tensor<8xf32>
}
// The block is split further within its rows.
func.func @flat_halves(%b: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 24>, dist.sharding = #dist.sharding<@mesh, [{"x", "y"}]>}) attributes {dist.local, dist.reference = @flat_rows} {
  %0 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %2 = dist.all_slice %1 dim 0 over <{"y"}> on @mesh : tensor<8xf32> -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
// In another order the halves of a row differ.
func.func @flat_other_order(%b: tensor<4xf32> {dist.global_shape = array<i64: 4>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 24>, dist.sharding = #dist.sharding<@mesh, [{"y", "x"}]>}) attributes {dist.local, dist.reference = @flat_rows} {
  %0 = nn.broadcast %b dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %2 = dist.all_slice %1 dim 0 over <{"y"}> on @mesh : tensor<8xf32> -> tensor<2xf32>
  // expected-error @below {{not provable: func.return: result 0, dimension 0: device 1 holds block 1 of 12 but needs block 3, and equal blocks before it may be numbered otherwise}}
  return %2 : tensor<2xf32>
}

// -----

// Padding of a minor dimension would be between the concatenated rows.
dist.mesh @mesh ["x"=2]
func.func @flat(%a: tensor<2x3xf32>) -> tensor<6xf32> {
  // expected-note @below {{the reference computes it here}}
  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func @flat_padded(%a: tensor<2x4xf32> {dist.global_shape = array<i64: 2, 3>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<8xf32> {dist.global_shape = array<i64: 6>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @flat} {
  // expected-error @below {{deviates: tensor.collapse_shape: what a device computes of dimension 0 of the result is no block of it}}
  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Only the offset of its mask tells which block of equal elements a device has:
// along a sub-axis too.
dist.mesh @mesh ["x"=4]
func.func @sum_of_equal(%b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.broadcast %b dims [0] : tensor<2xf32> -> tensor<2x3xf32>
  %1 = nn.reduce <sum> %0 dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @sum_of_masked(%b: tensor<2xf32> {dist.global_shape = array<i64: 2>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 2>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sum_of_equal} {
  %0 = nn.broadcast %b dims [0] : tensor<2xf32> -> tensor<2x2xf32>
  %o = dist.axis_offset <{"x":(1)2}> size 2 on @mesh : index
  %m = nn.mask_padding %0 dim 1 size 3 value 0.0 : f32 offset %o : tensor<2x2xf32>
  %1 = nn.reduce <sum> %m dims [1] : tensor<2x2xf32> -> tensor<2xf32>
  %2 = dist.all_reduce <sum> %1 over <{"x":(1)2}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
func.func @sum_of_masked_twice(%b: tensor<2xf32> {dist.global_shape = array<i64: 2>, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<2xf32> {dist.global_shape = array<i64: 2>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @sum_of_equal} {
  %0 = nn.broadcast %b dims [0] : tensor<2xf32> -> tensor<2x2xf32>
  %o = dist.axis_offset <{"x":(1)2}> size 2 on @mesh : index
  %m = nn.mask_padding %0 dim 1 size 3 value 0.0 : f32 offset %o : tensor<2x2xf32>
  %1 = nn.reduce <sum> %m dims [1] : tensor<2x2xf32> -> tensor<2xf32>
  // expected-error @below {{deviates: dist.all_reduce: the value is not partial over {"x"}, only over {"x":(1)2}: it would be reduced once more}}
  %2 = dist.all_reduce <sum> %1 over <{"x"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

// For equal elements only the body tells where the padding begins.
dist.mesh @mesh ["x"=3, "y"=2]
func.func @least(%x: f32) -> tensor<2xf32> {
  %0 = tensor.empty() : tensor<4x2xf32>
  %1 = linalg.fill ins(%x : f32) outs(%0 : tensor<4x2xf32>) -> tensor<4x2xf32>
  %inf = arith.constant dense<0x7F800000> : tensor<2xf32>
  %2 = linalg.reduce { arith.minnumf } ins(%1 : tensor<4x2xf32>) outs(%inf : tensor<2xf32>) dimensions = [0]
  return %2 : tensor<2xf32>
}
func.func @least_over_others(%x: f32) -> (tensor<2xf32> {dist.global_shape = array<i64: 2>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @least} {
  %o = dist.axis_offset <{"x"}> size 2 on @mesh : index
  %0 = tensor.empty() : tensor<2x2xf32>
  %1 = linalg.fill ins(%x : f32) outs(%0 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %inf = arith.constant dense<0x7F800000> : tensor<2xf32>
  %2 = linalg.reduce ins(%1 : tensor<2x2xf32>) outs(%inf : tensor<2xf32>) dimensions = [0]
    (%in: f32, %init: f32) {
      %i = linalg.index 0 : index
      %p = arith.addi %i, %o : index
      %n = arith.constant 4 : index
      %c = arith.cmpi slt, %p, %n : index
      %h = arith.constant 0x7F800000 : f32
      %s = arith.select %c, %in, %h : f32
      %m = arith.minnumf %init, %s : f32
      linalg.yield %m : f32
    }
  %3 = dist.all_reduce <min> %2 over <{"y"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  // expected-error @below {{deviates: func.return: result 0 is to be reduced over {"x"} but its sharding says {}}}
  return %3 : tensor<2xf32>
}

// -----

// Zeros next to the summed value do not make the sum zero.
#map = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>
dist.mesh @mesh ["x"=2]
func.func @beside(%y: tensor<f32>) -> tensor<f32> {
  %zeros = arith.constant dense<0.0> : tensor<6xf32>
  %init = arith.constant dense<0.0> : tensor<f32>
  %0 = linalg.generic {indexing_maps = [#map, #scalar, #scalar], iterator_types = ["reduction"]} ins(%zeros, %y : tensor<6xf32>, tensor<f32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %1 = arith.addf %sum, %b : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @half_of_it(%y: tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @beside} {
  %zeros = arith.constant dense<0.0> : tensor<3xf32>
  %init = arith.constant dense<0.0> : tensor<f32>
  %0 = linalg.generic {indexing_maps = [#map, #scalar, #scalar], iterator_types = ["reduction"]} ins(%zeros, %y : tensor<3xf32>, tensor<f32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %1 = arith.addf %sum, %b : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  // expected-error @below {{deviates: func.return: result 0 is one of 2 parts that are still to be summed}}
  return %0 : tensor<f32>
}

// -----

// A sum of zeros with an initial value is that value, not zero.
dist.mesh @mesh ["x"=2]
func.func @from(%y: tensor<f32>) -> tensor<f32> {
  %zeros = arith.constant dense<0.0> : tensor<6xf32>
  %0 = linalg.reduce { arith.addf } ins(%zeros : tensor<6xf32>) outs(%y : tensor<f32>) dimensions = [0]
  return %0 : tensor<f32>
}
func.func @twice(%y: tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @from} {
  %zeros = arith.constant dense<0.0> : tensor<3xf32>
  %0 = linalg.reduce { arith.addf } ins(%zeros : tensor<3xf32>) outs(%y : tensor<f32>) dimensions = [0]
  // expected-error @below {{deviates: dist.all_reduce: the value is not partial over {"x"}: it would be reduced once more}}
  %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<f32> -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The initial value of a sum is partial over other axes than the sum.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @ones(%y: tensor<f32>) -> tensor<f32> {
  %one = arith.constant dense<1.0> : tensor<6x2xf32>
  // expected-note @below {{the reference computes it here}}
  %0 = linalg.reduce { arith.addf } ins(%one : tensor<6x2xf32>) outs(%y : tensor<f32>) dimensions = [0, 1]
  return %0 : tensor<f32>
}
func.func @quarters(%y: tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<f32> {dist.global_shape = array<i64>, dist.sharding = #dist.sharding<@mesh, []>}) attributes {dist.local, dist.reference = @ones} {
  %one = arith.constant dense<1.0> : tensor<3x1xf32>
  %p = dist.to_partial <sum> %y over <{"x"}> on @mesh : tensor<f32>
  // expected-error @below {{not provable: linalg.reduce: operand 1 begins a sum in other parts than those that the op sums up}}
  %0 = linalg.reduce { arith.addf } ins(%one : tensor<3x1xf32>) outs(%p : tensor<f32>) dimensions = [0, 1]
  %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<f32> -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Positions that are masked from element 2 on are not two rows of three.
dist.mesh @mesh ["x"=2]
func.func @rows() -> tensor<2x3xi32> {
  %0 = nn.iota : tensor<6xi32>
  // expected-note @below {{the reference computes it here}}
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 3] : tensor<6xi32> into tensor<2x3xi32>
  return %1 : tensor<2x3xi32>
}
func.func @masked_rows() -> (tensor<2x3xi32> {dist.global_shape = array<i64: 2, 3>, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) attributes {dist.local, dist.reference = @rows} {
  %i = nn.iota : tensor<6xi32>
  %0 = nn.mask_padding %i dim 0 size 2 value 0 : i32 : tensor<6xi32>
  // expected-error @below {{deviates: tensor.expand_shape: dimension 0 of operand 0 is masked from element 2 on, in the middle of the parts that it is made of}}
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 3] : tensor<6xi32> into tensor<2x3xi32>
  return %1 : tensor<2x3xi32>
}

// -----

// Nor are they the ends of concatenated rows.
dist.mesh @mesh ["x"=2]
func.func @flat() -> tensor<12xi32> {
  %0 = nn.iota : tensor<6xi32>
  %1 = nn.broadcast %0 dims [1] : tensor<6xi32> -> tensor<2x6xi32>
  // expected-note @below {{the reference computes it here}}
  %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<2x6xi32> into tensor<12xi32>
  return %2 : tensor<12xi32>
}
func.func @masked_within() -> (tensor<12xi32> {dist.global_shape = array<i64: 12>, dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local, dist.reference = @flat} {
  %i = nn.iota : tensor<6xi32>
  %0 = nn.mask_padding %i dim 0 size 3 value 0 : i32 : tensor<6xi32>
  %1 = nn.broadcast %0 dims [1] : tensor<6xi32> -> tensor<2x6xi32>
  // expected-error @below {{deviates: tensor.collapse_shape: what a device computes of dimension 0 of the result is no block of it}}
  %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<2x6xi32> into tensor<12xi32>
  return %2 : tensor<12xi32>
}
