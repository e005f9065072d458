// Decisions for given shardings, case by case, on a mesh of 4 x 2.
// RUN: tessera-opt %s --pass-pipeline='builtin.module(tessera-propagate,tessera-partition)' | FileCheck %s

dist.mesh @mesh ["x"=4, "y"=2]

// Z = X.W contracts over y: the sum must be whole along y.
// CHECK-LABEL: func.func @contract_to_whole
// CHECK: %[[Z:.*]] = nn.einsum {{.*}} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
// CHECK-NEXT: %[[R:.*]] = dist.all_reduce <sum> %[[Z]] over <{"y"}> on @mesh
// CHECK-NEXT: return %[[R]]
func.func @contract_to_whole(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %w: tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

// The same, but the result is sharded along y.
// CHECK-LABEL: func.func @contract_to_parts
// CHECK: %[[Z:.*]] = nn.einsum
// CHECK-NEXT: %[[R:.*]] = dist.reduce_scatter <sum> %[[Z]] dim 1 over <{"y"}> on @mesh : tensor<16x16xf32> -> tensor<16x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @contract_to_parts(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
    %w: tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<64x32xf32>, tensor<32x16xf32> -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

// A.A gathers the left side over y, the right one over x, and reduces nothing.
// CHECK-LABEL: func.func @square
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<16x32xf32>
// CHECK-DAG: %[[L:.*]] = dist.all_gather %[[A]] dim 1 over <{"y"}>
// CHECK-DAG: %[[R:.*]] = dist.all_gather %[[A]] dim 0 over <{"x"}>
// CHECK: %[[Z:.*]] = nn.einsum "ik,kj->ij" %[[L]], %[[R]]
// CHECK-NEXT: return %[[Z]]
func.func @square(%x: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = nn.einsum "ik,kj->ij" %x, %x : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// Contracting over two axes is one reduction over both.
// CHECK-LABEL: func.func @two_axes
// CHECK: dist.all_reduce <sum> %{{.*}} over <{"x", "y"}>
// CHECK-NEXT: return
func.func @two_axes(%x: tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x","y"}]>},
    %w: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x","y"}, {}]>})
    -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<16x64xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// A small contracted dimension (8) is cheaper to gather than its result (512 x
// 512) to reduce: 2 x 12 KiB against 1.5 MiB per device.
// CHECK-LABEL: func.func @small_contracted
// CHECK-COUNT-2: dist.all_gather
// CHECK-NOT: dist.{{all|reduce}}
// CHECK: return
func.func @small_contracted(%x: tensor<512x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %w: tensor<8x512xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<512x512xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<512x8xf32>, tensor<8x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// A large one (4096) is not: 384 B against 2 x 96 KiB.
// CHECK-LABEL: func.func @large_contracted
// CHECK-NOT: dist.all_gather
// CHECK: dist.all_reduce <sum>
// CHECK-NEXT: return
func.func @large_contracted(%x: tensor<8x4096xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %w: tensor<4096x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<8x4096xf32>, tensor<4096x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// An input with a finer sharding is used as it is; the result moves.
// CHECK-LABEL: func.func @finer_input
// CHECK: %[[E:.*]] = math.exp %{{.*}} : tensor<16x16xf32>
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[E]] dim 1 over <{"y"}>
// CHECK-NEXT: return %[[G]]
func.func @finer_input(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = math.exp %x {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @max_stays_max
// CHECK: dist.all_reduce <max> %{{.*}} over <{"x"}>
func.func @max_stays_max(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = nn.reduce <max> %x dims [0] : tensor<64x32xf32> -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// reduce, add, return: one reduction, at the end.
// CHECK-LABEL: func.func @reduce_add_return
// CHECK-NOT: dist.{{all|reduce}}
// CHECK: %[[S:.*]] = arith.addf
// CHECK-NEXT: %[[R:.*]] = dist.all_reduce <sum> %[[S]] over <{"x"}>
// CHECK-NEXT: return %[[R]]
func.func @reduce_add_return(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %y: tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = nn.reduce <sum> %x dims [0] : tensor<64x32xf32> -> tensor<32xf32>
  %1 = nn.reduce <sum> %y dims [0] : tensor<64x32xf32> -> tensor<32xf32>
  %2 = arith.addf %0, %1 : tensor<32xf32>
  return %2 : tensor<32xf32>
}

// [4|x, 8|y] -> [32|(x,y)] moves nothing.
// CHECK-LABEL: func.func @merge_dims
// CHECK: %[[C:.*]] = tensor.collapse_shape {{.*}} : tensor<1x4xf32> into tensor<4xf32>
// CHECK-NEXT: return %[[C]]
func.func @merge_dims(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}]>}) {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  return %0 : tensor<32xf32>
}

// [8|x] -> [2|x:(1)2, 4|x:(2)2], and back: no collective.
// CHECK-LABEL: func.func @split_axis
// CHECK-NOT: dist.{{all|collective}}
// CHECK: return {{.*}} : tensor<1x2xf32>
func.func @split_axis(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)2}, {"x":(2)2}]>}) {
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @merge_axis
// CHECK-NOT: dist.{{all|collective}}
// CHECK: return {{.*}} : tensor<2xf32>
func.func @merge_axis(%x: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x":(1)2}, {"x":(2)2}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The sum of two row-parallel matmuls is reduced once.
// CHECK-LABEL: func.func @two_matmuls
// CHECK-COUNT-2: nn.einsum
// CHECK-NEXT: %[[S:.*]] = arith.addf
// CHECK-NEXT: %[[R:.*]] = dist.all_reduce <sum> %[[S]] over <{"x"}>
// CHECK-NEXT: return %[[R]]
func.func @two_matmuls(%x: tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>},
    %w: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %v: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.einsum "ik,kj->ij" %x, %w : tensor<16x64xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
  %1 = nn.einsum "ik,kj->ij" %x, %v : tensor<16x64xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
  %2 = arith.addf %0, %1 : tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// A search for the maximum and its position: the maximum over all devices, then
// the smallest position among those that have it. Nothing is gathered, and the
// maximum of values is not merged with a maximum of positions.
// CHECK-LABEL: func.func @argmax
// CHECK-DAG: %[[O:.*]] = dist.axis_offset <{"x"}> size 4
// CHECK-DAG: %[[LOW:.*]] = arith.constant dense<-1.000000e+30>
// CHECK-NOT: dist.all_gather
// CHECK: %[[M:.*]] = nn.reduce <max> %[[X:.*]] dims [1] : tensor<4x4xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[BEST:.*]] = dist.all_reduce <max> %[[M]] over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
// CHECK: %[[B:.*]] = nn.broadcast %[[BEST]]
// CHECK-NEXT: arith.cmpf oeq, %[[X]], %[[B]]
// CHECK: nn.iota offset %[[O]]
// CHECK: %[[P:.*]] = nn.reduce <min> %{{.*}} dims [1] : tensor<4x4xi32> -> tensor<4xi32>
// CHECK-NEXT: dist.all_reduce <min> %[[P]] over <{"x"}> on @mesh : tensor<4xi32> -> tensor<4xi32>
// CHECK-NEXT: arith.cmpf ogt, %[[BEST]], %[[LOW]]
// CHECK-NOT: dist.{{all|reduce}}
// CHECK: return
func.func @argmax(
    %x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>},
        tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %low = arith.constant dense<-1.0e+30> : tensor<8xf32>
  %none = arith.constant dense<-1> : tensor<8xi32>
  %0:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%low, %none : tensor<8xf32>, tensor<8xi32>) {
  ^bb0(%a: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %gt = arith.cmpf ogt, %a, %best : f32
    %v = arith.select %gt, %a, %best : f32
    %p = arith.select %gt, %n, %at : i32
    linalg.yield %v, %p : f32, i32
  } -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}

// The same op: two reductions of the rest, over both axes.
// CHECK-LABEL: func.func @arg_reduce
// CHECK-NOT: dist.all_gather
// CHECK: dist.all_reduce <min> %{{.*}} over <{"x", "y"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
// CHECK: dist.all_reduce <min> %{{.*}} over <{"x", "y"}> on @mesh : tensor<8xi32> -> tensor<8xi32>
// CHECK-NOT: dist.{{all|reduce}}
// CHECK: return
func.func @arg_reduce(
    %x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %v, %i = nn.arg_reduce <min> %x dim 1 : tensor<8x16xf32> -> tensor<8xf32>, tensor<8xi32>
  return %v, %i : tensor<8xf32>, tensor<8xi32>
}

// An unknown reduction is gathered and computed whole.
// CHECK-LABEL: func.func @unknown_reduction
// CHECK: %[[G:.*]] = dist.all_gather %{{.*}} dim 1 over <{"x"}> on @mesh : tensor<4x4xf32> -> tensor<4x16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[G]] : tensor<4x16xf32>)
func.func @unknown_reduction(
    %x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x16xf32>) outs(%one : tensor<8xf32>) {
  ^bb0(%a: f32, %product: f32):
    %p = arith.mulf %a, %product : f32
    linalg.yield %p : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// 17 rows on 8 devices are three on each, including the last one; the sum over
// them runs on all eight.
// CHECK-LABEL: func.func @seventeen_rows
// CHECK-SAME: tensor<3x4xf32> {dist.global_shape = array<i64: 17, 4>
// CHECK: %[[S:.*]] = nn.reduce <sum> %{{.*}} dims [0] : tensor<3x4xf32> -> tensor<4xf32>
// CHECK: dist.all_reduce <sum> %[[S]] over <{"x", "y"}>
// CHECK: return
func.func @seventeen_rows(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = math.exp %x : tensor<17x4xf32>
  %1 = nn.reduce <sum> %0 dims [0] : tensor<17x4xf32> -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<17x4xf32>
}
