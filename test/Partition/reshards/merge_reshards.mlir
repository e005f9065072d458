// Adjacent reshards, also across casts, transposes and reshapes.
// RUN: tessera-opt %s --dist-merge-reshards | FileCheck %s
// RUN: tessera-opt %s --dist-merge-reshards --remarks-filter='partition.*' --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

dist.mesh @mesh ["x"=4, "y"=2]

// A slice and the gather that reverts it.
// REMARK-DAG: [Passed] MergedReshards {{.*}}bytes=0, bytesBefore=1536
// CHECK-LABEL: func.func @there_and_back
// CHECK-SAME: %[[A:.*]]: tensor<64x8xf32>
// CHECK-NEXT: %[[E:.*]] = math.exp %[[A]]
// CHECK-NEXT: return %[[E]]
func.func @there_and_back(%a: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %e = math.exp %a {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32>
  %0 = dist.reshard %e from <@mesh, [{}, {}]> to <@mesh, [{"x"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<64x8xf32>
  %1 = dist.reshard %0 from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// Two all-to-alls are merged.
// CHECK-LABEL: func.func @two_moves
// CHECK-SAME: %[[A:.*]]: tensor<16x8x8xf32>
// CHECK-NEXT: %[[R:.*]] = dist.reshard %[[A]] from <@mesh, [{"x"}, {}, {}]> to <@mesh, [{}, {}, {"x"}]>
// CHECK-NEXT: return %[[R]]
func.func @two_moves(%a: tensor<16x8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<16x8x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}, {}, {}]> to <@mesh, [{}, {"x"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}, {}]>]} : tensor<16x8x8xf32>
  %1 = dist.reshard %0 from <@mesh, [{}, {"x"}, {}]> to <@mesh, [{}, {}, {"x"}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}, {"x"}]>]} : tensor<16x8x8xf32>
  return %1 : tensor<16x8x8xf32>
}

// The sum is scattered and gathered: one all-reduce. In the other function the
// scattered sum has a use, too: then it stays.
// CHECK-LABEL: func.func @scattered_and_gathered
// CHECK-NEXT: %[[R:.*]] = dist.reshard %{{.*}} from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]>
// CHECK-NEXT: return %[[R]]
func.func @scattered_and_gathered(%a: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced={"x"}>}) -> tensor<64x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{"x"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<64x8xf32>
  %1 = dist.reshard %0 from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// REMARK-DAG: [Missed] MergedReshards {{.*}}bytes=3072, bytesBefore=1536
// CHECK-LABEL: func.func @scattered_is_used
// CHECK-NEXT: %[[S:.*]] = dist.reshard
// CHECK-NEXT: %[[R:.*]] = dist.reshard %[[S]]
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @scattered_is_used(%a: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced={"x"}>}) -> (tensor<64x8xf32>, tensor<64x8xf32>) {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{"x"}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<64x8xf32>
  %1 = dist.reshard %0 from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32>
  return %1, %0 : tensor<64x8xf32>, tensor<64x8xf32>
}

// Moved down to a gather.
// REMARK-DAG: [Passed] MovedReshard {{.*}}bytes=768, bytesBefore=1536
// CHECK-LABEL: func.func @cast_down
// CHECK-NEXT: %[[C:.*]] = arith.truncf %{{.*}} {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]}
// CHECK-NEXT: %[[R:.*]] = dist.reshard %[[C]] from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> {{.*}} : tensor<64x8xbf16>
// CHECK-NEXT: return %[[R]]
func.func @cast_down(%a: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64x8xbf16> {
  %0 = dist.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32>
  %1 = arith.truncf %0 {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32> to tensor<64x8xbf16>
  return %1 : tensor<64x8xbf16>
}

// Moved up to it.
// CHECK-LABEL: func.func @cast_up
// CHECK-NEXT: %[[R:.*]] = dist.reshard %{{.*}} from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> {{.*}} : tensor<64x8xbf16>
// CHECK-NEXT: %[[C:.*]] = arith.extf %[[R]] {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]}
// CHECK-NEXT: return %[[C]]
func.func @cast_up(%a: tensor<64x8xbf16> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64x8xf32> {
  %0 = arith.extf %a {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<64x8xbf16> to tensor<64x8xf32>
  %1 = dist.reshard %0 from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// A reduction keeps its element type.
// CHECK-LABEL: func.func @reduction_stays
// CHECK-NEXT: %[[R:.*]] = dist.reshard {{.*}} : tensor<64x8xf32>
// CHECK-NEXT: arith.truncf %[[R]]
func.func @reduction_stays(%a: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced={"x"}>}) -> tensor<64x8xbf16> {
  %0 = dist.reshard %a from <@mesh, [{}, {}], unreduced={"x"}> to <@mesh, [{}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32>
  %1 = arith.truncf %0 {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32> to tensor<64x8xbf16>
  return %1 : tensor<64x8xbf16>
}

// Rows to columns, transposed, columns to rows: nothing moves.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: %[[A:.*]]: tensor<64x8xf32>
// CHECK-NEXT: %[[T:.*]] = nn.transpose %[[A]] {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]
// CHECK-NEXT: return %[[T]]
func.func @transposed(%a: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x64xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"x"}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]} : tensor<64x8xf32>
  %1 = nn.transpose %0 [1, 0] {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : tensor<64x8xf32> -> tensor<8x64xf32>
  %2 = dist.reshard %1 from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {"x"}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]} : tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

// Gathered, reshaped, and sliced again.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME: %[[A:.*]]: tensor<64x8xf32>
// CHECK-NEXT: %[[T:.*]] = tensor.expand_shape %[[A]] {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}, {}]>]
// CHECK-NEXT: return %[[T]]
func.func @reshaped(%a: tensor<64x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x16x8xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}, {}]> to <@mesh, [{}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<64x8xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 16, 8] {dist.shardings = [#dist.sharding<@mesh, [{}, {}, {}]>]} : tensor<64x8xf32> into tensor<4x16x8xf32>
  %2 = dist.reshard %1 from <@mesh, [{}, {}, {}]> to <@mesh, [{"x"}, {}, {}]> {dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}, {}]>]} : tensor<4x16x8xf32>
  return %2 : tensor<4x16x8xf32>
}

// A broadcast enlarges the gathered tensor: it stays after the gather.
// CHECK-LABEL: func.func @broadcast
// CHECK-NEXT: %[[R:.*]] = dist.reshard %{{.*}} from <@mesh, [{"x"}]> to <@mesh, [{}]>
// CHECK-NEXT: nn.broadcast %[[R]]
func.func @broadcast(%a: tensor<64xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> tensor<8x64xf32> {
  %0 = dist.reshard %a from <@mesh, [{"x"}]> to <@mesh, [{}]> {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<64xf32>
  %1 = nn.broadcast %0 dims [1] {dist.shardings = [#dist.sharding<@mesh, [{"y"}, {}]>]} : tensor<64xf32> -> tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}
