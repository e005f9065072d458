// RUN: tessera-opt %s --rt-convert-nn --rt-fuse-matmul-beta | FileCheck %s

// Three matmuls that are only added up: each adds to the one before.
// CHECK-LABEL: func.func @three_uses
// CHECK: %[[A:.*]] = rt.matmul %arg0, %arg1 <{{.*}}> :
// CHECK: %[[B:.*]] = rt.matmul %arg2, %arg3 <{{.*}}> init %[[A]] : tensor<8x16xf32>
// CHECK: %[[C:.*]] = rt.matmul %arg4, %arg5 <{{.*}}> init %[[B]] : tensor<8x16xf32>
// CHECK: return %[[C]]
func.func @three_uses(%a: tensor<8x4xf32>, %u: tensor<4x16xf32>, %b: tensor<8x4xf32>, %v: tensor<4x16xf32>, %c: tensor<8x4xf32>, %w: tensor<4x16xf32>) -> tensor<8x16xf32> {
  %0 = nn.einsum "sd,df->sf" %a, %u : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %1 = nn.einsum "sd,df->sf" %b, %v : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %2 = arith.addf %0, %1 : tensor<8x16xf32>
  %3 = nn.einsum "sd,df->sf" %c, %w : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %4 = arith.addf %3, %2 : tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

// The first call of a tied table's gradient adds to the loop's own sum.
// CHECK-LABEL: func.func @tied_in_a_loop
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
// CHECK:   %[[P:.*]] = rt.matmul {{.*}} init %[[SUM]] : tensor<64x16xf32>
// CHECK:   %[[E:.*]] = rt.embedding_backward %{{.*}}, %{{.*}} init %[[P]] : tensor<64x16xf32>
// CHECK:   scf.yield %[[E]]
func.func @tied_in_a_loop(%g: tensor<8x64xf32>, %x: tensor<8x16xf32>, %ids: tensor<8xi32>, %zeros: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %zeros) -> tensor<64x16xf32> {
    %0 = nn.einsum "sv,sd->vd" %g, %x : tensor<8x64xf32>, tensor<8x16xf32> -> tensor<64x16xf32>
    %1 = nn.embedding_backward %x, %ids : tensor<8x16xf32>, tensor<8xi32> -> tensor<64x16xf32>
    %2 = arith.addf %0, %1 : tensor<64x16xf32>
    %3 = arith.addf %sum, %2 : tensor<64x16xf32>
    scf.yield %3 : tensor<64x16xf32>
  }
  return %r : tensor<64x16xf32>
}

// Not to an argument, not to a value inside of a kernel, not in bf16.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: init
// CHECK: return
func.func @left_alone(%a: tensor<8x4xf32>, %w: tensor<4x16xf32>, %x: tensor<8x16xf32>, %bias: tensor<16xf32>, %b: tensor<8x4xbf16>, %v: tensor<4x16xbf16>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xbf16>) {
  %0 = nn.einsum "sd,df->sf" %a, %w : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %1 = arith.addf %x, %0 : tensor<8x16xf32>
  %2 = nn.broadcast %bias dims [1] : tensor<16xf32> -> tensor<8x16xf32>
  %3 = nn.einsum "sd,df->sf" %a, %w : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %4 = arith.addf %2, %3 : tensor<8x16xf32>
  %5 = nn.einsum "sd,df->sf" %b, %v : tensor<8x4xbf16>, tensor<4x16xbf16> -> tensor<8x16xbf16>
  %6 = nn.einsum "sd,df->sf" %b, %v : tensor<8x4xbf16>, tensor<4x16xbf16> -> tensor<8x16xbf16>
  %7 = arith.addf %5, %6 : tensor<8x16xbf16>
  return %1, %4, %7 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xbf16>
}

// Not to a matmul of which rows are replaced.
// CHECK-LABEL: func.func @replaced_rows
// CHECK: %[[M:.*]] = rt.matmul %{{.*}}, %{{.*}} <{{[^>]*}}> :
// CHECK: %[[S:.*]] = rt.embedding_backward replace %{{.*}}, %{{.*}} init %[[M]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[S]]
func.func @replaced_rows(%g: tensor<8x64xf32>, %x: tensor<8x16xf32>, %ids: tensor<8xi32>, %t: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %e = math.exp %t : tensor<64x16xf32>
  %0 = nn.einsum "sv,sd->vd" %g, %x : tensor<8x64xf32>, tensor<8x16xf32> -> tensor<64x16xf32>
  %1 = nn.scatter <set> %0, %ids, %x : tensor<64x16xf32>, tensor<8xi32>, tensor<8x16xf32>
  %2 = arith.addf %e, %1 : tensor<64x16xf32>
  return %2 : tensor<64x16xf32>
}

// Not to itself.
// CHECK-LABEL: func.func @added_to_itself
// CHECK: %[[A:.*]] = rt.matmul %arg0, %arg1
// CHECK-NOT: init
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[A]]
func.func @added_to_itself(%a: tensor<8x4xf32>, %w: tensor<4x16xf32>) -> tensor<8x16xf32> {
  %0 = nn.einsum "sd,df->sf" %a, %w : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %1 = arith.addf %0, %0 : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
