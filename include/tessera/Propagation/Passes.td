//===- Passes.td - Propagation of shardings ----------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROPAGATION_PASSES_TD
#define TESSERA_PROPAGATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagateShardingsPass
    : Pass<"dist-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "gives every tensor a sharding";
  let description = [{
    Spreads the seed shardings of arguments, results, ops and
    `dist.constraint`s over the factors of the ops between them
    (PropagationProblem.h says how). Afterwards every tensor argument and result
    of a function has a closed `dist.sharding` and every op with tensor results
    `dist.shardings`; what no seed reaches is replicated. Constants get a copy
    for each sharding they are used with; `dist.group`s are gone. An op without
    a rule is replicated, with one remark a kind of op. An op at which a seed of
    a later priority wants an axis for another factor gets `dist.factors`, the
    axes that it is to run with.

    ```mlir
    func.func @f(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"dp"}, {} ]>},
                 %w: tensor<16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"} ]>})
        -> tensor<8x32xf32> {
      %0 = nn.einsum "bk,kn->bn" %x, %w : ...
      return %0
    ```
    gives `%0` and the function's result `[{"dp"}, {"tp"} ]`.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [
    Option<"explain", "explain", "bool", "false",
           "attach where each axis came from, as --dist-explain-shardings does">,
  ];
}

def ExplainShardingsPass : Pass<"dist-explain-shardings", "::mlir::ModuleOp"> {
  let summary = "propagates shardings and says where each axis came from";
  let description = [{
    In place of `dist-propagate-shardings`: does the same, and attaches to each
    function argument, function result and op `dist.why`, one string for each
    axis of its sharding, and emits each as an analysis remark.

    ```mlir
    %0 = nn.einsum ... {dist.why = ["dim 1 \"tp\": factor l of nn.einsum from operand 1, seeded at argument 1"]}
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

#endif // TESSERA_PROPAGATION_PASSES_TD
