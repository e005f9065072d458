//===- Passes.td - Offsets of tensors ----------------------*- tablegen -*-===//
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
    By liveness. Arguments keep their offsets for the whole step, results from
    where they are made to its end; views are stored in their source; a result
    overwrites an operand that dies there, where the op allows it. Both
    sides of a collective keep their offsets until its wait. What a loop carries
    has one offset, and a result that an argument is donated to (`dist.donate`)
    is written into the argument's: a read of the argument after that is an
    error.

    Without `reuse` no offset is used twice, but by these. With `check` there are
    64 bytes after each block that nothing may write, and `rt.begins` and
    `rt.ends` say on each op which blocks begin before it and end after it, so
    that the program looks after them.

    ```mlir
    %0 = rt.kernel @kernel_0(%arg0) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
    becomes
    ```mlir
    %0 = rt.kernel @kernel_0(%arg0) {rt.offsets = array<i64: 512>} : ...
    ```
    and the function gets `rt.arena_bytes` and `rt.memory`.
  }];
  let options = [
    Option<"reuse", "reuse", "bool", "true",
           "let tensors that do not live at one time share memory">,
    Option<"check", "check", "bool", "false",
           "watch the bytes after each block, forget what a block held">];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

def PlanPipelinePass : Pass<"rt-plan-pipeline", "::mlir::ModuleOp"> {
  let summary = "plans the arenas of pipelines and of their tasks";
  let description = [{
    For step functions with an `rt.pipeline`, and for the functions that it
    calls. A step's arena also holds scratch, frames and boundaries of all
    micro-batches, each for as long as the list needs it. A task gets
    `rt.segments`: an offset before the first is one of the arena, one from the
    begin of a segment on is counted from the address that a call gives for the
    segment. The pipeline gets `rt.entries`, its list as `tessera_rt_run_list`
    runs it.

    Options are those of `rt-plan-arena`.
  }];
  let options = [
    Option<"reuse", "reuse", "bool", "true",
           "let tensors that do not live at one time share memory">,
    Option<"check", "check", "bool", "false",
           "watch the bytes after each block, forget what a block held">];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

def FenceStatePass : Pass<"rt-fence-state", "::mlir::ModuleOp"> {
  let summary = "marks the point in a step from which on state changes";
  let description = [{
    After the arena is planned. Puts one `rt.state_fence` into a step function, in
    front of the first op that writes into the block of a donated argument of more
    than one element. The planned bytes decide: a result that overlaps the block
    writes into it, wherever it goes; a collective writes from its start on. An op
    in a loop counts as the loop. Tasks of a pipeline must not write such blocks.

    ```mlir
    %1 = rt.kernel @sgd(%p, %g) {rt.offsets = array<i64: 0>} : ...
    ```
    becomes, where `%p` is donated and has offset 0,
    ```mlir
    rt.state_fence
    %1 = rt.kernel @sgd(%p, %g) {rt.offsets = array<i64: 0>} : ...
    ```
  }];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

#endif // TESSERA_MEMORY_PASSES_TD
