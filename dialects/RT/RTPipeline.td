//===- RTPipeline.td - Pipelines of task functions ---------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dist.pipeline whose tasks are functions that a list calls. A task writes
// only memory that it is given: the function's results are donated arguments.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_RT_RTPIPELINE_TD
#define TESSERA_DIALECTS_RT_RTPIPELINE_TD

include "dialects/RT/RTCallOps.td"

def RT_PlaceKind : I32EnumAttr<"PlaceKind", "where an argument of a task is", [
    I32EnumAttrCase<"Captured", 0, "captured">,
    I32EnumAttrCase<"Batch", 1, "batch">,
    I32EnumAttrCase<"Sum", 2, "sum">,
    I32EnumAttrCase<"Slice", 3, "slice">,
    I32EnumAttrCase<"ForwardToInputGrad", 4, "f_to_b">,
    I32EnumAttrCase<"ForwardToWeightGrad", 5, "f_to_w">,
    I32EnumAttrCase<"InputGradToWeightGrad", 6, "b_to_w">,
    I32EnumAttrCase<"Activation", 7, "activation">,
    I32EnumAttrCase<"Gradient", 8, "gradient">,
    I32EnumAttrCase<"Send", 9, "send">]> {
  let cppNamespace = "::tessera::rt";
  let genSpecializedAttr = 0;
}

def RT_PlaceAttr : AttrDef<RT_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "where an argument of a task is";
  let description = [{
    With the same address for all micro-batches: `captured 2` is operand 2 of
    those that the pipeline captures, `sum 1` its result 1. With one address for
    each micro-batch: `batch 0` and `slice 1` are its slices of batch operand 0
    and of result 1; `f_to_b 3` is value 3 of the frame that F fills for B or BW,
    `f_to_w` and `b_to_w` of those that F and B fill for W; `activation 0` and
    `gradient 0` are value 0 of what the chunk receives for its forward and its
    backward, `send 0` of what the task sends.
  }];
  let parameters = (ins EnumParameter<RT_PlaceKind>:$kind, "int64_t":$index);
  let assemblyFormat = "`<` $kind $index `>`";
}

def RT_TaskAttr : AttrDef<RT_Dialect, "Task"> {
  let mnemonic = "task";
  let summary = "which task of a pipeline a function is";
  let description = [{
    The kind of a dist.task, as its number in tessera_rt_task, and its chunk.
  }];
  let parameters = (ins "int64_t":$kind, "int64_t":$chunk);
  let assemblyFormat = "`<` $kind $chunk `>`";
}

def RT_TaskArrayAttr : TypedArrayAttrBase<FlatSymbolRefAttr, "tasks">;

def RT_PipelineOp : RT_Op<"pipeline", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one pp rank's tasks, as functions, run by its list";
  let description = [{
    As `dist.pipeline`. Result i begins as init i, in whose place it is stored:
    tasks add to it, or write slices of it. Rows of a batch operand and of a
    result that has slices are those of micro-batches; a row may be longer than
    what a task sees of it, so that each begins at an address that kernels can
    take.

    (C1) The callees are functions marked `rt.task`, with an `rt.place` for each
    argument, whose index is in range. (C2) There is an init for each result, of
    its type. (C3) Paths have one length, over pp ranks that are numbered from 0,
    and divide the micro-batches.

    ```mlir
    %sum = rt.pipeline paths [[0, 1]] micro_batches 2
        list "F0.0 sA0.0 F0.1 sA0.1 rG0.0 BW0.0 rG0.1 BW0.1"
        tasks [@step_F0, @step_BW0] batch(%tokens) captured(%w) init(%zeros)
        : (tensor<2x16xi32>, tensor<64x16xf32>, tensor<64x16xf32>)
        -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins ArrayAttr:$paths, I64Attr:$micro_batches, StrAttr:$list,
                       RT_TaskArrayAttr:$tasks, Variadic<RT_Tensor>:$batches,
                       Variadic<RT_Tensor>:$captured,
                       Variadic<RT_Tensor>:$inits);
  let results = (outs Variadic<RT_Tensor>:$results);
  let assemblyFormat = [{
    `paths` $paths `micro_batches` $micro_batches `list` $list `tasks` $tasks
    `batch` `(` $batches `)` `captured` `(` $captured `)` `init` `(` $inits `)`
    attr-dict `:` functional-type(operands, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The pp rank of each stage, by path.
    ::llvm::SmallVector<::llvm::SmallVector<int64_t>> getStageRanks();
    /// The functions that it calls, in the order of `tasks`.
    ::llvm::SmallVector<::mlir::func::FuncOp> getTaskFunctions();
  }];
}

def RT_RunListOp : RT_CallOp<"run_list", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs tasks, sends and receives: tessera_rt_run_list";
  let description = [{
    `entries` are as tessera_rt_run_list describes them; `axis` is the stride and
    the size of the stage axis.
    (C1) the callees are functions marked `rt.step` with `rt.segments`; (C2) a
    stride and a size.

    ```mlir
    rt.run_list tasks [@step_F0] axis [2, 4] entries [0, 0, 0, 0, 0, 0]
    ```
  }];
  let arguments = (ins RT_TaskArrayAttr:$tasks, DenseI64ArrayAttr:$axis,
                       DenseI64ArrayAttr:$entries);
  let assemblyFormat = [{
    `tasks` $tasks `axis` $axis `entries` $entries attr-dict
  }];
  let hasVerifier = 1;
}

#endif // TESSERA_DIALECTS_RT_RTPIPELINE_TD
