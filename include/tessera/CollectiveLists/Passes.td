//===- Passes.td - The expected collectives ----------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVELISTS_PASSES_TD
#define TESSERA_COLLECTIVELISTS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ListCollectivesPass : Pass<"dist-list-collectives", "::mlir::ModuleOp"> {
  let summary = "writes down the collectives that must come";
  let description = [{
    Each function that has none gets `dist.collectives`: its collectives by kind,
    group, type and number of elements, and how often a run does them at most,
    since those that nothing uses are removed. What is to be expanded (buckets,
    rings, collective matmuls, exchanges) is left to the pass that expands it,
    which adds what may come of the op that was proven.

    ```mlir
    %1 = dist.all_reduce <sum> %0 over <{"dp"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    ```
    gives the function
    ```mlir
    dist.collectives = ["at most 1 of all_reduce {axes = #dist.axes<{dp}>, kind = #dist.reduction<sum>} of 8 x f32"]
    ```
  }];
}

def CheckCollectivesPass : Pass<"dist-check-collectives", "::mlir::ModuleOp"> {
  let summary = "holds functions to the collectives that were proven";
  let description = [{
    An error where a function with `dist.collectives` has another collective
    than it lists, or does one more often, or less often unless the list says "at
    most": no pass after the proof may change what devices send each other. A
    list of what may come at most becomes the list of what came.

    ```mlir
    func.func @f(...) attributes {dist.collectives = ["1 of all_reduce ... <sum> ..."]} {
      %1 = dist.all_reduce <max> %0 ...
    ```
    is an error.
  }];
}

def WidenCollectivesPass
    : Pass<"rt-widen-collectives", "::mlir::func::FuncOp"> {
  let summary = "integers that the runtime lacks travel as wider ones";
  let description = [{
    On a local program without buckets.

    ```mlir
    %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<4xi16> -> tensor<4xi16>
    ```
    becomes
    ```mlir
    %w = arith.extsi %0 : tensor<4xi16> to tensor<4xi32>
    %r = dist.all_reduce <sum> %w over <{"x"}> on @mesh : tensor<4xi32> -> tensor<4xi32>
    %1 = arith.trunci %r : tensor<4xi32> to tensor<4xi16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // TESSERA_COLLECTIVELISTS_PASSES_TD
