//===- Passes.td - Reductions split over threads -----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SPLITREDUCTIONS_PASSES_TD
#define TESSERA_SPLITREDUCTIONS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitReductionsPass
    : Pass<"rt-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "sums without rows get rows";
  let description = [{
    A sum over leading dimensions is done by blocks of columns, a sum over
    everything by parts of it, so that all threads have work. Where the target is
    a GPU a sum of columns is first done by parts; of rows that follow each other,
    `(b, s, c) -> (b, s floordiv 32, c)`, where another op has the same rows.

    ```mlir
    %s = linalg.generic // reduction, parallel
        ins(%x : tensor<512x768xf32>) outs(%zero : tensor<768xf32>)
    ```
    becomes
    ```mlir
    %y = tensor.expand_shape %x [[0], [1, 2]] : ... into tensor<512x12x64xf32>
    %t = linalg.generic // parallel, reduction, parallel
        ins(%y : tensor<512x12x64xf32>) outs(%zeros : tensor<12x64xf32>)
    %s = tensor.collapse_shape %t [[0, 1]] : ... into tensor<768xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // TESSERA_SPLITREDUCTIONS_PASSES_TD
