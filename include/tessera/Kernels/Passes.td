//===- Passes.td - To library calls and outlined kernels ---*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_KERNELS_PASSES_TD
#define TESSERA_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandAccumulatePass
    : Pass<"dist-expand-accumulate", "::mlir::func::FuncOp"> {
  let summary = "micro-batches become a loop and a last one after it";
  let description = [{
    On a local program. One micro-batch is taken into the function; of several,
    all but the last run in an `scf.for` that carries the sums, from zeros on.

    ```mlir
    %s = dist.accumulate 4 (%x) : (tensor<4x8xf32>) -> tensor<8xf32> {...}
    ```
    becomes
    ```mlir
    %p = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %zeros) {
      ... // the body on slice %i of %x, which gives %v
      %next = arith.addf %sum, %v : tensor<8xf32>
      scf.yield %next : tensor<8xf32>
    }
    ... // the body on slice 3, which gives %w
    %s = arith.addf %p, %w : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect",
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def ExpandPipelinePass : Pass<"dist-expand-pipeline", "::mlir::ModuleOp"> {
  let summary = "tasks of a pipeline become functions";
  let description = [{
    On a local program. Each task of a `dist.pipeline` becomes a private
    function marked `rt.task`, whose arguments say where they are (`rt.place`)
    and whose results are donated arguments; an `rt.pipeline` takes the place of
    the pipeline. What a task adds to a result is added in the function. Slices
    of batch operands and of stacked results are padded to multiples of 64
    bytes. A `dist.accumulate` that stacks results becomes such a list too, of
    one pp rank.

    ```mlir
    %s = dist.pipeline ... : (tensor<2x16xi32>) -> tensor<f32> {
      dist.task F 0 (%t = batch 0 : tensor<16xi32>) {
        ... // %l, from %t and %w
        dist.task_yield add [0](%l : tensor<f32>)
      }
    }
    ```
    becomes
    ```mlir
    func.func private @step_F0(%t: tensor<16xi32> {rt.place = #rt.place<batch 0>},
        %w: tensor<64x64xf32> {rt.place = #rt.place<captured 0>},
        %s: tensor<f32> {rt.place = #rt.place<sum 0>, dist.donate = 0 : i64})
        -> tensor<f32> attributes {rt.task = #rt.task<0 0>} {
      ... // %l
      %r = arith.addf %s, %l : tensor<f32>
      return %r : tensor<f32>
    }
    %s = rt.pipeline ... tasks [@step_F0] batch(%tokens) captured(%w) init(%zero)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect", "::tessera::rt::RTDialect"];
}

def ExpandExchangePass : Pass<"dist-expand-exchange", "::mlir::ModuleOp"> {
  let summary = "exchanges among all pp ranks become all-gathers";
  let description = [{
    On a local program. Each pp rank lays its operands of one element type side
    by side, and all gather these rows over the stage axis. Exchanges of which
    padding would be the larger part, and exchanges of some pp ranks, stay, with
    these rows as their values.

    ```mlir
    %n:2 = dist.exchange (%mine) from [0, 1] among [0, 1]
        : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
    ```
    becomes
    ```mlir
    %row = tensor.expand_shape %mine [] output_shape [1]
        : tensor<f32> into tensor<1xf32>
    %all = dist.all_gather %row dim 0 over <{"pp"}> on @mesh
        : tensor<1xf32> -> tensor<2xf32>
    ... // slices of %all
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect", "::tessera::rt::RTDialect"];
}

def LowerControlFlowPass
    : Pass<"rt-lower-control-flow", "::mlir::func::FuncOp"> {
  let summary = "branches become selections, loops carry tensors";
  let description = [{
    On a local program. Both regions of an `scf.if` (all of an
    `scf.index_switch`) run, and the results are selected: positions in tensors
    are zeros in a region that is not taken, and an `scf.while` there does not
    begin. An `scf.while` becomes an `scf.for` with `rt.while`, which ends where
    the flag that it carries first is false. Scalars that loops carry become
    tensors of rank 0.

    ```mlir
    %0 = scf.while (%x = %a) : (tensor<8xf32>) -> tensor<8xf32> {
      ... // from %x: %c : i1
      scf.condition(%c) %x : tensor<8xf32>
    } do {
    ^bb0(%y: tensor<8xf32>):
      ... // from %y: %z
      scf.yield %z : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    ... // from %a: %flag : tensor<i1>
    %0:2 = scf.for %i = %c0 to %max step %c1 iter_args(%f = %flag, %y = %a) {
      ... // from %y: %z, from %z: %next : tensor<i1>
      scf.yield %next, %z : tensor<i1>, tensor<8xf32>
    } {rt.while}
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::tessera::rt::RTDialect"];
}

def SetTargetPass : Pass<"rt-set-target", "::mlir::ModuleOp"> {
  let summary = "says what a program is compiled for";
  let description = [{
    Kernels are outlined, and lowered, for this target.

    ```mlir
    module { ... }
    ```
    becomes, with `target=cuda`,
    ```mlir
    module attributes {rt.target = "cuda"} { ... }
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"host\"",
                        "host, cuda or cuda-emulated">];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

def ConvertNNPass : Pass<"rt-convert-nn", "::mlir::func::FuncOp"> {
  let summary = "nn ops become library-call records or linalg";
  let description = [{
    On a local program, or on one without a mesh. Matmuls (`nn.einsum`,
    `linalg` contractions) become `rt.matmul`, with a transposing copy only
    where dimensions cannot be collapsed; attention becomes `rt.attention`;
    everything else `linalg.generic` on tensors.

    ```mlir
    %0 = nn.einsum "bsd,dh->bsh" %x, %w
        : tensor<2x4x16xf32>, tensor<16x8xf32> -> tensor<2x4x8xf32>
    ```
    becomes
    ```mlir
    %0 = rt.matmul %x, %w <batch = 1, m = 8, n = 8, k = 16, ...>
        : tensor<2x4x16xf32>, tensor<16x8xf32> -> tensor<2x4x8xf32>
    ```

    Matmuls of f8 become `rt.scaled_matmul`. For a GPU that is done where sizes
    are multiples of 16, on operands whose contracted dimension is contiguous:
    others are copied. What does not fit, and with `widen-f8` all, is multiplied
    in bf16, which holds each number of the operands.
  }];
  let options = [
    Option<"widenF8", "widen-f8", "bool", "false",
           "matmuls of f8 are done in bf16">
  ];
  let dependentDialects = ["::tessera::rt::RTDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def InlineCallsPass : Pass<"rt-inline-calls", "::mlir::ModuleOp"> {
  let summary = "callees become part of the step";
  let description = [{
    Functions that are called are gone afterwards; one that calls itself is an
    error.

    ```mlir
    %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    becomes, where @f is a tanh,
    ```mlir
    %0 = math.tanh %x : tensor<4xf32>
    ```
  }];
}

def ReduceBoundaryPass : Pass<"rt-reduce-boundary", "::mlir::func::FuncOp"> {
  let summary = "arguments and results of a step are whole values";
  let description = [{
    On a local program. An unreduced argument comes whole, as an input does, and
    is made partial; an unreduced result is reduced.

    ```mlir
    func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ], unreduced={"x"}>})
        -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ], unreduced={"x"}>}) {
      %0 = arith.negf %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ]>})
        -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ]>}) {
      %p = dist.to_partial <sum> %x over <{"x"}> on @mesh : tensor<4xf32>
      %0 = arith.negf %p : tensor<4xf32>
      %r = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def TensorizeBoundaryPass
    : Pass<"rt-tensorize-boundary", "::mlir::func::FuncOp"> {
  let summary = "scalars are passed as tensors of rank 0";
  let description = [{
    ```mlir
    func.func @f(%s: f32) -> f32 {
      %0 = arith.mulf %s, %s : f32
      return %0 : f32
    }
    ```
    becomes
    ```mlir
    func.func @f(%t: tensor<f32>) -> tensor<f32> {
      %s = tensor.extract %t[] : tensor<f32>
      %0 = arith.mulf %s, %s : f32
      %e = tensor.empty() : tensor<f32>
      %1 = linalg.fill ins(%0 : f32) outs(%e : tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
    ```
    An index is passed as a tensor of i64.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def FoldEmptyPass : Pass<"rt-fold-empty", "::mlir::func::FuncOp"> {
  let summary = "tensors without elements are made by nothing";
  let description = [{
    What makes such a tensor becomes `tensor.empty`; what reads one gives what it
    does without: a reduction its start, a concatenation its other parts.

    ```mlir
    %0 = tensor.concat dim(0) %x, %none : (tensor<4xf32>, tensor<0xf32>) -> tensor<4xf32>
    %1 = nn.reduce <sum> %none dims [0] : tensor<0xf32> -> tensor<f32>
    ```
    becomes %x and
    ```mlir
    %1 = arith.constant dense<0.0> : tensor<f32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def IsolateGenericsPass
    : Pass<"rt-isolate-generics", "::mlir::func::FuncOp"> {
  let summary = "generics say what they read, and which loops reduce";
  let description = [{
    An elementwise op reads no outs, and a body takes nothing from outside but
    constants, indices that depend on no tensor, and elements of tensors. A
    `tensor.empty` that is more than the outs of an op becomes zeros.

    ```mlir
    %s = tensor.extract %t[%c0] : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %1 = arith.mulf %b, %s : f32
      linalg.yield %1 : f32
    } -> tensor<4xf32>
    ```
    becomes
    ```mlir
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = tensor.extract %t[%c0] : tensor<4xf32>
      %1 = arith.mulf %b, %s : f32
      linalg.yield %1 : f32
    } -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def OutlineKernelsPass : Pass<"rt-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "groups linalg ops over common rows into kernels";
  let description = [{
    Ops whose leading dimensions count the same rows, and which exchange values
    row by row, become one private function on tensors; equal functions are
    one. What stays in the step function are calls: kernels, library calls,
    copies, collectives, views.

    ```mlir
    %m = linalg.generic ... ins(%x)      // row maximum
    %e = linalg.generic ... ins(%x, %m)  // exp(x - m)
    ```
    becomes
    ```mlir
    %e = rt.kernel @kernel_0(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
  }];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

def FuseHorizontallyPass : Pass<"rt-fuse-horizontally", "::mlir::ModuleOp"> {
  let summary = "small or last kernels of a GPU become one launch";
  let description = [{
    Where the target is a GPU. Kernels that do not depend on each other, and that
    either make the step's results (optimizers) or little from what stays in
    memory anyway (norms of gradients), become one kernel that calls them. It
    is where the first result is read. Small ones that follow each other do
    so too. The body of a loop has batches of its own.

    ```mlir
    %a = rt.kernel @kernel_0(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %b = rt.kernel @kernel_1(%y) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    becomes
    ```mlir
    %r:2 = rt.kernel @batch_0(%x, %y)
        : (tensor<8xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>)
    ```
  }];
  let dependentDialects = ["::tessera::rt::RTDialect"];
}

def VerifyKernelsPass : Pass<"rt-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "checks that a step function holds calls only";
  let description = [{
    The contract of phase `kernels`: a step function holds no loose op that
    computes on tensors; each kernel holds linalg on tensors over its rows.
  }];
}

#endif // TESSERA_KERNELS_PASSES_TD
