// Programs for which a partial value was lost: each must be proven.
// RUN: tessera-opt %s --compile-to=partition --split-input-file -o /dev/null

// A product with zeros is zero, and so is its sum over the devices.
dist.mesh @mesh ["x"=8]
func.func @main(%arg0: tensor<i32>)
    -> (tensor<i32>, tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"x":(2)4, "x":(1)2}]>}) {
  %v0 = arith.constant dense<31> : tensor<7x7x8xi32>
  %v1 = arith.constant dense<0> : tensor<8xi32>
  %v2 = linalg.reduce { arith.ori } ins(%v0 : tensor<7x7x8xi32>) outs(%v1 : tensor<8xi32>) dimensions = [0, 1]
  %v3 = arith.constant 0 : i32
  %v4 = linalg.fill ins(%v3 : i32) outs(%arg0 : tensor<i32>) -> tensor<i32>
  %v5 = linalg.dot ins(%v2, %v1 : tensor<8xi32>, tensor<8xi32>) outs(%v4 : tensor<i32>) -> tensor<i32>
  %v6 = arith.maxui %v2, %v2 : tensor<8xi32>
  return %v5, %v6 : tensor<i32>, tensor<8xi32>
}

// -----

// A mean of zeros is zero: a partial layer_norm of them.
dist.mesh @mesh ["x"=2, "y"=2, "z"=2]
func.func @main(%arg0: tensor<8x8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"z"}, {}, {"x"}]>}, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>)
    -> (tensor<8xf32>) {
  %v0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%arg0 : tensor<8x8x6xf32>) outs(%arg1 : tensor<8xf32>) {
  ^bb0(%r0_0: f32, %r0_1: f32):
    %r0_2 = math.ceil %r0_0 : f32
    %r0_3 = math.acos %r0_0 : f32
    %r0_4 = arith.maximumf %r0_2, %r0_2 : f32
    %r0_5 = arith.mulf %r0_1, %r0_4 : f32
    linalg.yield %r0_5 : f32
  } -> tensor<8xf32>
  %v1 = arith.constant 0.0e+00 : f32
  %v2 = linalg.fill ins(%v1 : f32) outs(%arg2 : tensor<8xf32>) -> tensor<8xf32>
  %v3 = nn.layer_norm %v2, %v0, %v2 eps 1.0e-2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return %v3 : tensor<8xf32>
}

// -----

