// Upstream ops: elementwise, shapes, linalg.
// RUN: tessera verify %s --seeds 2 | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=4]

// CHECK-LABEL: @elementwise
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @elementwise(
    %a: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
    %b: tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<7x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %c = arith.constant dense<0.5> : tensor<7x6xf32>
  %0 = arith.mulf %a, %c : tensor<7x6xf32>
  %1 = math.tanh %0 : tensor<7x6xf32>
  %2 = arith.cmpf ogt, %1, %b : tensor<7x6xf32>
  %3 = arith.select %2, %1, %b : tensor<7x6xi1>, tensor<7x6xf32>
  %4 = nn.gelu <erf> %3 : tensor<7x6xf32>
  %5 = nn.silu %4 : tensor<7x6xf32>
  return %5 : tensor<7x6xf32>
}

// Operands with different shardings.
// CHECK-LABEL: @elementwise_conflict
// CHECK: yes
func.func @elementwise_conflict(
    %a: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %b: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> tensor<8x8xf32> {
  %0 = arith.addf %a, %b : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// A constant that is not a splat: each rank needs its shard.
// CHECK-LABEL: @constant
// CHECK: yes
func.func @constant(%a: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %0 = arith.mulf %a, %c : tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// A constant that is padded, and summed: its padding does not count.
// CHECK-LABEL: @uneven_constant
// CHECK: yes
// CHECK: all_reduce 1
func.func @uneven_constant(
    %a: tensor<3x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = arith.addf %a, %c : tensor<3x2xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<3x2xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// [4, 8] over (x, y) to [32] and back.
// CHECK-LABEL: @merge_and_split
// CHECK: yes
func.func @merge_and_split(
    %a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<4x8xf32> {
  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %1 = math.exp %0 : tensor<32xf32>
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// One axis on a flat dimension is split into two sub-axes.
// CHECK-LABEL: @split_into_sub_axes
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @split_into_sub_axes(
    %a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y":(1)2}, {"y":(2)2}]>}) {
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// The minor dimension of a merged pair is sharded.
// CHECK-LABEL: @merge_minor
// CHECK: yes
func.func @merge_minor(%a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>})
    -> tensor<32xf32> {
  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  return %0 : tensor<32xf32>
}

// CHECK-LABEL: @slice_other_dimension
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @slice_other_dimension(
    %a: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = tensor.extract_slice %a[0, 3] [8, 2] [1, 1] : tensor<8x6xf32> to tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// A slice of the sharded dimension.
// CHECK-LABEL: @slice_split_dimension
// CHECK: yes
func.func @slice_split_dimension(
    %a: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> tensor<3x6xf32> {
  %0 = tensor.extract_slice %a[3, 0] [3, 6] [1, 1] : tensor<8x6xf32> to tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}

// CHECK-LABEL: @concat
// CHECK: yes
func.func @concat(
    %a: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
    %b: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<4x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = tensor.concat dim(1) %a, %b : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// CHECK-LABEL: @shapes
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @shapes(%a: tensor<5x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = nn.transpose %a [1, 0] : tensor<5x8xf32> -> tensor<8x5xf32>
  %1 = nn.broadcast %b dims [0] : tensor<8xf32> -> tensor<8x5xf32>
  %2 = arith.addf %0, %1 : tensor<8x5xf32>
  return %2 : tensor<8x5xf32>
}

// CHECK-LABEL: @linalg_matmul
// CHECK: yes
// CHECK: all_reduce 1
func.func @linalg_matmul(
    %a: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<6x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x5xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<6x5xf32>) -> tensor<6x5xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<6x8xf32>, tensor<8x5xf32>) outs(%f : tensor<6x5xf32>) -> tensor<6x5xf32>
  return %0 : tensor<6x5xf32>
}

// The init of a matmul is not a fill: it counts once.
// CHECK-LABEL: @linalg_matmul_with_init
// CHECK: yes
// CHECK: all_reduce 1
func.func @linalg_matmul_with_init(
    %a: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>},
    %b: tensor<8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}, %i: tensor<6x5xf32>)
    -> (tensor<6x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = linalg.matmul ins(%a, %b : tensor<6x8xf32>, tensor<8x5xf32>) outs(%i : tensor<6x5xf32>) -> tensor<6x5xf32>
  return %0 : tensor<6x5xf32>
}

// A generic op with a broadcast operand and a transposed one.
// CHECK-LABEL: @linalg_generic
// CHECK: yes
// CHECK-NEXT: no collectives
func.func @linalg_generic(
    %a: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>},
    %b: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %e = tensor.empty() : tensor<6x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>,
      affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<8x6xf32>, tensor<6xf32>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// A body that reads its position may be sharded only with an offset.
// CHECK-LABEL: @linalg_index
// CHECK: yes
func.func @linalg_index(%a: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %s = arith.addf %x, %f : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// An op without a rule: replicated, and still correct.
// CHECK-LABEL: @without_rule
// CHECK: yes
func.func @without_rule(%a: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>},
    %b: tensor<2x6xf32>)
    -> (tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = tensor.insert_slice %b into %a[1, 0] [2, 6] [1, 1] : tensor<2x6xf32> into tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
