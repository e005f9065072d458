//===- Passes.td - Passes over programs of any phase -------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_PASSES_TD
#define TESSERA_INTERFACES_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrintShardingRulesPass : Pass<"dist-print-sharding-rules"> {
  let summary = "Reports the sharding rule of each op as a remark";
  let description = [{
    What each op on tensors says about how it may be sharded: its factors, and
    which of its operands may be partial. Changes nothing.

    ```mlir
    %0 = nn.einsum "bd,df->bf" %x, %w : ...
    // remark: ([i,j],[j,k])->([i,k]) {i=8, j=16 sum, k=4};
    //         partial sum in {0} {1}
    ```
  }];
}

def VerifyInputPass : Pass<"dist-verify-input"> {
  let summary = "Checks the boundary after the phase input";
  let description = [{
    Every shape is static: what a program needs of memory and of communication
    is known before it runs. Values are tensors without an encoding, of at most
    2^48 elements, or scalars; elements are floats of at most 64 bits, signless
    integers of 1 to 64 bits, or of index. No function calls itself, by whatever
    way. Offsets and strides of slices are not negative, and dimensions that are
    merged or split are counted in order, which upstream's verifiers let pass.

    ```mlir
    func.func @f(%x: tensor<?x16xf32>)
    // error: argument 0: expects a static shape but got 'tensor<?x16xf32>'
    ```
  }];
}

#endif // TESSERA_INTERFACES_PASSES_TD