// Zeros are declared as a partial sum without any reduction.
dist.mesh @mesh ["x"=2, "y"=2, "z"=2]
func.func @main()
    -> (tensor<5xi64> {dist.sharding = #dist.sharding<@mesh, [{"y"}], replicated={"x"}, unreduced={"z"}>}) {
  %v0 = arith.constant 0 : i64
  %v1 = tensor.empty() {dist.shardings = [#dist.sharding<@mesh, [{"x", "y"}, {"z"}]>]} : tensor<5x6xi64>
  %v2 = linalg.fill ins(%v0 : i64) outs(%v1 : tensor<5x6xi64>) -> tensor<5x6xi64>
  %v3 = nn.reduce <sum> %v2 dims [1] : tensor<5x6xi64> -> tensor<5xi64>
  return %v3 : tensor<5xi64>
}

// -----

// A sum of equal elements starts with a partial value: both are partial over
// the same axes.
dist.mesh @mesh ["x"=2, "y"=2, "z"=2]
func.func @main(%arg0: tensor<8x7xi8>)
    -> (tensor<8x7xi8>) {
  %v0 = arith.constant dense<-2> : tensor<8x8x7xi8>
  %v1 = arith.constant dense<1> : tensor<8x8x7xi8>
  %v2 = arith.ori %v0, %v1 {dist.shardings = [#dist.sharding<@mesh, [{"x", "z"}, {}, {}]>]} : tensor<8x8x7xi8>
  %v3 = linalg.reduce { arith.addi } ins(%v2 : tensor<8x8x7xi8>) outs(%arg0 : tensor<8x7xi8>) dimensions = [0]
  return %v3 : tensor<8x7xi8>
}

// -----

// The same in a body.
dist.mesh @mesh ["x"=6]
func.func @main(%arg0: tensor<7x4xi32>, %arg1: tensor<4x7xi32>)
    -> (tensor<4x7xi32>) {
  %v0 = nn.broadcast %arg0 dims [1, 2] {dist.shardings = [#dist.sharding<@mesh, [{"x":(1)2}, {?}, {}]>]} : tensor<7x4xi32> -> tensor<4x7x4xi32>
  %v1 = arith.constant dense<3> : tensor<4x7x4xi32>
  %v2 = arith.andi %v0, %v1 : tensor<4x7x4xi32>
  %v3 = math.ipowi %v0, %v2 : tensor<4x7x4xi32>
  %v4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v2, %arg0, %v3 : tensor<4x7x4xi32>, tensor<7x4xi32>, tensor<4x7x4xi32>) outs(%arg1 : tensor<4x7xi32>) {
  ^bb0(%r0_0: i32, %r0_1: i32, %r0_2: i32, %r0_3: i32):
    %r0_4p = linalg.index 1 : index
    %r0_4 = arith.index_cast %r0_4p : index to i64
    %r0_5 = arith.cmpi ugt, %r0_1, %r0_1 : i32
    %r0_6 = arith.constant 31 : i32
    %r0_7 = arith.andi %r0_1, %r0_6 : i32
    %r0_8 = arith.shrsi %r0_0, %r0_7 : i32
    %r0_9 = arith.cmpi ne, %r0_4, %r0_4 : i64
    %r0_10 = math.ctlz %r0_6 : i32
    %r0_11 = arith.addi %r0_8, %r0_3 : i32
    linalg.yield %r0_11 : i32
  } -> tensor<4x7xi32>
  return %v4 : tensor<4x7xi32>
}

// -----

// The zeros are not the summed value.
dist.mesh @mesh ["x"=8]
func.func @main(%arg0: tensor<f32>, %arg1: tensor<6xf32>, %arg2: tensor<f32>)
    -> (tensor<f32>) {
  %v0 = arith.constant 0.0e+00 : f32
  %v1 = linalg.fill {dist.shardings = [#dist.sharding<@mesh, [{"x":(1)2}]>]} ins(%v0 : f32) outs(%arg1 : tensor<6xf32>) -> tensor<6xf32>
  %v2 = arith.constant 0.0e+00 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%arg2 : tensor<f32>) -> tensor<f32>
  %v4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v1, %arg0 : tensor<6xf32>, tensor<f32>) outs(%v3 : tensor<f32>) {
  ^bb0(%r2_0: f32, %r2_1: f32, %r2_2: f32):
    %r2_3 = math.atan %r2_1 : f32
    %r2_4 = math.log1p %r2_1 : f32
    %r2_5 = arith.subf %r2_3, %r2_4 : f32
    %r2_6 = arith.addf %r2_2, %r2_4 : f32
    linalg.yield %r2_6 : f32
  } -> tensor<f32>
  return %v4 : tensor<f32>
}

// -----

// Blocks after the true elements of a result may have any contents.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @main(%arg0: tensor<6xf32>)
    -> (tensor<6x1x1x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {?}, {?}, {"y", "x", ?}]>}) {
  %v0 = nn.broadcast %arg0 dims [2] : tensor<6xf32> -> tensor<6x1x6xf32>
  %v1 = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<6x1x6xf32> into tensor<6x6xf32>
  %v2 = tensor.empty() : tensor<6x1x1x6xf32>
  %v3 = linalg.broadcast ins(%v1 : tensor<6x6xf32>) outs(%v2 : tensor<6x1x1x6xf32>) dimensions = [1, 2]
  return %v3 : tensor<6x1x1x6xf32>
}

// -----

// A whole dimension in each of three blocks; the first one has it.
dist.mesh @mesh ["x"=2, "y"=3]
func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<5x5xi32>, %arg2: tensor<5x2xi32>, %arg3: tensor<2xi32>, %arg4: tensor<2xf32>)
    -> (tensor<50xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}], unreduced={"x"}>}, tensor<5xi32>, tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %v0 = nn.broadcast %arg1 dims [1, 2] : tensor<5x5xi32> -> tensor<2x5x5xi32>
  %v1 = tensor.collapse_shape %v0 [[0, 1, 2]] : tensor<2x5x5xi32> into tensor<50xi32>
  %v2 = nn.einsum "abc,ba->c" %v0, %arg2 : tensor<2x5x5xi32>, tensor<5x2xi32> -> tensor<5xi32>
  %v3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%arg2, %arg3 : tensor<5x2xi32>, tensor<2xi32>) outs(%arg4 : tensor<2xf32>) {
  ^bb0(%r0_0: i32, %r0_1: i32, %r0_2: f32):
    %r0_3 = arith.cmpi ne, %r0_1, %r0_1 : i32
    %r0_4 = arith.cmpi ne, %r0_1, %r0_1 : i32
    %r0_5 = arith.select %r0_3, %r0_3, %r0_3 : i1
    %r0_6 = arith.ori %r0_0, %r0_0 : i32
    %r0_7 = arith.constant 1.0e+00 : f32
    %r0_8 = arith.addf %r0_2, %r0_7 : f32
    linalg.yield %r0_8 : f32
  } -> tensor<2xf32>
  return %v1, %v2, %v3 : tensor<50xi32>, tensor<5xi32>, tensor<2xf32>
}

// -----

// A whole dimension gathered in front of padding.
dist.mesh @mesh ["x"=8]
func.func @main(%arg0: tensor<3xi1>, %arg1: tensor<3x5xi64> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<3x5x2xi64>)
    -> (tensor<1x45xi1>, tensor<3x5x2xi64>) {
  %v0 = tensor.empty() : tensor<3x5x3xi1>
  %v1 = linalg.broadcast ins(%arg0 : tensor<3xi1>) outs(%v0 : tensor<3x5x3xi1>) dimensions = [0, 1]
  %v2 = tensor.collapse_shape %v1 [[0, 1, 2]] : tensor<3x5x3xi1> into tensor<45xi1>
  %v3 = tensor.expand_shape %v2 [[0, 1]] output_shape [1, 45] : tensor<45xi1> into tensor<1x45xi1>
  %v4 = tensor.extract_slice %v1[0, 0, 1] [3, 5, 2] [1, 1, 1] : tensor<3x5x3xi1> to tensor<3x5x2xi1>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v4, %arg1 : tensor<3x5x2xi1>, tensor<3x5xi64>) outs(%arg2 : tensor<3x5x2xi64>) {
  ^bb0(%r1_0: i1, %r1_1: i64, %r1_2: i64):
    %r1_3 = arith.cmpi ule, %r1_0, %r1_0 : i1
    linalg.yield %r1_1 : i64
  } -> tensor<3x5x2xi64>
  return %v3, %v5 : tensor<1x45xi1>, tensor<3x5x2xi64>
}

