// Results of each collective on four ranks. The values are written out, so this
// does not depend on how the interpreter shards or assembles tensors.
// RUN: tessera verify %s --interpret | FileCheck %s

dist.mesh @mesh ["x"=2, "y"=2]

// Over the minor axis: ranks 0 and 1, ranks 2 and 3.
// CHECK-LABEL: @all_gather_y
// CHECK-NEXT: result0, ranks 0-1: {{\[\[}}1, 2], [3, 4]]
// CHECK-NEXT: result0, ranks 2-3: {{\[\[}}5, 6], [7, 8]]
func.func @all_gather_y(%a: tensor<1x2xf32> {interpret.values = [
    dense<[[1.0, 2.0]]> : tensor<1x2xf32>, dense<[[3.0, 4.0]]> : tensor<1x2xf32>,
    dense<[[5.0, 6.0]]> : tensor<1x2xf32>, dense<[[7.0, 8.0]]> : tensor<1x2xf32>]})
    -> tensor<2x2xf32> {
  %0 = dist.all_gather %a dim 0 over <{"y"}> on @mesh : tensor<1x2xf32> -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// Along the inner dimension, over the major axis: ranks 0 and 2, 1 and 3.
// CHECK-LABEL: @all_gather_x_inner
// CHECK-NEXT: result0, ranks 0,2: {{\[\[}}1, 2, 5, 6]]
// CHECK-NEXT: result0, ranks 1,3: {{\[\[}}3, 4, 7, 8]]
func.func @all_gather_x_inner(%a: tensor<1x2xf32> {interpret.values = [
    dense<[[1.0, 2.0]]> : tensor<1x2xf32>, dense<[[3.0, 4.0]]> : tensor<1x2xf32>,
    dense<[[5.0, 6.0]]> : tensor<1x2xf32>, dense<[[7.0, 8.0]]> : tensor<1x2xf32>]})
    -> tensor<1x4xf32> {
  %0 = dist.all_gather %a dim 1 over <{"x"}> on @mesh : tensor<1x2xf32> -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// Over (y, x), y major: the blocks come from ranks 0, 2, 1, 3.
// CHECK-LABEL: @all_gather_yx
// CHECK-NEXT: result0, ranks 0-3: [1, 3, 2, 4]
func.func @all_gather_yx(%a: tensor<1xi32> {interpret.values = [
    dense<1> : tensor<1xi32>, dense<2> : tensor<1xi32>,
    dense<3> : tensor<1xi32>, dense<4> : tensor<1xi32>]}) -> tensor<4xi32> {
  %0 = dist.all_gather %a dim 0 over <{"y", "x"}> on @mesh : tensor<1xi32> -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// CHECK-LABEL: @all_reduce_sum
// CHECK-NEXT: result0, ranks 0-1: [4, 6]
// CHECK-NEXT: result0, ranks 2-3: [12, 14]
func.func @all_reduce_sum(%a: tensor<2xf32> {interpret.values = [
    dense<[1.0, 2.0]> : tensor<2xf32>, dense<[3.0, 4.0]> : tensor<2xf32>,
    dense<[5.0, 6.0]> : tensor<2xf32>, dense<[7.0, 8.0]> : tensor<2xf32>]})
    -> tensor<2xf32> {
  %0 = dist.all_reduce <sum> %a over <{"y"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A maximum stays a maximum, a minimum a minimum, for integers too.
// CHECK-LABEL: @all_reduce_max_min
// CHECK-NEXT: result0, ranks 0,2: [5, -2]
// CHECK-NEXT: result0, ranks 1,3: [7, 4]
// CHECK-NEXT: result1, ranks 0-3: [-7, -6]
func.func @all_reduce_max_min(%a: tensor<2xi32> {interpret.values = [
    dense<[1, -2]> : tensor<2xi32>, dense<[-7, 4]> : tensor<2xi32>,
    dense<[5, -6]> : tensor<2xi32>, dense<[7, 3]> : tensor<2xi32>]})
    -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = dist.all_reduce <max> %a over <{"x"}> on @mesh : tensor<2xi32> -> tensor<2xi32>
  %1 = dist.all_reduce <min> %a over <{"x", "y"}> on @mesh : tensor<2xi32> -> tensor<2xi32>
  return %0, %1 : tensor<2xi32>, tensor<2xi32>
}

// Booleans: a maximum is an or, a minimum an and.
// CHECK-LABEL: @all_reduce_booleans
// CHECK-NEXT: result0, ranks 0-3: [1, 0]
// CHECK-NEXT: result1, ranks 0-3: [0, 0]
func.func @all_reduce_booleans(%a: tensor<2xi1> {interpret.values = [
    dense<[true, false]> : tensor<2xi1>, dense<[true, false]> : tensor<2xi1>,
    dense<[true, false]> : tensor<2xi1>, dense<[false, false]> : tensor<2xi1>]})
    -> (tensor<2xi1>, tensor<2xi1>) {
  %0 = dist.all_reduce <max> %a over <{"x", "y"}> on @mesh : tensor<2xi1> -> tensor<2xi1>
  %1 = dist.all_reduce <min> %a over <{"x", "y"}> on @mesh : tensor<2xi1> -> tensor<2xi1>
  return %0, %1 : tensor<2xi1>, tensor<2xi1>
}

// Partial bf16 values are summed in double and rounded once: 256 + 3 * 0.75 is
// 258, while adding one after the other would stay at 256.
// CHECK-LABEL: @all_reduce_rounds_once
// CHECK-NEXT: result0, ranks 0-3: [258]
func.func @all_reduce_rounds_once(%a: tensor<1xbf16> {interpret.values = [
    dense<256.0> : tensor<1xbf16>, dense<0.75> : tensor<1xbf16>,
    dense<0.75> : tensor<1xbf16>, dense<0.75> : tensor<1xbf16>]}) -> tensor<1xbf16> {
  %0 = dist.all_reduce <sum> %a over <{"x", "y"}> on @mesh : tensor<1xbf16> -> tensor<1xbf16>
  return %0 : tensor<1xbf16>
}

// CHECK-LABEL: @reduce_scatter
// CHECK-NEXT: result0, rank 0: [111]
// CHECK-NEXT: result0, rank 1: [222]
// CHECK-NEXT: result0, rank 2: [333]
// CHECK-NEXT: result0, rank 3: [444]
func.func @reduce_scatter(%a: tensor<4xf32> {interpret.values = [
    dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>,
    dense<[10.0, 20.0, 30.0, 40.0]> : tensor<4xf32>,
    dense<[100.0, 200.0, 300.0, 400.0]> : tensor<4xf32>,
    dense<0.0> : tensor<4xf32>]}) -> tensor<1xf32> {
  %0 = dist.reduce_scatter <sum> %a dim 0 over <{"x", "y"}> on @mesh : tensor<4xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// A maximum, along the inner dimension.
// CHECK-LABEL: @reduce_scatter_max
// CHECK-NEXT: result0, rank 0: {{\[\[}}5], [4]]
// CHECK-NEXT: result0, rank 1: {{\[\[}}6], [8]]
// CHECK-NEXT: result0, rank 2: {{\[\[}}0], [0]]
// CHECK-NEXT: result0, rank 3: {{\[\[}}1], [0]]
func.func @reduce_scatter_max(%a: tensor<2x2xf32> {interpret.values = [
    dense<[[1.0, 6.0], [3.0, 4.0]]> : tensor<2x2xf32>,
    dense<[[5.0, 2.0], [4.0, 8.0]]> : tensor<2x2xf32>,
    dense<[[0.0, 1.0], [0.0, -1.0]]> : tensor<2x2xf32>,
    dense<0.0> : tensor<2x2xf32>]}) -> tensor<2x1xf32> {
  %0 = dist.reduce_scatter <max> %a dim 1 over <{"y"}> on @mesh : tensor<2x2xf32> -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}

// Rows on y become columns on y.
// CHECK-LABEL: @all_to_all
// CHECK-NEXT: result0, rank 0: {{\[\[}}1], [3]]
// CHECK-NEXT: result0, rank 1: {{\[\[}}2], [4]]
// CHECK-NEXT: result0, rank 2: {{\[\[}}5], [7]]
// CHECK-NEXT: result0, rank 3: {{\[\[}}6], [8]]
func.func @all_to_all(%a: tensor<1x2xi32> {interpret.values = [
    dense<[[1, 2]]> : tensor<1x2xi32>, dense<[[3, 4]]> : tensor<1x2xi32>,
    dense<[[5, 6]]> : tensor<1x2xi32>, dense<[[7, 8]]> : tensor<1x2xi32>]})
    -> tensor<2x1xi32> {
  %0 = dist.all_to_all %a gather 0 split 1 over <{"y"}> on @mesh : tensor<1x2xi32> -> tensor<2x1xi32>
  return %0 : tensor<2x1xi32>
}

// Member i sends to member targets[i]: 0 to 1, 1 to 2, 2 to 0; 3 keeps its own.
// CHECK-LABEL: @permute
// CHECK-NEXT: result0, rank 0: [3]
// CHECK-NEXT: result0, rank 1: [1]
// CHECK-NEXT: result0, rank 2: [2]
// CHECK-NEXT: result0, rank 3: [4]
func.func @permute(%a: tensor<1xi32> {interpret.values = [
    dense<1> : tensor<1xi32>, dense<2> : tensor<1xi32>,
    dense<3> : tensor<1xi32>, dense<4> : tensor<1xi32>]}) -> tensor<1xi32> {
  %0 = dist.collective_permute %a targets [1, 2, 0, 3] over <{"x", "y"}> on @mesh : tensor<1xi32> -> tensor<1xi32>
  return %0 : tensor<1xi32>
}

// CHECK-LABEL: @slice
// CHECK-NEXT: result0, rank 0: [1]
// CHECK-NEXT: result0, rank 1: [3]
// CHECK-NEXT: result0, rank 2: [2]
// CHECK-NEXT: result0, rank 3: [4]
func.func @slice(%a: tensor<4xi32> {interpret.value = dense<[1, 2, 3, 4]> : tensor<4xi32>})
    -> tensor<1xi32> {
  %0 = dist.all_slice %a dim 0 over <{"y", "x"}> on @mesh : tensor<4xi32> -> tensor<1xi32>
  return %0 : tensor<1xi32>
}

// CHECK-LABEL: @broadcast
// CHECK-NEXT: result0, ranks 0,2: [3]
// CHECK-NEXT: result0, ranks 1,3: [4]
func.func @broadcast(%a: tensor<1xi32> {interpret.values = [
    dense<1> : tensor<1xi32>, dense<2> : tensor<1xi32>,
    dense<3> : tensor<1xi32>, dense<4> : tensor<1xi32>]}) -> tensor<1xi32> {
  %0 = dist.broadcast %a root 1 over <{"x"}> on @mesh : tensor<1xi32> -> tensor<1xi32>
  return %0 : tensor<1xi32>
}

// The value on coordinate 0, the neutral element on the others; the reduction
// gives the value back.
// CHECK-LABEL: @to_partial
// CHECK-NEXT: result0, ranks 0,2: [1, 2]
// CHECK-NEXT: result0, ranks 1,3: [0, 0]
// CHECK-NEXT: result1, ranks 0-1: [1, 2]
// CHECK-NEXT: result1, ranks 2-3: [-inf, -inf]
// CHECK-NEXT: result2, ranks 0-3: [1, 2]
// CHECK-NEXT: result3, ranks 0-3: [1, 2]
func.func @to_partial(%a: tensor<2xf32> {interpret.value = dense<[1.0, 2.0]> : tensor<2xf32>})
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = dist.to_partial <sum> %a over <{"y"}> on @mesh : tensor<2xf32>
  %1 = dist.to_partial <max> %a over <{"x"}> on @mesh : tensor<2xf32>
  %2 = dist.all_reduce <sum> %0 over <{"y"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  %3 = dist.all_reduce <max> %1 over <{"x"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @axis_offset
// CHECK-NEXT: result0, ranks 0,2: 0
// CHECK-NEXT: result0, ranks 1,3: 8
// CHECK-NEXT: result1, rank 0: 0
// CHECK-NEXT: result1, rank 1: 6
// CHECK-NEXT: result1, rank 2: 3
// CHECK-NEXT: result1, rank 3: 9
func.func @axis_offset() -> (index, index) {
  %0 = dist.axis_offset <{"y"}> size 8 on @mesh : index
  %1 = dist.axis_offset <{"y", "x"}> size 3 on @mesh : index
  return %0, %1 : index, index
}

// Devices at x=0 send to devices at x=1, and back; the others get 0.
// CHECK-LABEL: @send_recv
// CHECK-NEXT: result0, ranks 0-1: [0]
// CHECK-NEXT: result0, rank 2: [1]
// CHECK-NEXT: result0, rank 3: [2]
// CHECK-NEXT: result1, rank 0: [4]
// CHECK-NEXT: result1, rank 1: [6]
// CHECK-NEXT: result1, ranks 2-3: [0]
func.func @send_recv(%a: tensor<1xi32> {interpret.values = [
    dense<1> : tensor<1xi32>, dense<2> : tensor<1xi32>,
    dense<3> : tensor<1xi32>, dense<4> : tensor<1xi32>]})
    -> (tensor<1xi32>, tensor<1xi32>) {
  dist.send %a along "x" 0 to 1 tag 7 on @mesh : tensor<1xi32>
  %0 = dist.recv along "x" 0 to 1 tag 7 on @mesh : tensor<1xi32>
  %1 = arith.addi %0, %a : tensor<1xi32>
  dist.send %1 along "x" 1 to 0 tag 7 on @mesh : tensor<1xi32>
  %2 = dist.recv along "x" 1 to 0 tag 7 on @mesh : tensor<1xi32>
  return %0, %2 : tensor<1xi32>, tensor<1xi32>
}

// CHECK-LABEL: @start_wait
// CHECK-NEXT: result0, ranks 0-1: [1, 2]
// CHECK-NEXT: result0, ranks 2-3: [3, 4]
func.func @start_wait(%a: tensor<1xi32> {interpret.values = [
    dense<1> : tensor<1xi32>, dense<2> : tensor<1xi32>,
    dense<3> : tensor<1xi32>, dense<4> : tensor<1xi32>]}) -> tensor<2xi32> {
  %f = dist.start %a : tensor<1xi32> -> !dist.future<tensor<2xi32>> {
  ^bb0(%b: tensor<1xi32>):
    %0 = dist.all_gather %b dim 0 over <{"y"}> on @mesh : tensor<1xi32> -> tensor<2xi32>
    dist.yield %0 : tensor<2xi32>
  }
  %1 = dist.wait %f, %a : !dist.future<tensor<2xi32>>, tensor<1xi32> -> tensor<2xi32>
  return %1 : tensor<2xi32>
}
