//===- DistPipeline.td - Pipelines of tasks ----------------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline program has one function for each coordinate of the stage axis, a
// pp rank, given by dist.pp_rank. Everything else that its functions share is
// the same in all of them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_DISTPIPELINE_TD
#define TESSERA_DIALECTS_DIST_DISTPIPELINE_TD

include "dialects/Dist/DistOps.td"

def Dist_TaskKind : I32EnumAttr<"TaskKind", "what a task computes of a stage", [
    I32EnumAttrCase<"Forward", 0, "F">,
    I32EnumAttrCase<"InputGrad", 1, "B">,
    I32EnumAttrCase<"WeightGrad", 2, "W">,
    I32EnumAttrCase<"Backward", 3, "BW">]> {
  let cppNamespace = "::tessera::dist";
  let genSpecializedAttr = 0;
}

def Dist_TaskKindAttr : EnumAttr<Dist_Dialect, Dist_TaskKind, "task_kind"> {
  let assemblyFormat = "$value";
}

def Dist_SourceKind : I32EnumAttr<"SourceKind", "where a task's argument comes from", [
    I32EnumAttrCase<"Recv", 0, "recv">,
    I32EnumAttrCase<"Batch", 1, "batch">,
    I32EnumAttrCase<"Forward", 2, "F">,
    I32EnumAttrCase<"InputGrad", 3, "B">]> {
  let cppNamespace = "::tessera::dist";
  let genSpecializedAttr = 0;
}

def Dist_SourceAttr : AttrDef<Dist_Dialect, "Source"> {
  let mnemonic = "source";
  let summary = "where an argument of a task comes from";
  let description = [{
    `recv 0`: value 0 of those that the neighbouring stage sends; `batch 1`: the
    micro-batch's slice of batch operand 1 of the pipeline; `F 2` and `B 0`:
    value 2 that the chunk's task F, value 0 that its task B keeps of this
    micro-batch.
  }];
  let parameters = (ins EnumParameter<Dist_SourceKind>:$kind, "int64_t":$index);
  let assemblyFormat = "`<` $kind $index `>`";
}

def Dist_SourceArrayAttr : TypedArrayAttrBase<Dist_SourceAttr, "sources">;

// The op has unknown effects, since other ranks wait for its sends.
def Dist_PipelineOp : Dist_Op<"pipeline", [SingleBlock, NoTerminator]> {
  let summary = "one pp rank's share of a pipeline over micro-batches";
  let description = [{
    Runs its tasks by `list`, one after the other, as often as the list says. A
    model is cut into stages; `paths` has the pp rank of each stage, in order. A
    rank's stages are its chunks, numbered by path and stage. With two paths the
    first half of the micro-batches takes the first one, the second half the
    second. Actions of the list are those of `tessera plan --schedule-csv` in our
    spelling: `F0.3` is task F of chunk 0 with micro-batch 3; `sA`, `sG`, `rA`,
    `rG` send and receive activations and gradients. What a task sends goes to
    the same task of the next stage (F) or of the one before (B, BW), on the
    device that has the same coordinates on all axes but the stage axis.

    Result i is the sum of what tasks add to it, in the order of the list and
    starting from zero, or the micro-batches' slices that they store, in order,
    along a new first dimension. Values from outside may be used in tasks.

    (C1) Each path has the same number of stages, and pp ranks are numbered from
    0 without gaps; paths divide the micro-batches evenly. (C2) There is at most
    one task of a kind and chunk; a chunk has F; F and BW; F, B and W; or all four,
    where the list runs B and W of some micro-batches and BW of others: B and BW
    then send values of the same types. (C3) Batch operands have micro_batches as their first dimension. (C4) Each result
    is added to, in its type, or stored to, in slices of it, but not both, and
    by some task.

    dist-check-pipelines sees to what several pp ranks say together, and to the
    lists: each task once for each micro-batch of the chunk's path, F before B or
    BW, B before W, a send and a receive for each value that crosses pp ranks, and
    an end that all of them reach.

    ```mlir
    %sum = dist.pipeline paths [[0, 1]] micro_batches 2 batch(%tokens)
        list "F0.0 sA0.0 F0.1 sA0.1 rG0.0 BW0.0 rG0.1 BW0.1"
        : (tensor<2x8xi32>) -> tensor<64x16xf32> {
      dist.task F 0 (%t = batch 0 : tensor<8xi32>) {
        %x = nn.embedding %w, %t
            : tensor<64x16xf32>, tensor<8xi32> -> tensor<8x16xf32>
        dist.task_yield send(%x : tensor<8x16xf32>) keep(%t : tensor<8xi32>)
      }
      dist.task BW 0 (%g = recv 0 : tensor<8x16xf32>, %t = F 0 : tensor<8xi32>) {
        %dw = nn.embedding_backward %g, %t
            : tensor<8x16xf32>, tensor<8xi32> -> tensor<64x16xf32>
        dist.task_yield add [0](%dw : tensor<64x16xf32>)
      }
    }
    ```
  }];
  let arguments = (ins ArrayAttr:$paths, I64Attr:$micro_batches, StrAttr:$list,
                       Variadic<AnyStaticShapeTensor>:$batches);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `paths` $paths `micro_batches` $micro_batches `batch` `(` $batches `)` `list` $list
    attr-dict `:` functional-type($batches, $results) $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The pp rank of each stage, by path.
    ::llvm::SmallVector<::llvm::SmallVector<int64_t>> getStageRanks();
    /// The task of a kind and chunk; null if there is none.
    TaskOp getTask(TaskKind kind, int64_t chunk);
  }];
}

