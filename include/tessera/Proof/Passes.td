//===- Passes.td - A local program computes its reference --*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROOF_PASSES_TD
#define TESSERA_PROOF_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyPartitionPass : Pass<"dist-verify-partition", "::mlir::ModuleOp"> {
  let summary = "proves that local functions compute what they should";
  let description = [{
    Follows through each local function which block of which value of the
    reference each device holds, and over which axes it is still to be reduced.
    Where a device has not what an op or a result needs, or the analysis cannot
    tell, it is an error at that op. VerifyPartition.h says what is accepted.

    The reference of a local function is the function that its `dist.reference`
    names; when phases are run, the program before them. Without one, the
    devices must agree on some global program whose results are as declared;
    where they do not seem to, the program is not provable.

    ```mlir
    func.func @f(%x: tensor<2x4xf32> {dist.global_shape = array<i64: 8, 4>,
                                      dist.sharding = #dist.sharding<@mesh, [{"x"}, {} ]>})
        -> tensor<4xf32> attributes {dist.local} {
      %0 = nn.reduce <sum> %x dims [0] : tensor<2x4xf32> -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    deviates: the result is to be reduced over x. With a `dist.all_reduce` of
    `%0` it is proven.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect",
                           "::tessera::nn::NNDialect"];
}

def DropReferencesPass : Pass<"dist-drop-references", "::mlir::ModuleOp"> {
  let summary = "Drops what local functions were kept to be compared with";
  let description = [{
    Removes `dist.reference` from local functions, and the private functions
    that it names: only a proof needs them.
  }];
}

#endif // TESSERA_PROOF_PASSES_TD