// -----

// The first blocks of a gather are true, the others are padding.
dist.mesh @mesh ["x"=6]
func.func @main(%arg0: tensor<4xi1> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)2}], unreduced={"x":(2)3}>}, %arg1: i1, %arg2: tensor<i1>)
    -> (tensor<i1>) {
  %v0 = tensor.empty() : tensor<4x1xi1>
  %v1 = linalg.fill ins(%arg1 : i1) outs(%v0 : tensor<4x1xi1>) -> tensor<4x1xi1>
  %v2 = tensor.empty() : tensor<1x4xi1>
  %v3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1, d0)>], iterator_types = ["parallel", "parallel"]} ins(%v1, %arg0 : tensor<4x1xi1>, tensor<4xi1>) outs(%v2 : tensor<1x4xi1>) {
  ^bb0(%r2_0: i1, %r2_1: i1, %r2_2: i1):
    %r2_3 = arith.select %r2_1, %r2_0, %r2_1 : i1
    %r2_4 = arith.cmpi ne, %r2_3, %r2_3 : i1
    linalg.yield %r2_3 : i1
  } -> tensor<1x4xi1>
  %v4 = tensor.collapse_shape %v3 [[0, 1]] {dist.shardings = [#dist.sharding<@mesh, [{"x":(2)3, "x":(1)2}]>]} : tensor<1x4xi1> into tensor<4xi1>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v4 : tensor<4xi1>) outs(%arg2 : tensor<i1>) {
  ^bb0(%r3_0: i1, %r3_1: i1):
    %r3_2p = linalg.index 0 : index
    %r3_2 = arith.index_cast %r3_2p : index to i64
    %r3_3 = math.absi %r3_2 : i64
    %r3_4 = math.ctpop %r3_3 : i64
    %r3_5 = math.ctlz %r3_2 : i64
    %r3_6 = arith.xori %r3_1, %r3_0 : i1
    linalg.yield %r3_6 : i1
  } -> tensor<i1>
  return %v5 : tensor<i1>
}

// -----

// Two dimensions of equal elements are merged with others: the use after a
// permute tells which block it is.
dist.mesh @mesh ["x"=2, "y"=4]
func.func @main(%arg0: tensor<7x7xi32>)
    -> (tensor<196xi32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y", ?}]>}) {
  %v0 = nn.broadcast %arg0 dims [2, 3] : tensor<7x7xi32> -> tensor<2x2x7x7xi32>
  %v1 = tensor.collapse_shape %v0 [[0, 1, 2, 3]] : tensor<2x2x7x7xi32> into tensor<196xi32>
  return %v1 : tensor<196xi32>
}

// -----

