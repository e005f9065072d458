//===- Passes.td - Places of tensors -----------------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_MEMORY_PASSES_TD
#define TESSERA_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanArenaPass : Pass<"rt-plan-arena", "::mlir::func::FuncOp"> {
  let summary = "gives every tensor of a step function an offset in one arena";
  let description = [{
    By liveness. Arguments keep their places for the whole step, results from
    where they are made to its end; views lie where their source lies; a result
    takes the place of an operand that dies there, where the op allows it. Both
    sides of a collective keep their places until its wait.

    ```mlir
    %0 = rt.kernel @kernel_0(%arg0) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
    becomes
    ```mlir
    %0 = rt.kernel @kernel_0(%arg0) {rt.offsets = array<i64: 512>} : ...
    ```
    and the function gets `rt.arena_bytes` and `rt.memory`.
  }];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

#endif // TESSERA_MEMORY_PASSES_TD
