//===- Passes.td - Passes of pipeline programs -------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_STAGES_PASSES_TD
#define TESSERA_STAGES_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckPipelinesPass : Pass<"dist-check-pipelines", "::mlir::ModuleOp"> {
  let summary = "checks that the functions of all pp ranks fit each other";
  let description = [{
    Of each pipeline program: its functions are those of all pp ranks, their
    lists are a schedule that is complete and ends, boundaries have one type on
    both sides, and exchanges meet. Changes nothing.

    ```mlir
    // On pp rank 0: two backwards are received, but one is run.
    list "F0.0 sA0.0 F0.1 sA0.1 rG0.0 BW0.0 rG0.1"
    ```
    is an error that names the rank and the action that is missing.
  }];
}

#endif // TESSERA_STAGES_PASSES_TD
