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
    both sides, and exchanges meet. Where the reference is at hand, its functions
    together are proven to compute it. Changes nothing.

    ```mlir
    // On pp rank 0: two backwards are received, but one is run.
    list "F0.0 sA0.0 F0.1 sA0.1 rG0.0 BW0.0 rG0.1"
    ```
    is an error that names the rank and the action that is missing.
  }];
}

def AssignStagesPass : Pass<"dist-assign-stages", "::mlir::ModuleOp"> {
  let summary = "says what each pp rank will keep, and of how many micro-batches";
  let description = [{
    With a `dist.plan` of pp > 1, on a local function: finds where
    dist-split-stages will split it, notes the blocks of each stage in the plan,
    and gives each op of the forward `dist.held`: the pp rank that keeps its
    results, and of how many micro-batches it keeps them at once by the plan's
    schedule. What each stage makes for itself, of inputs or of parameters alone,
    gets none. dist-select-recompute weighs bytes by it.

    ```mlir
    %1 = nn.gelu %0 {dist.held = array<i64: 0, 4>} : tensor<8x16xf32>
    ```
    is on pp rank 0, which has four micro-batches in flight.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def SplitStagesPass : Pass<"dist-split-stages", "::mlir::ModuleOp"> {
  let summary = "makes a pipeline program of a local one";
  let description = [{
    With a `dist.plan` of pp > 1. The micro-batch of each local function's
    `dist.accumulate` is split into stages that take about equally long, or have
    the blocks of the model that the plan says, which then names those of each
    stage; each pp rank gets a function of its own, in which a `dist.pipeline`
    runs the tasks of its stages by the plan's schedule. An op of the backward belongs to the last
    stage that has all its operands; where the schedule has B and W apart,
    matmuls and table gradients that reach only sums are W. What comes after the
    micro-batches stays with its pp rank; scalars that all need are exchanged.
    Sums that the same pp ranks have parts of are exchanged together, in buckets
    of `bucket-bytes`, and of an eighth of these sums, at most; a larger one has
    an exchange of its own.

    ```mlir
    func.func @train_step(...) attributes {dist.local} {
      %g:2 = dist.accumulate 8 (%tokens) : ...
    ```
    becomes, with pp = 2,
    ```mlir
    func.func @train_step_0(...) attributes {dist.local, dist.pp_rank = 0, dist.reference = @train_step} {
      %g = dist.pipeline paths [[0, 1]] micro_batches 8 batch(%tokens) list "F0.0 sA0.0 ..." : ...
    ```
    and a `@train_step_1`.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect",
                           "::mlir::arith::ArithDialect"];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"26214400",
                        "bytes of sums that one exchange is of; 0: each sum has its own">];
}

#endif // TESSERA_STAGES_PASSES_TD
