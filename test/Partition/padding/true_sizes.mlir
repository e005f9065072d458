// Ops that cannot take padding, between padded ops: they get true elements,
// whole on each device along padded dimensions, and zeros are appended to their
// results.
// RUN: tessera-opt %s --split-input-file --pass-pipeline='builtin.module(tessera-propagate,tessera-partition)' --remarks-filter=partition 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A slice of a true dimension is not a slice of the padded one.
// REMARK: TrueSize{{.*}}tensor.extract_slice cannot take padding: of tensor<24x4xf32> it gets tensor<17x4xf32>, whole along the dimensions that differ
// CHECK-LABEL: func.func @slice
// CHECK-SAME: %[[X:.*]]: tensor<3x4xf32> {dist.global_shape = array<i64: 17, 4>
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[X]] dim 0 over <{"x"}> on @mesh : tensor<3x4xf32> -> tensor<24x4xf32>
// CHECK-NEXT: %[[T:.*]] = tensor.extract_slice %[[G]][0, 0] [17, 4] [1, 1]
// CHECK-NEXT: %[[S:.*]] = tensor.extract_slice %[[T]][1, 0] [16, 4] [1, 1]
// CHECK-NEXT: return %[[S]] : tensor<16x4xf32>
dist.mesh @mesh ["x"=8]
func.func @slice(%x: tensor<17x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<16x4xf32> {
  %0 = tensor.extract_slice %x[1, 0] [16, 4] [1, 1] : tensor<17x4xf32> to tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

// Padding of a minor factor would separate true elements.
// REMARK: TrueSize{{.*}}tensor.collapse_shape cannot take padding: of tensor<4x16xf32> it gets tensor<4x12xf32>
// CHECK-LABEL: func.func @minor_factor
// CHECK: dist.all_gather %{{.*}} dim 1 over <{"x"}> on @mesh : tensor<4x2xf32> -> tensor<4x16xf32>
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [4, 12] [1, 1]
// CHECK: tensor.collapse_shape %{{.*}} : tensor<4x12xf32> into tensor<48xf32>
dist.mesh @mesh ["x"=8]
func.func @minor_factor(%x: tensor<4x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<48xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x12xf32> into tensor<48xf32>
  return %0 : tensor<48xf32>
}

// -----

// The result of such an op is padded for its users, with zeros that a sum need
// not mask.
// CHECK-LABEL: func.func @made_in_true_size
// CHECK: %[[S:.*]] = tensor.extract_slice %{{.*}} : tensor<8x4xf32> to tensor<5x4xf32>
// CHECK: %[[C:.*]] = tensor.concat dim(0) %[[S]], %{{.*}} : (tensor<5x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
// CHECK: %[[L:.*]] = dist.all_slice %[[C]] dim 0 over <{"x"}> on @mesh : tensor<6x4xf32> -> tensor<3x4xf32>
// CHECK-NOT: nn.mask_padding
// CHECK: nn.einsum "ij,ik->jk" %[[L]]
dist.mesh @mesh ["x"=2]
func.func @made_in_true_size(%x: tensor<8x4xf32>, %y: tensor<5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<5x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}, tensor<4x7xf32>) {
  %0 = tensor.extract_slice %x[2, 0] [5, 4] [1, 1] : tensor<8x4xf32> to tensor<5x4xf32>
  %1 = nn.einsum "ij,ik->jk" %0, %y : tensor<5x4xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
  return %0, %1 : tensor<5x4xf32>, tensor<4x7xf32>
}

// -----

// A sharding that divides is kept.
// CHECK-LABEL: func.func @even
// CHECK-NOT: tensor.extract_slice
// CHECK: return
dist.mesh @mesh ["x"=4]
func.func @even(%x: tensor<4x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<48xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x12xf32> into tensor<48xf32>
  return %0 : tensor<48xf32>
}

// -----

// 6 is not a multiple of 4: the two reshapes do not agree on a padded size.
// CHECK-LABEL: func.func @no_common_ratio
// CHECK: return
dist.mesh @mesh ["x"=8]
func.func @no_common_ratio(%x: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<4x3xf32>, tensor<6x2xf32>) {
  %e = math.exp %x : tensor<12xf32>
  %0 = tensor.expand_shape %e [[0, 1]] output_shape [4, 3] : tensor<12xf32> into tensor<4x3xf32>
  %1 = tensor.expand_shape %e [[0, 1]] output_shape [6, 2] : tensor<12xf32> into tensor<6x2xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<6x2xf32>
}

// -----

// A divisor is 1 in its padding, the count of a shift 0, which an argument's
// padding is already; a splat has its value in the padding as well.
// CHECK-LABEL: func.func @divisor
// CHECK-SAME: %[[A:.*]]: tensor<3xi32> {{{.*}}}, %[[B:.*]]: tensor<3xi32> {{{.*}}})
// CHECK: %[[D:.*]] = nn.mask_padding %[[B]] dim 0 size 5 value 1 : i32
// CHECK: %[[Q:.*]] = arith.divsi %[[A]], %[[D]]
// CHECK-NOT: nn.mask_padding
// CHECK: %[[S:.*]] = arith.shrui %[[Q]], %[[B]]
// CHECK-NOT: nn.mask_padding
// CHECK: arith.remui %[[S]]
dist.mesh @mesh ["x"=2]
func.func @divisor(%a: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %b: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %q = arith.divsi %a, %b : tensor<5xi32>
  %s = arith.shrui %q, %b : tensor<5xi32>
  %seven = arith.constant dense<7> : tensor<5xi32>
  %r = arith.remui %s, %seven : tensor<5xi32>
  return %r : tensor<5xi32>
}

// -----

// The same in a body, where a divisor is an operand's element; a divisor that
// the body computes cannot be made safe from outside, and the op runs on true
// elements.
// REMARK: TrueSize{{.*}}linalg.generic cannot take padding: of tensor<6xi32> it gets tensor<5xi32>
// CHECK-LABEL: func.func @divisor_in_body
// CHECK: %[[D:.*]] = nn.mask_padding %{{.*}} dim 0 size 5 value 1 : i32
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[D]] : tensor<3xi32>, tensor<3xi32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<5xi32>, tensor<5xi32>)
dist.mesh @mesh ["x"=2]
func.func @divisor_in_body(%a: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}, %b: tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<5xi32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) {
  %i = tensor.empty() : tensor<5xi32>
  %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<5xi32>, tensor<5xi32>) outs(%i : tensor<5xi32>) {
  ^bb0(%x: i32, %y: i32, %o: i32):
    %z = arith.remsi %x, %y : i32
    linalg.yield %z : i32
  } -> tensor<5xi32>
  %h = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%g, %b : tensor<5xi32>, tensor<5xi32>) outs(%i : tensor<5xi32>) {
  ^bb0(%x: i32, %y: i32, %o: i32):
    %k = arith.constant 2 : i32
    %y2 = arith.muli %y, %k : i32
    %z = arith.divsi %x, %y2 : i32
    linalg.yield %z : i32
  } -> tensor<5xi32>
  return %h : tensor<5xi32>
}
