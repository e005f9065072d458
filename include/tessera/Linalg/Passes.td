//===- Passes.td - nn as linalg ----------------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LINALG_PASSES_TD
#define TESSERA_LINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def NNToLinalgPass : Pass<"nn-to-linalg", "::mlir::ModuleOp"> {
  let summary = "nn ops become upstream's, without library calls";
  let description = [{
    On a local program, or on one without a mesh. Einsums become
    `linalg.generic`, attention two of them and a softmax, the gradient of a
    table a loop over its ids; a slice along axes starts at its
    `dist.axis_offset`. Collectives and `dist.axis_offset` stay. Ops without
    such a form (experts, 8 bits, pipelines) are an error. A module without a
    mesh loses the attributes of `nn`, `dist` and `rt`, so that any MLIR reads
    it; else arguments and results keep them.

    ```mlir
    %0 = nn.einsum "ij,jk->ik" %x, %w
        : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
    ```
    becomes
    ```mlir
    %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<2x8xf32>) -> tensor<2x8xf32>
    %0 = linalg.generic {
           indexing_maps = [(i, k, j) -> (i, j), (i, k, j) -> (j, k), (i, k, j) -> (i, k)],
           iterator_types = ["parallel", "parallel", "reduction"]}
         ins(%x, %w : tensor<2x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<2x8xf32>) {
           ... // multiplies and adds
         } -> tensor<2x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // TESSERA_LINALG_PASSES_TD
