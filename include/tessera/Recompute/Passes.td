//===- Passes.td - Recomputation in the backward -----------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RECOMPUTE_PASSES_TD
#define TESSERA_RECOMPUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectRecomputePass : Pass<"dist-select-recompute", "::mlir::ModuleOp"> {
  let summary = "repeats ops in the backward instead of keeping their results";
  let description = [{
    On one device's program, in each block with gradients (ops before the first
    one that is `dist.backward` are forward). A value that the backward needs is
    kept, or the op that makes it is repeated there, right before the first use,
    as an op of its own, `dist.recompute`. The policy is the module's `dist.plan`
    or the option:

    * `none`: all is kept but what costs nothing to repeat: elementwise ops for
      elementwise ops of the backward, of operands that are kept in any case, as
      the SiLU of a SwiGLU;
    * `selective`: the fewest bytes that need no matmul, attention or sum over
      devices again: norms, activations and other elementwise ops are repeated,
      and what one device holds a part of is gathered again;
    * `full`: of each block of the model (its parameters have a common number in
      their names: "blocks.3.") its inputs alone;
    * `auto=<bytes>`: in the least time what keeps at most so many bytes of a
      micro-batch, and what costs nothing is repeated as well. (In a plan they
      are the bytes of a device's arena, parameters and state included: phase
      partition finds by trial how many may be kept.)

    What is kept is a minimum cut between what the backward needs and what is at
    hand. A remark says how much it is. Where ops say that a pp rank will keep
    their results of several micro-batches (`dist.held`), bytes count as often,
    and `limits` holds for each of those pp ranks.

    ```mlir
    %1 = math.exp %0 : tensor<8xf32>
    %2 = arith.addf %1, %x {dist.backward} : tensor<8xf32>
    ```
    becomes, with %0 kept for another op of the backward,
    ```mlir
    %1 = math.exp %0 : tensor<8xf32>
    %2 = math.exp %0 {dist.recompute} : tensor<8xf32>
    %3 = arith.addf %2, %x {dist.backward} : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [
    Option<"policy", "policy", "std::string", "\"\"",
           "none, selective, full, or auto=<bytes>; default: the plan's">,
    ListOption<"limits", "limits", "int64_t",
               "under auto, bytes that each pp rank may keep; default: of all, those of auto">,
  ];
}

#endif // TESSERA_RECOMPUTE_PASSES_TD
