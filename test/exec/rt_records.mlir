// Records of rare library calls: sums of a matmul's left operand, sums with an
// initial value, reads and chunks at run-time positions, elements that are out
// of range.
// RUN: tessera verify %s --interpret --function sums | FileCheck %s --check-prefix=SUMS
// SUMS: result0: {{\[\[}}10, 14], [14, 20]]
// SUMS-NEXT: result1: [4, 6]
// RUN: tessera verify %s --interpret --function added | FileCheck %s --check-prefix=ADDED
// ADDED: result0: {{\[\[}}11, 12], [13, 14]]
// RUN: tessera verify %s --interpret --function replaced | FileCheck %s --check-prefix=REPLACED
// REPLACED: result0: {{\[\[}}3, 4], [10, 10]]
// RUN: tessera verify %s --interpret --function moved | FileCheck %s --check-prefix=MOVED
// MOVED: result0: {{\[\[}}3, 4], [1, 2]]
// RUN: not tessera verify %s --interpret --function outside 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: error: 'rt.copy' op expects elements of its source but got element 4 of 4

func.func @sums(%a: tensor<2x2xf32> {interpret.value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}) -> (tensor<2x2xf32>, tensor<2xf32>) {
  %c, %s = rt.matmul_fused <lhs_sums> %a, %a <batch = 1, m = 2, n = 2, k = 2, lda = 2, ldb = 2, ldc = 2, stride_a = 0, stride_b = 0, stride_c = 0, trans_a = 1, trans_b = 0> : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32> extra tensor<2xf32>
  return %c, %s : tensor<2x2xf32>, tensor<2xf32>
}
func.func @added(%g: tensor<2x2xf32> {interpret.value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}, %i: tensor<2x2xf32> {interpret.value = dense<10.0> : tensor<2x2xf32>}, %ids: tensor<2xi32> {interpret.value = dense<[0, 1]> : tensor<2xi32>}) -> tensor<2x2xf32> {
  %s = rt.embedding_backward %g, %ids init %i : tensor<2x2xf32> : tensor<2x2xf32>, tensor<2xi32> -> tensor<2x2xf32>
  return %s : tensor<2x2xf32>
}
func.func @replaced(%g: tensor<3x2xf32> {interpret.value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>}, %i: tensor<2x2xf32> {interpret.value = dense<10.0> : tensor<2x2xf32>}, %ids: tensor<3xi32> {interpret.value = dense<[0, 0, 1]> : tensor<3xi32>}) -> tensor<2x2xf32> {
  %s = rt.embedding_backward replace %g, %ids limit 1 init %i : tensor<2x2xf32> : tensor<3x2xf32>, tensor<3xi32> -> tensor<2x2xf32>
  return %s : tensor<2x2xf32>
}
func.func @moved(%a: tensor<2x2xf32> {interpret.value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>}) -> tensor<2x2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rt.copy %a strides [2, 1] base 0 start %c1 dim 0 : tensor<2x2xf32> -> tensor<1x2xf32>
  %y = rt.copy %a strides [2, 1] base 0 start %c0 dim 0 : tensor<2x2xf32> -> tensor<1x2xf32>
  %r = rt.assemble %y, %x at %c1, %c0 dim 0 : tensor<1x2xf32>, tensor<1x2xf32> -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
func.func @outside(%a: tensor<2x2xf32> {interpret.value = dense<1.0> : tensor<2x2xf32>}) -> tensor<1x2xf32> {
  %c2 = arith.constant 2 : index
  %x = rt.copy %a strides [2, 1] base 0 start %c2 dim 0 : tensor<2x2xf32> -> tensor<1x2xf32>
  return %x : tensor<1x2xf32>
}