def Dist_TaskOp : Dist_Op<"task", [SingleBlock, HasParent<"PipelineOp">,
    RecursiveMemoryEffects]> {
  let summary = "what a pp rank computes of one stage and micro-batch";
  let description = [{
    F is the forward of a chunk, B the gradient of its input, W the gradients of
    its parameters, BW both; see dist.pipeline. Each argument names its source.

    (C1) There is a source for each argument. (C2) F takes nothing that a task
    keeps, B and BW what F keeps, W what F and B keep; W receives and sends
    nothing. (C3) Types of arguments are those of their sources.
  }];
  let arguments = (ins Dist_TaskKindAttr:$kind, I64Attr:$chunk,
                       Dist_SourceArrayAttr:$sources);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The op that ends the task.
    TaskYieldOp getYield();
    /// The source of argument `i`.
    SourceAttr getSource(unsigned i);
  }];
}

def Dist_TaskYieldOp : Dist_Op<"task_yield", [Pure, Terminator,
    HasParent<"TaskOp">, AttrSizedOperandSegments]> {
  let summary = "ends a task: what it sends, keeps, adds and stores";
  let description = [{
    `send`: to the neighbouring stage. `keep`: for a later task of the chunk and
    micro-batch. `add [2](%a : ...)`: to result 2 of the pipeline. `store
    [1](%b : ...)`: as the micro-batch's slice of result 1.
    (C1) There is a result for each value that is added or stored.
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$sends,
                       Variadic<AnyStaticShapeTensor>:$keeps,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$add_to,
                       Variadic<AnyStaticShapeTensor>:$adds,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$store_to,
                       Variadic<AnyStaticShapeTensor>:$stores);
  let assemblyFormat = [{
    (`send` `(` $sends^ `:` type($sends) `)`)?
    (`keep` `(` $keeps^ `:` type($keeps) `)`)?
    (`add` $add_to `(` $adds^ `:` type($adds) `)`)?
    (`store` $store_to `(` $stores^ `:` type($stores) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Dist_ExchangeOp : Dist_Op<"exchange"> {
  let summary = "gives pp ranks values of each other";
  let description = [{
    Result i is a value of pp rank `from[i]`: the k-th operand that this rank
    has, if `from` names it k times before. The pp ranks `among` take part, each
    with one such op that has equal `from` and `among` and as many operands as
    `from` names it, in the same order among all such ops; devices exchange with
    those that have the same coordinates on all other axes.
    (C1) `among` is ascending and `from` names only its members; (C2) there is a
    result for each entry of `from`; (C3) elements are floats, integers or index.

    ```mlir
    // On pp rank 1: two values of rank 0 and one of its own.
    %n:3 = dist.exchange (%mine) from [0, 0, 1] among [0, 1]
        : (tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs,
                       DenseI64ArrayAttr:$from, DenseI64ArrayAttr:$among);
  let results = (outs Variadic<AnyStaticShapeTensor>:$outputs);
  let assemblyFormat = [{
    `(` $inputs `)` `from` $from `among` $among attr-dict `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The pp rank of the function that it is in; none outside of one.
    ::std::optional<int64_t> getPPRank();
    /// Bytes of the results that come from other pp ranks.
    int64_t getBytesReceived();
  }];
}

#endif // TESSERA_DIALECTS_DIST_DISTPIPELINE_TD
