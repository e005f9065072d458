// Neighbouring collectives of a local program.
// RUN: tessera-opt %s --dist-fuse-collectives | FileCheck %s
// RUN: tessera-opt %s --dist-fuse-collectives=shared-bytes=128 | FileCheck %s --check-prefix=SHARED
// RUN: tessera-opt %s --dist-fuse-collectives --remarks-filter='partition.*' --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

dist.mesh @mesh ["x"=4, "y"=2]

// CHECK-LABEL: func.func @reduce_and_slice(
// CHECK: %[[R:.*]] = dist.reduce_scatter <sum> %{{.*}} dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: return %[[R]], %[[R]]
func.func @reduce_and_slice(%a: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  %2 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>
}

// The slices share their first axis: the sum is reduced and scattered over it.
// REMARK-DAG: [Passed] FuseCollectives {{.*}}"all_reduce and slice to reduce_scatter"
// CHECK-LABEL: func.func @prefix(
// CHECK: %[[R:.*]] = dist.reduce_scatter <sum> %{{.*}} dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[Y:.*]] = dist.all_slice %[[R]] dim 0 over <{"y"}> on @mesh : tensor<2x4xf32> -> tensor<1x4xf32>
// CHECK-NEXT: return %[[R]], %[[Y]]
func.func @prefix(%a: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<1x4xf32>) attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  %2 = dist.all_slice %0 dim 0 over <{"x", "y"}> on @mesh : tensor<8x4xf32> -> tensor<1x4xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<1x4xf32>
}

