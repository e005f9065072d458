//===- Passes.td - Passes that show the interfaces ---------*- tablegen -*-===//
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
    What each op on tensors says about how it may be spread: its factors, and
    which of its operands may be partial. Changes nothing.

    ```mlir
    %0 = nn.einsum "bd,df->bf" %x, %w : ...
    // remark: ([i,j],[j,k])->([i,k]) {i=8, j=16 sum, k=4};
    //         partial sum in {0} {1}
    ```
  }];
}

#endif // TESSERA_INTERFACES_PASSES_TD
