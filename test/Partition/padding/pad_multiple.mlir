// Minor dimensions of matmuls become multiples, with a mesh and without one.
// RUN: split-file %s %t
// RUN: tessera-opt %t/loss.mlir --dist-pad-factors=multiple=64 | FileCheck %t/loss.mlir
// RUN: tessera-opt %t/auto.mlir --dist-pad-factors=multiple=-1 | FileCheck %t/auto.mlir
// RUN: tessera-opt %t/auto.mlir --dist-pad-factors | FileCheck %t/auto.mlir --check-prefix=OFF
// RUN: tessera-opt %t/mesh.mlir --dist-propagate-shardings --dist-decompose --dist-pad-factors=multiple=8 | FileCheck %t/mesh.mlir
// RUN: tessera-opt %t/fixed.mlir --dist-pad-factors=multiple=8 --remarks-filter=partition -o %t.mlir 2>&1 | FileCheck %t/fixed.mlir --check-prefix=REMARK
// RUN: FileCheck %t/fixed.mlir < %t.mlir

//--- loss.mlir
// The loss knows its number of classes, and so does its gradient: no mask, and no
// padding reaches a gradient or a parameter.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<64x64xf32> {dist.donate = 0 : i64, dist.global_shape = array<i64: 50, 64>
// CHECK-NOT: nn.mask_padding
// CHECK: nn.einsum {{.*}} -> tensor<8x64xf32>
// CHECK: nn.cross_entropy {{.*}} ignore -100 classes 50 : tensor<8x64xf32>
// CHECK: nn.cross_entropy_backward {{.*}} ignore -100 classes 50 : tensor<8xf32>, tensor<8x64xf32>
// CHECK-NOT: nn.mask_padding
// CHECK: nn.embedding_backward {{.*}} -> tensor<64x64xf32>
// CHECK-NOT: nn.mask_padding
// CHECK: nn.adamw {{.*}} : tensor<64x64xf32>
// CHECK-NOT: nn.mask_padding
// CHECK: return
func.func @step(%t: tensor<50x64xf32> {dist.donate = 0 : i64}, %m: tensor<50x64xf32> {dist.donate = 1 : i64},
    %v: tensor<50x64xf32> {dist.donate = 2 : i64}, %i: tensor<8xi32>, %l: tensor<8xi32>, %g: tensor<8xf32>, %s: tensor<f32>)
    -> (tensor<50x64xf32>, tensor<50x64xf32>, tensor<50x64xf32>, tensor<8xf32>, tensor<f32>) {
  %x = nn.embedding %t, %i : tensor<50x64xf32>, tensor<8xi32> -> tensor<8x64xf32>
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x64xf32>, tensor<50x64xf32> -> tensor<8x50xf32>
  %loss, %max, %log = nn.cross_entropy %y, %l ignore -100 : tensor<8x50xf32>, tensor<8xi32> -> tensor<8xf32> stats tensor<8xf32>, tensor<8xf32>
  %dy = nn.cross_entropy_backward %g, %y, %l, %max, %log ignore -100 : tensor<8xf32>, tensor<8x50xf32>, tensor<8xi32>
  %dx = nn.einsum "bv,vd->bd" %dy, %t : tensor<8x50xf32>, tensor<50x64xf32> -> tensor<8x64xf32>
  %dt = nn.einsum "bv,bd->vd" %dy, %x : tensor<8x50xf32>, tensor<8x64xf32> -> tensor<50x64xf32>
  %de = nn.embedding_backward %dx, %i : tensor<8x64xf32>, tensor<8xi32> -> tensor<50x64xf32>
  %d = arith.addf %dt, %de : tensor<50x64xf32>
  %dd = arith.mulf %d, %d : tensor<50x64xf32>
  %norm = nn.reduce <sum> %dd dims [0, 1] : tensor<50x64xf32> -> tensor<f32>
  %t1, %m1, %v1 = nn.adamw %t, %m, %v, %d scale %s lr %s corrections %s, %s
      beta1 0.9 beta2 0.95 eps 1.0e-8 weight_decay 0.1
      : tensor<50x64xf32>, tensor<50x64xf32>, tensor<50x64xf32>, tensor<f32>
  return %t1, %m1, %v1, %loss, %norm : tensor<50x64xf32>, tensor<50x64xf32>, tensor<50x64xf32>, tensor<8xf32>, tensor<f32>
}