// Reduced over two axes, sliced over one: the other axis reduces the shard.
// CHECK-LABEL: func.func @rest(
// CHECK: %[[R:.*]] = dist.reduce_scatter <sum> %{{.*}} dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[S:.*]] = dist.all_reduce <sum> %[[R]] over <{"y"}> on @mesh : tensor<2x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: return %[[S]]
func.func @rest(%a: tensor<8x4xf32>) -> tensor<2x4xf32> attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x", "y"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// REMARK-DAG: [Passed] FuseCollectives {{.*}}"reduce_scatter and all_gather to all_reduce"
// CHECK-LABEL: func.func @scattered_and_gathered(
// CHECK: %[[R:.*]] = dist.all_reduce <max> %{{.*}} over <{"x"}>
// CHECK-NEXT: return %[[R]]
func.func @scattered_and_gathered(%a: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {dist.local} {
  %0 = dist.reduce_scatter <max> %a dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  %1 = dist.all_gather %0 dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// REMARK-DAG: [Missed] FuseCollectives {{.*}}Reason="the scattered sum has another use"{{.*}}"reduce_scatter and all_gather"
// CHECK-LABEL: func.func @scattered_used(
// CHECK: dist.reduce_scatter
// CHECK: dist.all_gather
func.func @scattered_used(%a: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) attributes {dist.local} {
  %0 = dist.reduce_scatter <max> %a dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  %1 = dist.all_gather %0 dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<8x4xf32>
}

// REMARK-DAG: [Passed] FuseCollectives {{.*}}"sum of two reductions to one"
// CHECK-LABEL: func.func @sum_of_sums(
// CHECK: %[[S:.*]] = arith.addf %{{.*}}, %{{.*}} : tensor<8x4xf32>
// CHECK-NEXT: %[[R:.*]] = dist.reduce_scatter <sum> %[[S]] dim 0 over <{"x"}>
// CHECK-NEXT: return %[[R]]
func.func @sum_of_sums(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<2x4xf32> attributes {dist.local} {
  %0 = dist.reduce_scatter <sum> %a dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  %1 = dist.reduce_scatter <sum> %b dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  %2 = arith.addf %0, %1 : tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// A product of two sums is not the sum of products.
// CHECK-LABEL: func.func @product_of_sums(
// CHECK-COUNT-2: dist.all_reduce
// CHECK-NEXT: arith.mulf
func.func @product_of_sums(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_reduce <sum> %b over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %2 = arith.mulf %0, %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// The slice keeps the major part of the gathered dimension.
// CHECK-LABEL: func.func @smaller_gather(
// CHECK: %[[G:.*]] = dist.all_gather %{{.*}} dim 0 over <{"y"}> on @mesh : tensor<1x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: return %[[G]]
func.func @smaller_gather(%a: tensor<1x4xf32>) -> tensor<2x4xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x", "y"}> on @mesh : tensor<1x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// Half the bytes.
// CHECK-LABEL: func.func @slice_first(
// CHECK: %[[S:.*]] = dist.all_slice %{{.*}} dim 1 over <{"y"}> on @mesh : tensor<2x4xf32> -> tensor<2x2xf32>
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[S]] dim 0 over <{"x"}> on @mesh : tensor<2x2xf32> -> tensor<8x2xf32>
// CHECK-NEXT: return %[[G]]
func.func @slice_first(%a: tensor<2x4xf32>) -> tensor<8x2xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 1 over <{"y"}> on @mesh : tensor<8x4xf32> -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// The same axes on both: a device slices one dimension and gathers the other by
// the same axes, an all-to-all.
// CHECK-LABEL: func.func @gather_and_slice_same_axes(
// CHECK: %[[M:.*]] = dist.all_to_all %{{.*}} gather 0 split 1 over <{"x"}> on @mesh : tensor<2x8xf32> -> tensor<8x2xf32>
// CHECK-NEXT: return %[[M]]
func.func @gather_and_slice_same_axes(%a: tensor<2x8xf32>) -> tensor<8x2xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x8xf32> -> tensor<8x8xf32>
  %1 = dist.all_slice %0 dim 1 over <{"x"}> on @mesh : tensor<8x8xf32> -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// CHECK-LABEL: func.func @gather_and_finer_slice(
// CHECK: %[[S:.*]] = dist.all_slice %{{.*}} dim 1 over <{"y"}> on @mesh : tensor<2x8xf32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[M:.*]] = dist.all_to_all %[[S]] gather 0 split 1 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x1xf32>
// CHECK-NEXT: return %[[M]]
func.func @gather_and_finer_slice(%a: tensor<2x8xf32>) -> tensor<8x1xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x8xf32> -> tensor<8x8xf32>
  %1 = dist.all_slice %0 dim 1 over <{"y", "x"}> on @mesh : tensor<8x8xf32> -> tensor<8x1xf32>
  return %1 : tensor<8x1xf32>
}

// A slice by the gathered axes first takes other elements than by the others.
// CHECK-LABEL: func.func @gather_and_coarser_slice(
// CHECK: dist.all_gather
// CHECK-NEXT: dist.all_slice
func.func @gather_and_coarser_slice(%a: tensor<2x8xf32>) -> tensor<8x1xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x8xf32> -> tensor<8x8xf32>
  %1 = dist.all_slice %0 dim 1 over <{"x", "y"}> on @mesh : tensor<8x8xf32> -> tensor<8x1xf32>
  return %1 : tensor<8x1xf32>
}

// CHECK-LABEL: func.func @two_gathers(
// CHECK: %[[G:.*]] = dist.all_gather %{{.*}} dim 0 over <{"x", "y"}> on @mesh : tensor<1x4xf32> -> tensor<8x4xf32>
// CHECK-NEXT: return %[[G]]
func.func @two_gathers(%a: tensor<1x4xf32>) -> tensor<8x4xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"y"}> on @mesh : tensor<1x4xf32> -> tensor<2x4xf32>
  %1 = dist.all_gather %0 dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @two_slices(
// CHECK: %[[G:.*]] = dist.all_slice %{{.*}} dim 0 over <{"y", "x"}> on @mesh : tensor<8x4xf32> -> tensor<1x4xf32>
// CHECK-NEXT: return %[[G]]
func.func @two_slices(%a: tensor<8x4xf32>) -> tensor<1x4xf32> attributes {dist.local} {
  %0 = dist.all_slice %a dim 0 over <{"y"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<4x4xf32> -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @two_moves(
// CHECK: %[[M:.*]] = dist.all_to_all %{{.*}} gather 0 split 2 over <{"x"}> on @mesh : tensor<2x4x4xf32> -> tensor<8x4x1xf32>
// CHECK-NEXT: return %[[M]]
func.func @two_moves(%a: tensor<2x4x4xf32>) -> tensor<8x4x1xf32> attributes {dist.local} {
  %0 = dist.all_to_all %a gather 0 split 1 over <{"x"}> on @mesh : tensor<2x4x4xf32> -> tensor<8x1x4xf32>
  %1 = dist.all_to_all %0 gather 1 split 2 over <{"x"}> on @mesh : tensor<8x1x4xf32> -> tensor<8x4x1xf32>
  return %1 : tensor<8x4x1xf32>
}

// CHECK-LABEL: func.func @move_and_back(
// CHECK-SAME: %[[A:.*]]: tensor<2x4xf32>
// CHECK-NEXT: return %[[A]]
func.func @move_and_back(%a: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {dist.local} {
  %0 = dist.all_to_all %a gather 0 split 1 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x1xf32>
  %1 = dist.all_to_all %0 gather 1 split 0 over <{"x"}> on @mesh : tensor<8x1xf32> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @move_and_gather(
// CHECK: %[[G:.*]] = dist.all_gather %{{.*}} dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
// CHECK-NEXT: return %[[G]]
func.func @move_and_gather(%a: tensor<2x4xf32>) -> tensor<8x4xf32> attributes {dist.local} {
  %0 = dist.all_to_all %a gather 0 split 1 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x1xf32>
  %1 = dist.all_gather %0 dim 1 over <{"x"}> on @mesh : tensor<8x1xf32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// REMARK-DAG: [Passed] FuseCollectives {{.*}}"cast before it moves"
// CHECK-LABEL: func.func @cast_down(
// CHECK: %[[C:.*]] = arith.truncf %{{.*}} : tensor<2x4xf32> to tensor<2x4xbf16>
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[C]] dim 0 over <{"x"}> on @mesh : tensor<2x4xbf16> -> tensor<8x4xbf16>
// CHECK-NEXT: return %[[G]]
func.func @cast_down(%a: tensor<2x4xf32>) -> tensor<8x4xbf16> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = arith.truncf %0 : tensor<8x4xf32> to tensor<8x4xbf16>
  return %1 : tensor<8x4xbf16>
}

// REMARK-DAG: [Passed] FuseCollectives {{.*}}"cast after it"
// CHECK-LABEL: func.func @cast_up(
// CHECK: %[[G:.*]] = dist.all_to_all %{{.*}} gather 0 split 1 over <{"x"}> on @mesh : tensor<2x4xbf16> -> tensor<8x1xbf16>
// CHECK-NEXT: %[[C:.*]] = arith.extf %[[G]] : tensor<8x1xbf16> to tensor<8x1xf32>
// CHECK-NEXT: return %[[C]]
func.func @cast_up(%a: tensor<2x4xbf16>) -> tensor<8x1xf32> attributes {dist.local} {
  %0 = arith.extf %a : tensor<2x4xbf16> to tensor<2x4xf32>
  %1 = dist.all_to_all %0 gather 0 split 1 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x1xf32>
  return %1 : tensor<8x1xf32>
}

// A summand keeps its type.
// CHECK-LABEL: func.func @cast_of_sum(
// CHECK: dist.all_reduce <sum> %{{.*}} : tensor<2x4xf32>
// CHECK-NEXT: arith.truncf
func.func @cast_of_sum(%a: tensor<2x4xf32>) -> tensor<2x4xbf16> attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<2x4xf32>
  %1 = arith.truncf %0 : tensor<2x4xf32> to tensor<2x4xbf16>
  return %1 : tensor<2x4xbf16>
}

// In the body of an accumulation, too.
// CHECK-LABEL: func.func @accumulated(
// CHECK: dist.accumulate
// CHECK: dist.reduce_scatter
// CHECK-NEXT: dist.yield
func.func @accumulated(%a: tensor<3x8x4xf32>) -> tensor<2x4xf32> attributes {dist.local} {
  %s = dist.accumulate 3 (%a) : (tensor<3x8x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%part: tensor<8x4xf32>):
    %0 = dist.all_reduce <sum> %part over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
    %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
    dist.yield %1 : tensor<2x4xf32>
  }
  return %s : tensor<2x4xf32>
}

// The whole value has another use.
// REMARK-DAG: [Missed] FuseCollectives {{.*}}Reason="another use needs it whole"{{.*}}"all_reduce and slice"
// CHECK-LABEL: func.func @reduced_value_used(
// CHECK: dist.all_reduce
// CHECK: dist.all_slice
func.func @reduced_value_used(%a: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  return %1, %0 : tensor<2x4xf32>, tensor<8x4xf32>
}

// Reduced over x, sliced over y: the devices of a slice need the whole sum.
// CHECK-LABEL: func.func @other_axes(
// CHECK: dist.all_reduce
// CHECK: dist.all_slice
func.func @other_axes(%a: tensor<8x4xf32>) -> tensor<4x4xf32> attributes {dist.local} {
  %0 = dist.all_reduce <sum> %a over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"y"}> on @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @gather_and_slice(
// CHECK-SAME: %[[A:.*]]: tensor<2x4xf32>
// CHECK-NEXT: return %[[A]]
func.func @gather_and_slice(%a: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_slice %0 dim 0 over <{"x"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @equal(
// CHECK-COUNT-1: dist.all_gather
// CHECK-NOT: dist.all_gather
// CHECK: return
func.func @equal(%a: tensor<2x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {dist.local} {
  %e = math.exp %a : tensor<2x4xf32>
  %0 = dist.all_gather %e dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %1 = dist.all_gather %e dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// A parameter is gathered for each use on purpose, also through a cast; 128 bytes
// may stay live if the limit allows it.
// REMARK-DAG: [Missed] FuseCollectives {{.*}}Reason="128 bytes would stay live, at most 0 may"
// CHECK-LABEL: func.func @argument(
// CHECK-COUNT-2: dist.all_gather
// SHARED-LABEL: func.func @argument(
// SHARED-COUNT-1: dist.all_gather
// SHARED-NOT: dist.all_gather
// SHARED: return
func.func @argument(%a: tensor<2x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {dist.local} {
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %e = math.exp %0 : tensor<8x4xf32>
  %f = math.exp %e : tensor<8x4xf32>
  %1 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %2 = math.exp %1 : tensor<8x4xf32>
  return %f, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @cast_argument(
// CHECK-COUNT-2: dist.all_gather
func.func @cast_argument(%p: tensor<2x4xf64>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {dist.local} {
  %a = arith.truncf %p : tensor<2x4xf64> to tensor<2x4xf32>
  %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %e = math.exp %0 : tensor<8x4xf32>
  %f = math.exp %e : tensor<8x4xf32>
  %1 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2x4xf32> -> tensor<8x4xf32>
  %2 = math.exp %1 : tensor<8x4xf32>
  return %f, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}

// A value computed from a parameter before a loop is gathered for each use, too.
// CHECK-LABEL: func.func @quantized_before_a_loop(
// CHECK: dist.accumulate
// CHECK-COUNT-2: dist.all_gather {{.*}} tensor<8x4xf8E4M3FN>
// CHECK: dist.yield
// SHARED-LABEL: func.func @quantized_before_a_loop(
// SHARED: dist.accumulate
// SHARED-COUNT-1: dist.all_gather
// SHARED-NOT: dist.all_gather
// SHARED: dist.yield
func.func @quantized_before_a_loop(%p: tensor<2x4xbf16>, %amax: tensor<bf16>, %a: tensor<3x8x4xf32>) -> tensor<8x4xf32> attributes {dist.local} {
  %q, %scale = nn.quantize %p by %amax : tensor<2x4xbf16>, tensor<bf16> -> tensor<2x4xf8E4M3FN>
  %s = dist.accumulate 3 (%a) : (tensor<3x8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%part: tensor<8x4xf32>):
    %0 = dist.all_gather %q dim 0 over <{"x"}> on @mesh : tensor<2x4xf8E4M3FN> -> tensor<8x4xf8E4M3FN>
    %1 = arith.extf %0 : tensor<8x4xf8E4M3FN> to tensor<8x4xf32>
    %2 = arith.mulf %1, %part : tensor<8x4xf32>
    %3 = dist.all_gather %q dim 0 over <{"x"}> on @mesh : tensor<2x4xf8E4M3FN> -> tensor<8x4xf8E4M3FN>
    %4 = arith.extf %3 : tensor<8x4xf8E4M3FN> to tensor<8x4xf32>
    %5 = arith.mulf %4, %2 : tensor<8x4xf32>
    dist.yield %5 : tensor<8x4xf32>
  }
  return %s : tensor<8x4xf32>
}