// The same with the permute after the collapse.
dist.mesh @mesh ["x"=3, "y"=2]
func.func @main(%arg0: tensor<4xi16>, %arg1: tensor<4xi16>)
    -> (tensor<3x1x4xi16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>}, tensor<4xi16>, tensor<12xi16>) {
  %v0 = tensor.empty() : tensor<3x1x4xi16>
  %v1 = linalg.broadcast ins(%arg0 : tensor<4xi16>) outs(%v0 : tensor<3x1x4xi16>) dimensions = [0, 1]
  %v2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%v1 : tensor<3x1x4xi16>) outs(%arg1 : tensor<4xi16>) {
  ^bb0(%r1_0: i16, %r1_1: i16):
    %r1_2p = linalg.index 2 : index
    %r1_2 = arith.index_cast %r1_2p : index to i32
    %r1_3 = arith.minsi %r1_0, %r1_0 : i16
    %r1_4 = arith.minsi %r1_3, %r1_3 : i16
    %r1_5 = arith.maxui %r1_1, %r1_3 : i16
    linalg.yield %r1_5 : i16
  } -> tensor<4xi16>
  %v3 = tensor.collapse_shape %v1 [[0, 1, 2]] {dist.shardings = [#dist.sharding<@mesh, [{"y", "x", ?}]>]} : tensor<3x1x4xi16> into tensor<12xi16>
  return %v1, %v2, %v3 : tensor<3x1x4xi16>, tensor<4xi16>, tensor<12xi16>
}

// -----

// More devices than blocks.
dist.mesh @mesh ["x"=3, "y"=4]
func.func @main(%arg0: tensor<2xi16>)
    -> (tensor<4x2xi16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, tensor<8xi16> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %v0 = nn.broadcast %arg0 dims [1] : tensor<2xi16> -> tensor<4x2xi16>
  %v1 = arith.constant dense<15> : tensor<4x2xi16>
  %v2 = arith.andi %v0, %v1 : tensor<4x2xi16>
  %v3 = tensor.collapse_shape %v2 [[0, 1]] : tensor<4x2xi16> into tensor<8xi16>
  return %v2, %v3 : tensor<4x2xi16>, tensor<8xi16>
}

// -----

// A gather makes the value whole for an op that needs it so.
dist.mesh @mesh ["x"=4]
func.func @main(%arg0: tensor<7xf16>)
    -> (tensor<15xf16>) {
  %v0 = nn.broadcast %arg0 dims [1] {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<7xf16> -> tensor<7x7xf16>
  %v1 = tensor.concat dim(1) %v0, %v0, %v0 : (tensor<7x7xf16>, tensor<7x7xf16>, tensor<7x7xf16>) -> tensor<7x21xf16>
  %v2 = tensor.collapse_shape %v1 [[0, 1]] : tensor<7x21xf16> into tensor<147xf16>
  %v3 = tensor.extract_slice %v2[40] [15] [1] : tensor<147xf16> to tensor<15xf16>
  return %v3 : tensor<15xf16>
}

// -----

// A dimension of size 1 before or after the sharded one: the same local op is
// correct for both.
dist.mesh @mesh ["x"=8]
func.func @main(%arg0: tensor<7x6x7xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}p1, {}]>}, %arg1: tensor<6x7x7xi32>, %arg2: tensor<6x7x7xi32>)
    -> (tensor<2x3x7x7xi32>, tensor<1x6x7x7xi32>) {
  %v0, %v1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d0, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<7x6x7xi32>) outs(%arg1, %arg2 : tensor<6x7x7xi32>, tensor<6x7x7xi32>) {
  ^bb0(%r0_0: i32, %r0_1: i32, %r0_2: i32):
    %r0_3p = linalg.index 0 : index
    %r0_3 = arith.index_cast %r0_3p : index to i64
    %r0_4 = arith.cmpi sge, %r0_3, %r0_3 : i64
    %r0_5 = arith.constant 63 : i64
    %r0_6 = arith.andi %r0_3, %r0_5 : i64
    %r0_7 = arith.shrsi %r0_3, %r0_6 : i64
    %r0_8 = arith.subi %r0_7, %r0_6 : i64
    %r0_9 = arith.uitofp %r0_8 : i64 to f16
    linalg.yield %r0_0, %r0_0 : i32, i32
  } -> (tensor<6x7x7xi32>, tensor<6x7x7xi32>)
  %v2 = tensor.expand_shape %v0 [[0, 1], [2], [3]] output_shape [2, 3, 7, 7] : tensor<6x7x7xi32> into tensor<2x3x7x7xi32>
  %v3 = tensor.expand_shape %v0 [[0, 1], [2], [3]] output_shape [1, 6, 7, 7] : tensor<6x7x7xi32> into tensor<1x6x7x7xi32>
  return %v2, %v3 : tensor<2x3x7x7xi32>, tensor<1x6x7x7xi32>
}

// -----