//--- auto.mlir
// Tiles if they add at most 1 %.
// CHECK-LABEL: func.func @large(
// CHECK-SAME: tensor<50304x16xbf16>
// OFF-LABEL: func.func @large(
// OFF-SAME: tensor<50257x16xbf16>
func.func @large(%x: tensor<8x16xbf16>, %t: tensor<50257x16xbf16>) -> tensor<8x50257xbf16> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xbf16>, tensor<50257x16xbf16> -> tensor<8x50257xbf16>
  return %y : tensor<8x50257xbf16>
}
// 16 bytes if they add at most an eighth.
// CHECK-LABEL: func.func @small(
// CHECK-SAME: tensor<264x16xbf16>
func.func @small(%x: tensor<8x16xbf16>, %t: tensor<257x16xbf16>) -> tensor<8x257xbf16> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xbf16>, tensor<257x16xbf16> -> tensor<8x257xbf16>
  return %y : tensor<8x257xbf16>
}
// CHECK-LABEL: func.func @tiny(
// CHECK-SAME: tensor<9x16xbf16>
func.func @tiny(%x: tensor<8x16xbf16>, %t: tensor<9x16xbf16>) -> tensor<8x9xbf16> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xbf16>, tensor<9x16xbf16> -> tensor<8x9xbf16>
  return %y : tensor<8x9xbf16>
}
// 16 divides a size that needs a multiple of 8.
// CHECK-LABEL: func.func @fits(
// CHECK-SAME: tensor<24x16xbf16>
func.func @fits(%x: tensor<8x16xbf16>, %t: tensor<24x16xbf16>) -> tensor<8x24xbf16> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xbf16>, tensor<24x16xbf16> -> tensor<8x24xbf16>
  return %y : tensor<8x24xbf16>
}
// A size near the limit of a tensor does not grow.
// CHECK-LABEL: func.func @largest(
// CHECK-SAME: tensor<9223372036854775807x16xbf16>) ->
func.func @largest(%x: tensor<8x16xbf16>, %t: tensor<9223372036854775807x16xbf16>) -> tensor<8x9223372036854775807xbf16> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xbf16>, tensor<9223372036854775807x16xbf16> -> tensor<8x9223372036854775807xbf16>
  return %y : tensor<8x9223372036854775807xbf16>
}

// One matmul that reads 8 bits makes the multiple 16 elements, whatever others
// read: 88 is only a multiple of 8.
// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: tensor<272x16xbf16> {{.*}} tensor<8x96xf8E4M3FN> {{.*}} tensor<96x16xf8E4M3FN> {{.*}} tensor<272x16xf8E4M3FN>
func.func @narrow(%x: tensor<8x16xbf16>, %q: tensor<8x16xf8E4M3FN>, %t: tensor<257x16xbf16>,
    %u: tensor<8x88xf8E4M3FN>, %v: tensor<88x16xf8E4M3FN>, %w: tensor<257x16xf8E4M3FN>, %s: tensor<f32>)
    -> (tensor<8x257xbf16>, tensor<8x257xbf16>, tensor<8x16xbf16>) {
  %0 = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xbf16>, tensor<257x16xbf16> -> tensor<8x257xbf16>
  %1 = nn.einsum "bd,vd->bv" %q, %w scales %s, %s : tensor<8x16xf8E4M3FN>, tensor<257x16xf8E4M3FN> -> tensor<8x257xbf16>
  %2 = arith.addf %0, %1 : tensor<8x257xbf16>
  %3 = nn.einsum "bd,df->bf" %u, %v scales %s, %s : tensor<8x88xf8E4M3FN>, tensor<88x16xf8E4M3FN> -> tensor<8x16xbf16>
  return %2, %1, %3 : tensor<8x257xbf16>, tensor<8x257xbf16>, tensor<8x16xbf16>
}

