//===- Passes.td - Few collectives in a local program ------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LOCALCOLLECTIVES_PASSES_TD
#define TESSERA_LOCALCOLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseCollectivesPass : Pass<"dist-fuse-collectives", "::mlir::ModuleOp"> {
  let summary = "merges neighbouring collectives of local functions";
  let description = [{
    Each rewrite moves fewer bytes, or the same in fewer collectives, and gives a
    remark; so does each that something prevents:

    * an all-reduce whose only uses slice one dimension becomes a reduce-scatter
      over the axes that all slices begin with; a reduce-scatter that is only
      gathered again becomes an all-reduce; two reductions that are only added
      up become one;
    * a slice of an all-gather over the same axes and dimension is its operand; a
      slice goes before an all-gather of another dimension; all-gathers, slices
      and all-to-alls in a row become one;
    * casts to a smaller type go before a collective that moves whole elements,
      casts to a larger one after it;
    * equal collectives of one value are done once. A parameter is gathered for
      each use on purpose: its gathers are merged only as far as no more than
      `shared-bytes` stay live longer for it.

    ```mlir
    %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<8x4xf32>
    %2 = dist.all_slice %1 dim 0 over <{"tp"}> on @mesh : tensor<8x4xf32> -> tensor<2x4xf32>
    ```
    becomes one `dist.reduce_scatter`.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [Option<"sharedBytes", "shared-bytes", "int64_t", /*default=*/"0",
                        "bytes of gathered parameters that may stay live longer">];
}

def CheckBudgetPass : Pass<"dist-check-budget", "::mlir::ModuleOp"> {
  let summary = "fails where local functions communicate more than they may";
  let description = [{
    Limits are those of the options, or of a function's own `dist.budget`:
    max_bytes that one device receives in one call and max_collectives, checked
    on local functions, and no_full_gather (no device gathers a whole tensor). A
    tensor is whole in the global form if nothing is left of its sharding, and in
    the local form if it no longer depends on any axis of the mesh. The error
    names the collective that is to blame. Changes nothing.

    ```mlir
    func.func @f(...) attributes {dist.local, dist.budget = {max_bytes = 1024 : i64, no_full_gather}}
    ```
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"-1",
           "bytes that one device receives in one call">,
    Option<"maxCollectives", "max-collectives", "int64_t", /*default=*/"-1",
           "collectives in one call">,
    Option<"noFullGather", "no-full-gather", "bool", /*default=*/"false",
           "no device gathers a whole tensor">];
}

#endif // TESSERA_LOCALCOLLECTIVES_PASSES_TD