// Only the use of the first one tells which it is.
dist.mesh @mesh ["x"=4, "y"=2]
func.func @main(%arg0: tensor<8xi1>, %arg1: tensor<i1>)
    -> (tensor<i1>, tensor<8x1xi1> {dist.sharding = #dist.sharding<@mesh, [{"y", "x", ?}, {}]>}) {
  %v0 = tensor.expand_shape %arg0 [[0, 1]] output_shape [4, 2] : tensor<8xi1> into tensor<4x2xi1>
  %v1 = linalg.reduce { arith.xori } ins(%v0 : tensor<4x2xi1>) outs(%arg1 : tensor<i1>) dimensions = [0, 1]
  %v2 = tensor.expand_shape %arg0 [[0, 1]] output_shape [8, 1] : tensor<8xi1> into tensor<8x1xi1>
  return %v1, %v2 : tensor<i1>, tensor<8x1xi1>
}

// -----

// Two ops that use equal constants in their regions are one.
dist.mesh @mesh ["x"=3]
func.func @main(%arg0: tensor<5xf32>)
    -> (tensor<5xf32>) {
  %v0 = arith.constant 0.0e+00 : f32
  %v1 = tensor.pad %arg0 low[0] high[0] {
  ^bb0(%r0_0: index):
    tensor.yield %v0 : f32
  } : tensor<5xf32> to tensor<5xf32>
  %v2 = arith.constant 0.0e+00 : f32
  %v3 = tensor.pad %arg0 low[0] high[0] {
  ^bb0(%r1_0: index):
    tensor.yield %v2 : f32
  } : tensor<5xf32> to tensor<5xf32>
  %v4 = arith.minimumf %v3, %v1 : tensor<5xf32>
  return %v4 : tensor<5xf32>
}

// -----

// An op that is decomposed elsewhere is whole in a loop.
dist.mesh @mesh ["x"=8]
func.func @main(%arg0: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32>, %arg2: tensor<1xf32>)
    -> (tensor<8xf32>, tensor<1xf32>) {
  %v0 = nn.softmax %arg0 dim 0 : tensor<8xf32>
  %v1 = arith.constant 0 : index
  %v2 = arith.constant 1 : index
  %v3 = arith.constant 2 : index
  %v4, %v5 = scf.while (%r2_y = %arg2, %r2_j = %v1) : (tensor<1xf32>, index) -> (tensor<1xf32>, index) {
    %r2_c = arith.cmpi slt, %r2_j, %v3 : index
    scf.condition(%r2_c) %r2_y, %r2_j : tensor<1xf32>, index
  } do {
  ^bb0(%r2_x: tensor<1xf32>, %r2_i: index):
    %r2_n = arith.index_cast %r2_i : index to i32
    %r3_0 = tensor.extract_slice %r2_x[0] [1] [1] : tensor<1xf32> to tensor<1xf32>
    %r3_1 = nn.softmax %r3_0 dim 0 : tensor<1xf32>
    %r2_k = arith.addi %r2_i, %v2 : index
    scf.yield %r3_1, %r2_k : tensor<1xf32>, index
  }
  return %v0, %v4 : tensor<8xf32>, tensor<1xf32>
}

// -----

// Elements that are all equal, with information on padding.
dist.mesh @mesh ["x"=2, "y"=4]
func.func @main(%arg0: tensor<4xi64>, %arg1: tensor<i64>, %arg2: tensor<1x4xi64>)
    -> (tensor<i64>, tensor<1x4xi64> {dist.sharding = #dist.sharding<@mesh, [{"y":(2)2}, {?}]>}) {
  %v0 = tensor.extract_slice %arg0[2] [1] [1] {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<4xi64> to tensor<1xi64>
  %v1 = arith.constant dense<-1> : tensor<1xi64>
  %v2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v0 : tensor<1xi64>) outs(%v1 : tensor<1xi64>) {
  ^bb0(%r0_0: i64, %r0_1: i64):
    %r0_2 = arith.minui %r0_1, %r0_0 : i64
    linalg.yield %r0_2 : i64
  } -> tensor<1xi64>
  %v3 = tensor.empty() {dist.shardings = [#dist.sharding<@mesh, [{}, {"y", "x"}]>]} : tensor<1x4xi64>
  %v4 = linalg.broadcast ins(%v1 : tensor<1xi64>) outs(%v3 : tensor<1x4xi64>) dimensions = [1]
  %v5 = tensor.collapse_shape %v4 [[0, 1]] : tensor<1x4xi64> into tensor<4xi64>
  %v6 = linalg.reduce { arith.minsi } ins(%v5 : tensor<4xi64>) outs(%arg1 : tensor<i64>) dimensions = [0]
  %v7 = linalg.broadcast ins(%v2 : tensor<1xi64>) outs(%arg2 : tensor<1x4xi64>) dimensions = [1]
  return %v6, %v7 : tensor<i64>, tensor<1x4xi64>
}

// -----

// One of two equal dimensions, with information on padding.
dist.mesh @mesh ["x"=4, "y"=2]
func.func @main(%arg0: tensor<1xi64>, %arg1: tensor<1xi1>)
    -> (tensor<1xi1>, tensor<6x7x1xi64> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
  %v0 = tensor.empty() : tensor<6x7x1xi64>
  %v1 = linalg.broadcast ins(%arg0 : tensor<1xi64>) outs(%v0 : tensor<6x7x1xi64>) dimensions = [0, 1]
  %v2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%v1 : tensor<6x7x1xi64>) outs(%arg1 : tensor<1xi1>) {
  ^bb0(%r3_0: i64, %r3_1: i1):
    %r3_2 = arith.constant true
    %r3_3 = arith.andi %r3_2, %r3_1 : i1
    linalg.yield %r3_3 : i1
  } -> tensor<1xi1>
  %v3 = nn.transpose %v1 [0, 1, 2] : tensor<6x7x1xi64> -> tensor<6x7x1xi64>
  return %v2, %v3 : tensor<1xi1>, tensor<6x7x1xi64>
}

// -----

// An op with a number of classes that is equal to the true one.
dist.mesh @mesh ["x"=2, "y"=2]
func.func @main(%arg0: tensor<1x3x1xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", ?}, {?}, {?}]>}, %arg1: tensor<1x3xi32>)
    -> (tensor<1x3xf32>, tensor<1x3xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>}) {
  %v0 = tensor.empty() {dist.shardings = [#dist.sharding<@mesh, [{}, {}, {"y"}]>]} : tensor<1x3x1xf32>
  %v1 = linalg.softmax dimension(0) ins(%arg0 : tensor<1x3x1xf32>) outs(%v0 : tensor<1x3x1xf32>) -> tensor<1x3x1xf32>
  %v2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v1 : tensor<1x3x1xf32>) outs(%v1 : tensor<1x3x1xf32>) {
  ^bb0(%r0_0: f32, %r0_1: f32):
    %r0_2 = math.acosh %r0_1 : f32
    %r0_3 = math.fma %r0_1, %r0_2, %r0_1 : f32
    %r0_4 = math.atan %r0_2 : f32
    %r0_5 = math.acosh %r0_0 : f32
    linalg.yield %r0_5 : f32
  } -> tensor<1x3x1xf32>
  %v3 = nn.cross_entropy %v2, %arg1 ignore -100 : tensor<1x3x1xf32>, tensor<1x3xi32> -> tensor<1x3xf32>
  %v4 = math.absi %arg1 : tensor<1x3xi32>
  return %v3, %v4 : tensor<1x3xf32>, tensor<1x3xi32>
}

// -----

// Groups without true elements, in a gather after a permute.
dist.mesh @mesh ["x"=2, "y"=3]
func.func @main(%arg0: tensor<4x1xbf16>)
    -> (tensor<4xbf16>) {
  %v0 = tensor.empty() : tensor<1x4x1x1xbf16>
  %v1 = linalg.broadcast ins(%arg0 : tensor<4x1xbf16>) outs(%v0 : tensor<1x4x1x1xbf16>) dimensions = [0, 2]
  %v2 = tensor.collapse_shape %v1 [[0, 1, 2, 3]] {dist.shardings = [#dist.sharding<@mesh, [{"y"}]>]} : tensor<1x4x1x1xbf16> into tensor<4xbf16>
  %v3 = arith.minnumf %v2, %v2 {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<4xbf16>
  return %v3 : tensor<4xbf16>
}

// -----

// Any block is correct if there is no use.
dist.mesh @mesh ["x"=6]
func.func @main(%arg0: i1, %arg1: tensor<5xf32>, %arg2: tensor<5x5xf32>)
    -> (tensor<5x5xf32>) {
  %v0 = nn.broadcast %arg1 dims [1] : tensor<5xf32> -> tensor<5x5xf32>
  %v1 = tensor.collapse_shape %v0 [[0, 1]] {dist.shardings = [#dist.sharding<@mesh, [{"x"}p1]>]} : tensor<5x5xf32> into tensor<25xf32>
  %v2 = scf.if %arg0 -> (tensor<5x5xf32>) {
    scf.yield %arg2 : tensor<5x5xf32>
  } else {
    scf.yield %arg2 : tensor<5x5xf32>
  }
  return %v2 : tensor<5x5xf32>
}

// -----

// The gathered value is whole in the end.
dist.mesh @mesh ["x"=1, "y"=2] {dist.links = [
  [], [array<f64: 2.0, 1.0e-6, 1.0e11>], array<f64: 1.0e-9, 1.0e-9, 1.0, 1.0>]}
func.func @main(%arg0: tensor<8xi32>, %arg1: tensor<1x64xi32>, %arg2: tensor<1xi32> {dist.sharding = #dist.sharding<@mesh, [{"y", "x"}]>})
    -> (tensor<1xi32>) {
  %v0 = nn.broadcast %arg0 dims [2] : tensor<8xi32> -> tensor<8x1x8xi32>
  %v1 = tensor.empty() : tensor<8x1x8xi32>
  %v2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v0 : tensor<8x1x8xi32>) outs(%v1 : tensor<8x1x8xi32>) {
  ^bb0(%r3_0: i32, %r3_1: i32):
    %r3_2 = arith.cmpi ne, %r3_0, %r3_0 : i32
    %r3_3 = arith.extui %r3_0 : i32 to i64
    %r3_4 = arith.constant 1 : i64
    %r3_5 = arith.ori %r3_3, %r3_4 : i64
    %r3_6 = arith.divsi %r3_3, %r3_5 : i64
    %r3_7 = arith.ori %r3_6, %r3_4 : i64
    linalg.yield %r3_0 : i32
  } -> tensor<8x1x8xi32>
  %v3 = tensor.collapse_shape %v2 [[0, 1, 2]] {dist.shardings = [#dist.sharding<@mesh, [{"y"}]>]} : tensor<8x1x8xi32> into tensor<64xi32>
  %v4 = linalg.matvec ins(%arg1, %v3 : tensor<1x64xi32>, tensor<64xi32>) outs(%arg2 : tensor<1xi32>) -> tensor<1xi32>
  return %v4 : tensor<1xi32>
}

// -----

// The offset of a mask tells which block it is.
dist.mesh @mesh ["x"=3]
func.func @main(%arg0: tensor<2xf16>)
    -> (tensor<f16>) {
  %v0 = nn.broadcast %arg0 dims [1] : tensor<2xf16> -> tensor<5x2xf16>
  %v1 = tensor.collapse_shape %v0 [[0, 1]] {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : tensor<5x2xf16> into tensor<10xf16>
  %v2, %v3 = nn.arg_reduce <min> %v1 dim 0 : tensor<10xf16> -> tensor<f16>, tensor<i32>
  return %v2 : tensor<f16>
}

// -----

// The uses come after an expansion.
dist.mesh @mesh ["x"=8]
func.func @main(%arg0: tensor<3xf64>)
    -> (tensor<6x3xf64> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %v0 = arith.constant dense<1.0e+00> : tensor<6x3xf64>
  %v1 = arith.constant dense<-5.0e-01> : tensor<3x6xf64>
  %v2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %v0, %v1 : tensor<3xf64>, tensor<6x3xf64>, tensor<3x6xf64>) outs(%v1 : tensor<3x6xf64>) {
  ^bb0(%r0_0: f64, %r0_1: f64, %r0_2: f64, %r0_3: f64):
    %r0_4p = linalg.index 0 : index
    %r0_4 = arith.index_cast %r0_4p : index to i64
    %r0_5 = arith.constant 63 : i64
    %r0_6 = arith.andi %r0_4, %r0_5 : i64
    %r0_7 = arith.shli %r0_4, %r0_6 : i64
    %r0_8 = arith.constant 1 : i64
    %r0_9 = arith.ori %r0_7, %r0_8 : i64
    %r0_10 = arith.floordivsi %r0_7, %r0_9 : i64
    linalg.yield %r0_2 : f64
  } -> tensor<3x6xf64>
  %v3 = tensor.collapse_shape %v2 [[0, 1]] : tensor<3x6xf64> into tensor<18xf64>
  %v4 = tensor.expand_shape %v3 [[0, 1]] output_shape [6, 3] : tensor<18xf64> into tensor<6x3xf64>
  return %v4 : tensor<6x3xf64>
}

// -----

// Zeros after the true positions, reshaped to two dimensions.
dist.mesh @mesh ["x"=4, "y"=2]
func.func @main(%arg0: tensor<i32>)
    -> (tensor<1x5xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}p0]>}) {
  %v0 = nn.iota : tensor<5xi32>
  %v1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v0, %arg0, %v0 : tensor<5xi32>, tensor<i32>, tensor<5xi32>) outs(%v0 : tensor<5xi32>) {
  ^bb0(%r0_0: i32, %r0_1: i32, %r0_2: i32, %r0_3: i32):
    %r0_4 = arith.maxsi %r0_1, %r0_2 : i32
    %r0_5 = arith.constant 1 : i32
    %r0_6 = arith.ori %r0_0, %r0_5 : i32
    %r0_7 = arith.remui %r0_2, %r0_6 : i32
    %r0_8 = arith.subi %r0_6, %r0_7 : i32
    %r0_9 = arith.minsi %r0_3, %r0_6 : i32
    linalg.yield %r0_9 : i32
  } -> tensor<5xi32>
  %v2 = tensor.expand_shape %v1 [[0, 1]] output_shape [1, 5] : tensor<5xi32> into tensor<1x5xi32>
  return %v2 : tensor<1x5xi32>
}

// -----

// Zeros after the partial maximum of booleans.
dist.mesh @mesh ["x"=2, "y"=2, "z"=2]
func.func @main(%arg0: tensor<7x8x2xi1> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}]>}, %arg1: tensor<2xi1>)
    -> (tensor<2xi1>) {
  %v0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%arg0 : tensor<7x8x2xi1>) outs(%arg1 : tensor<2xi1>) attrs = {dist.shardings = [#dist.sharding<@mesh, [{"x", "z"}]>]} {
  ^bb0(%r0_0: i1, %r0_1: i1):
    %r0_2p = linalg.index 0 : index
    %r0_2 = arith.index_cast %r0_2p : index to i32
    %r0_3 = arith.extui %r0_2 : i32 to i64
    %r0_4 = arith.constant 63 : i64
    %r0_5 = arith.andi %r0_3, %r0_4 : i64
    %r0_6 = arith.shli %r0_3, %r0_5 : i64
    %r0_7 = arith.ori %r0_1, %r0_0 : i1
    linalg.yield %r0_7 : i1
  } -> tensor<2xi1>
  return %v0 : tensor<2xi1>
}

// -----

// Zeros that are concatenated in the reference, and the same as padding after a
// value.
dist.mesh @mesh ["x"=3, "y"=4]
func.func private @f4(%a0: tensor<3xi16>, %a1: tensor<3xi16>) -> tensor<3xi16> {
    %r3_0 = arith.minsi %a1, %a1 : tensor<3xi16>
    %r3_1 = arith.minsi %r3_0, %r3_0 : tensor<3xi16>
    %r3_2 = arith.constant -2 : i16
    %r3_3 = tensor.pad %r3_1 low[1] high[0] {
  ^bb0(%r2_0: index):
    tensor.yield %r3_2 : i16
  } : tensor<3xi16> to tensor<4xi16>
    return %a1 : tensor<3xi16>
}
func.func @main(%arg0: tensor<3x4xf64> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}], unreduced={"x"}>}, %arg1: tensor<4x4xf64>, %arg2: tensor<3x4x4xf64>)
    -> (tensor<6xi16>, tensor<3xi16>) {
  %v0 = arith.constant dense<0> : tensor<3xi16>
  %v1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%arg2, %arg1, %arg0 : tensor<3x4x4xf64>, tensor<4x4xf64>, tensor<3x4xf64>) outs(%v0 : tensor<3xi16>) attrs = {dist.shardings = [#dist.sharding<@mesh, [{"y":(1)2, "x"}]>]} {
  ^bb0(%r1_0: f64, %r1_1: f64, %r1_2: f64, %r1_3: i16):
    %r1_4 = math.asin %r1_1 : f64
    %r1_5 = arith.truncf %r1_4 : f64 to f16
    %r1_6 = arith.cmpf ueq, %r1_2, %r1_4 : f64
    %r1_7 = arith.constant 2 : i16
    %r1_8 = arith.maxui %r1_3, %r1_7 : i16
    linalg.yield %r1_8 : i16
  } -> tensor<3xi16>
  %v2 = tensor.concat dim(0) %v1, %v0 : (tensor<3xi16>, tensor<3xi16>) -> tensor<6xi16>
  %v3 = func.call @f4(%v0, %v1) : (tensor<3xi16>, tensor<3xi16>) -> tensor<3xi16>
  return %v2, %v3 : tensor<6xi16>, tensor<3xi16>
}

// -----

// The sum of values sharded in a minor dimension comes before the collapse.
dist.mesh @mesh ["x"=4, "y"=2]
func.func @main(%arg0: tensor<1x2x1xf32>, %arg1: tensor<2x6x2xi32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {"x":(1)2}], unreduced={"x":(2)2}>})
    -> (tensor<2x12xi32>) {
  %v0 = tensor.collapse_shape %arg1 [[0], [1, 2]] {dist.shardings = [#dist.sharding<@mesh, [{"x":(2)2}, {"x":(1)2}]>]} : tensor<2x6x2xi32> into tensor<2x12xi32>
  return %v0 : tensor<2x12xi32>
}

// -----

// The dimension is merged into two others, one after the other.
dist.mesh @mesh ["x"=2, "y"=2, "z"=2]
func.func @main(%arg0: tensor<3x3xi1>)
    -> (tensor<230xi1>) {
  %v0 = tensor.empty() : tensor<6x3x6x3xi1>
  %v1 = linalg.broadcast ins(%arg0 : tensor<3x3xi1>) outs(%v0 : tensor<6x3x6x3xi1>) dimensions = [0, 2]
  %v2 = tensor.collapse_shape %v1 [[0, 1], [2], [3]] : tensor<6x3x6x3xi1> into tensor<18x6x3xi1>
  %v3 = tensor.collapse_shape %v2 [[0, 1, 2]] {dist.shardings = [#dist.sharding<@mesh, [{"z", "y", "x"}]>]} : tensor<18x6x3xi1> into tensor<324xi1>
  %v4 = tensor.extract_slice %v3[43] [230] [1] : tensor<324xi1> to tensor<230xi1>
  return %v4 : tensor<230xi1>
}

// -----

// A product of two zeros is added to a partial value.
dist.mesh @mesh ["x"=3]
func.func @main(%arg0: tensor<i32>)
    -> (tensor<i32>) {
  %v0 = arith.constant 0 : i32
  %v1 = tensor.empty() {dist.shardings = [#dist.sharding<@mesh, [{"x", ?}]>]} : tensor<3xi32>
  %v2 = linalg.fill ins(%v0 : i32) outs(%v1 : tensor<3xi32>) -> tensor<3xi32>
  %v3 = linalg.dot ins(%v2, %v2 : tensor<3xi32>, tensor<3xi32>) outs(%arg0 : tensor<i32>) -> tensor<i32>
  return %v3 : tensor<i32>
}

// -----

// A callee declares which block it takes.
dist.mesh @mesh ["x"=2, "y"=4]
func.func private @f3(%a0: tensor<144xi1>, %a1: tensor<8x3x6xi1>) -> tensor<144xi1> {
    %r1_0 = tensor.empty() : tensor<8x3x6xf32>
    %r1_1 = tensor.empty() : tensor<8x3x6xf32>
    %r1_2, %r1_3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a1 : tensor<8x3x6xi1>) outs(%r1_0, %r1_1 : tensor<8x3x6xf32>, tensor<8x3x6xf32>) {
  ^bb0(%r0_0: i1, %r0_1: f32, %r0_2: f32):
    %r0_3p = linalg.index 2 : index
    %r0_3 = arith.index_cast %r0_3p : index to i64
    %r0_4 = arith.maxui %r0_0, %r0_0 : i1
    %r0_5 = arith.constant 2.00000000000000000e+00 : f32
    linalg.yield %r0_5, %r0_5 : f32, f32
  } -> (tensor<8x3x6xf32>, tensor<8x3x6xf32>)
    %r1_4 = math.powf %r1_3, %r1_2 : tensor<8x3x6xf32>
    %r1_5 = tensor.concat dim(2) %r1_2, %r1_4, %r1_2 : (tensor<8x3x6xf32>, tensor<8x3x6xf32>, tensor<8x3x6xf32>) -> tensor<8x3x18xf32>
    return %a0 : tensor<144xi1>
}
func.func @main(%arg0: tensor<3x6xi1>)
    -> (tensor<144xi1>) {
  %v0 = nn.broadcast %arg0 dims [1, 2] : tensor<3x6xi1> -> tensor<8x3x6xi1>
  %v1 = tensor.collapse_shape %v0 [[0, 1, 2]] {dist.shardings = [#dist.sharding<@mesh, [{"x"}], replicated={"y"}>]} : tensor<8x3x6xi1> into tensor<144xi1>
  %v2 = func.call @f3(%v1, %v0) : (tensor<144xi1>, tensor<8x3x6xi1>) -> tensor<144xi1>
  return %v2 : tensor<144xi1>
}