//--- mesh.mlir
// Each of three devices has a multiple of 8 columns.
// CHECK-LABEL: func.func @sharded(
// CHECK-SAME: tensor<72x16xf32> {dist.global_shape = array<i64: 50, 16>
dist.mesh @mesh ["x"=3]
func.func @sharded(%x: tensor<8x16xf32>, %t: tensor<50x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>},
    %l: tensor<8xi32>) -> tensor<8xf32> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xf32>, tensor<50x16xf32> -> tensor<8x50xf32>
  %loss = nn.cross_entropy %y, %l ignore -100 : tensor<8x50xf32>, tensor<8xi32> -> tensor<8xf32>
  return %loss : tensor<8xf32>
}

//--- fixed.mlir
// A size stays if its ops would need more than another size, with the reason.
// REMARK-DAG: stays 50: an op with a reduction of its own cannot be informed of padding
// REMARK-DAG: stays 51: an op needs its true size
// REMARK-DAG: matmul's minor dimension 53 is padded to 56 (5.66 %)
// REMARK-DAG: matmul's minor dimension 54 is padded to 56 (3.70 %)
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: tensor<50x16xf32>
func.func @softmax(%x: tensor<8x16xf32>, %t: tensor<50x16xf32>) -> tensor<8x50xf32> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xf32>, tensor<50x16xf32> -> tensor<8x50xf32>
  %p = nn.softmax %y dim 1 : tensor<8x50xf32>
  return %p : tensor<8x50xf32>
}
// CHECK-LABEL: func.func @slice(
// CHECK-SAME: tensor<51x16xf32>
func.func @slice(%x: tensor<8x16xf32>, %t: tensor<51x16xf32>) -> tensor<8x5xf32> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xf32>, tensor<51x16xf32> -> tensor<8x51xf32>
  %p = tensor.extract_slice %y[0, 3] [8, 5] [1, 1] : tensor<8x51xf32> to tensor<8x5xf32>
  return %p : tensor<8x5xf32>
}
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: tensor<52x16xf32>
func.func @parts(%x: tensor<8x16xf32>, %t: tensor<52x16xf32>) -> tensor<8x4x13xf32> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xf32>, tensor<52x16xf32> -> tensor<8x52xf32>
  %p = tensor.expand_shape %y [[0], [1, 2]] output_shape [8, 4, 13] : tensor<8x52xf32> into tensor<8x4x13xf32>
  return %p : tensor<8x4x13xf32>
}
// A result has the size of the argument that is donated to it, and zeros in its
// padding.
// CHECK-LABEL: func.func @donated(
// CHECK-SAME: tensor<56x16xf32> {{.*}} tensor<8x56xf32>
// CHECK: %[[Y:.*]] = nn.einsum
// CHECK-NEXT: return %[[Y]] : tensor<8x56xf32>
func.func @donated(%x: tensor<8x16xf32>, %t: tensor<53x16xf32>, %o: tensor<8x53xf32> {dist.donate = 0 : i64}) -> tensor<8x53xf32> {
  %y = nn.einsum "bd,vd->bv" %x, %t : tensor<8x16xf32>, tensor<53x16xf32> -> tensor<8x53xf32>
  return %y : tensor<8x53xf32>
}
// gelu(0) is 0: the second matmul's sum needs no mask.
// CHECK-LABEL: func.func @gelu(
// CHECK-SAME: tensor<56x16xf32>
// CHECK-NOT: nn.mask_padding
// CHECK: return
func.func @gelu(%x: tensor<8x16xf32>, %w: tensor<54x16xf32>, %u: tensor<54x16xf32>) -> tensor<8x16xf32> {
  %h = nn.einsum "bd,fd->bf" %x, %w : tensor<8x16xf32>, tensor<54x16xf32> -> tensor<8x54xf32>
  %a = nn.gelu <tanh> %h : tensor<8x54xf32>
  %y = nn.einsum "bf,fd->bd" %a, %u : tensor<8x54xf32>, tensor<54x16xf32> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
