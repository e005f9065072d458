//===- Passes.td - Strategies and the training step --------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_PASSES_TD
#define TESSERA_TRAINING_PASSES_TD

include "mlir/Pass/PassBase.td"

def OrderSequencePass : Pass<"dist-order-sequence", "::mlir::ModuleOp"> {
  let summary = "puts the sequence into zig-zag order where that evens the work";
  let description = [{
    On a module with `dist.context`: if devices share the queries of the attention
    with the most work, that attention is causal without a window, and twice the
    devices divide the sequence, all dimensions that are tied to "seq" of the
    inputs are stored in zig-zag order. Positional ops get it
    (`setPositionOrder`), and arguments and results as `nn.order`, by which a
    program's inputs and outputs are permuted. An op that takes no order, or needs
    the sequence as it is, leaves it plain, and so do seeds over devices that do not
    divide the sequence: a remark `SequenceOrder` says why.

    ```mlir
    %i = nn.iota : tensor<32xi32>
    %o = nn.attention causal scale 0.25 %q, %k, %v : tensor<2x32x2x2x16xf32>, ...
    ```
    for four devices becomes
    ```mlir
    %i = nn.iota order <shards = 4, size = 32> : tensor<32xi32>
    %o = nn.attention causal scale 0.25 order <shards = 4, size = 32> %q, %k, %v : ...
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect",
                           "::tessera::nn::NNDialect"];
}

def ApplyStrategyPass : Pass<"dist-apply-strategy", "::mlir::ModuleOp"> {
  let summary = "writes a mesh and the seed shardings of a strategy";
  let description = [{
    Creates `dist.mesh @mesh` and gives arguments and the residual stream seed
    shardings by the names in `nn.dims`:

    * `dp`: "batch" over axis dp.
    * `cp`: "seq" over axis cp. `dist.context` on the module says by which method
      attention shares it; `dist-pin-context` reads it.
    * `tp`: of parameters, "ffn" and "vocab" over axis tp, and "kv_heads" and
      "q_per_kv" as `splitHeads` shares it between them.
    * `ep=N`: "experts" of parameters over the innermost N devices of dp, cp and
      tp together, in the order of the mesh, before "ffn" takes tp; with `etp` of
      dp and cp alone, and "ffn" over tp. `dist.experts` on the module has the
      axes of the ops on experts; `dist-pin-experts` reads it.
    * `sp`: "seq" of the residual stream over tp, after cp, as seeds of priority 1: the
      weights decide first how a block is sharded.
    * `zero=3`: parameters are stored sharded over dp and cp as well, on the first
      dimension that divides or else in another shape (`FlatState.h`), which is
      what their arguments then have; before the first op that uses one is a
      `dist.constraint` without them. `zero=1` and `zero=2` are about
      training state and seed nothing here; with a `dist.plan` on the module
      `dist-shard-training-state` does all of `zero` later, over the axes that
      `dist.state_axes` on the module names if these are not dp and cp.

    `dp@x+y`, `cp@x` and `tp@x` name other axes that stand for dp, cp and tp.

    Other dimensions of arguments and of the residual stream are closed. A value
    that has a sharding keeps it. Without a strategy (`none`), and where it is
    searched (`auto`), the program's own seeds stay as they are.

    ```mlir
    func.func @f(%w: tensor<16x64xf32> {nn.param = "w", nn.dims = ["embed", "ffn"]})
    ```
    with `mesh=dp=2,tp=4 strategy=dp,tp` has
    `dist.sharding = #dist.sharding<@mesh, [{}, {"tp"} ]>`.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"",
           "axes and sizes, major to minor: dp=2,tp=4">,
    Option<"strategy", "strategy", "std::string", "\"none\"",
           "list of pp, dp, cp[=METHOD], tp, sp, zero=N; auto; or none">,
  ];
}

def ApplyClusterPass : Pass<"dist-apply-cluster", "::mlir::ModuleOp"> {
  let summary = "gives meshes the links, and the module the device, of a cluster";
  let description = [{
    Every mesh gets `dist.links`, by which collectives are priced: device numbers
    are row-major over the mesh, and neighbouring numbers fill the cluster's
    levels from the inside out. The module gets `dist.device`: bytes per second
    through memory, operations per second of matmuls (in 16 bits, unless all is in
    f32) and of other ops, and the seconds of the shortest kernel; of a processor
    also the bytes that a byte of a matmul moves, the seconds of a function such
    as exp, and the share of a transfer that it moves itself. What was there is
    replaced. A mesh of more devices than the cluster has is an error.

    ```mlir
    module {
      dist.mesh @mesh ["dp"=2, "tp"=8]
    }
    ```
    with `cluster=share/clusters/h100-sxm-ib.json` has
    ```mlir
    module attributes {dist.device = array<f64: 2.2043e+12, 3.5653445e+14, 2.2043e+13, 2.58e-06>} {
      dist.mesh @mesh ["dp"=2, "tp"=8] {dist.links = [
        [array<f64: 2.0, 4.5e-06, 4.75e+10>], [array<f64: 8.0, 9.3e-07, 3.51e+11>]]}
    }
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"\"",
           "a cluster file, as of tessera plan --cluster">,
  ];
}

def PlanTrainingPass : Pass<"dist-plan-training", "::mlir::ModuleOp"> {
  let summary = "puts a dist.plan on a module that has a loss";
  let description = [{
    Where a function with parameters returns `loss_sum` or `loss`, and the module
    has no plan yet, `dist.plan` gets the settings, the axes that the strategy
    uses of the mesh, and the sizes of the program's batch; precision is that of
    the parameters unless it is given. A plan that cannot be compiled, or is for
    another batch, is an error. Any other module is left alone; to give it settings
    of training is an error. A program that is compiled as a forward pass
    (`--forward`) gets a plan that is `forward` where it has micro-batches or
    pipeline stages.

    ```mlir
    module {
      func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"})
    }
    ```
    with `settings=micro-batches=2,optimizer=sgd` has
    `dist.plan = #dist.plan<micro_batches = 2, optimizer = sgd>`.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
  let options = [
    Option<"settings", "settings", "std::string", "\"\"",
           "fields of the plan: micro-batches=2,lr=1e-3">,
    Option<"mesh", "mesh", "std::string", "\"\"",
           "axes and sizes; default: the program's">,
    Option<"strategy", "strategy", "std::string", "\"\"",
           "list of pp, dp, cp[=METHOD], tp, sp, zero=N">,
  ];
}

def BuildTrainStepPass
    : Pass<"dist-build-train-step", "::mlir::ModuleOp"> {
  let summary = "turns a forward function with a loss into a training step";
  let description = [{
    On a module with `dist.plan`, the function that returns a loss becomes
    `@train_step`. Its arguments are the parameters, the state (`nn.state`: for
    each parameter a master copy where parameters are narrower than f32, and the
    optimizer's moments; then the step count, and with f16 the scale of the
    loss), the batch inputs as [micro-batches, part of the batch, ...], and the
    limits of norm and loss (`nn.control`). Its results are the new parameters
    and state, each in the place of its argument (`dist.donate`), and `loss`,
    `grad_norm`, `lr`, `num_labels` and `skipped`: 1 if a limit keeps the step
    from changing parameters and state.

    A `dist.accumulate` holds forward and backward of one micro-batch and sums up
    losses, labels and gradients, unscaled; after it are the global norm, the
    learning rate of the step, and one optimizer op a parameter.

    ```mlir
    func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "loss"})
    ```
    with `#dist.plan<micro_batches = 2, optimizer = sgd>` becomes
    ```mlir
    func.func @train_step(%w: tensor<8xf32> {nn.param = "w", dist.donate = 0 : i64},
        %step: tensor<f32> {nn.state = "step", nn.init = #nn.init<zeros>, dist.donate = 1 : i64}, %x: tensor<2x2x8xf32>,
        %norm_limit: tensor<f32> {nn.control = "norm_limit"}, %loss_limit: tensor<f32> {nn.control = "loss_limit"})
        -> (tensor<8xf32>, tensor<f32>, tensor<f32> {nn.output = "loss"}, ...) {
      %0:2 = dist.accumulate 2(%x) : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::tessera::dist::DistDialect",
    "::tessera::nn::NNDialect"];
}

def EraseStopGradientsPass
    : Pass<"nn-erase-stop-gradients", "::mlir::ModuleOp"> {
  let summary = "replaces every nn.stop_gradient by its operand";
  let description = [{
    Gradients have been built: nothing else of a program depends on where they
    stop. A sharding that the op was given becomes a `dist.constraint`.

    ```mlir
    %0 = nn.stop_gradient %x : tensor<8xf32>
    %1 = arith.mulf %0, %y : tensor<8xf32>
    ```
    becomes
    ```mlir
    %1 = arith.mulf %x, %y : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def SplitBatchPass : Pass<"dist-split-batch", "::mlir::ModuleOp"> {
  let summary = "runs a forward function in micro-batches";
  let description = [{
    On a module with a `dist.plan` that is `forward`, the function with parameters
    (`nn.param`) gets its batch inputs as [micro-batches, part of the batch, ...]
    and a `dist.accumulate` with what depends on them. A result that has the
    batch in a dimension is stacked, likewise with the micro-batches as a new
    first dimension; one that is a sum over the batch is the sum over the
    micro-batches, and what is not linear in such sums, as a mean, is computed
    after them. Samples that depend on each other in another way are an error.

    ```mlir
    func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> tensor<4x8xf32>
    ```
    with `#dist.plan<forward, micro_batches = 2>` becomes
    ```mlir
    func.func @forward(%x: tensor<2x2x8xf32>, %w: tensor<8xf32> {nn.param = "w"}) -> tensor<2x2x8xf32> {
      %0 = dist.accumulate 2(%x) : (tensor<2x2x8xf32>) -> tensor<2x2x8xf32> { ... }
    ```
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def ShardTrainingStatePass
    : Pass<"dist-shard-training-state", "::mlir::ModuleOp"> {
  let summary = "seeds the shardings of parameters and state of a training step";
  let description = [{
    Of a training step (arguments with `nn.state`) on a module with a mesh and
    `dist.plan`. State is sharded as the parameter that it belongs to (`nn.of`)
    and, from zero=1 on, over the axes dp and cp too, on the first dimension that then
    divides; what does not divide has got its sharding when the step was built
    (`FlatState.h`). With zero=3 parameters are stored so as well; the first use
    of each in a micro-batch gathers it, through a `dist.constraint`, and a
    second gather serves the others. All this is seeded with a later priority
    than the strategy's other seeds: it moves no work. A gradient is seeded as its parameter is where it is used, open to more axes.
    `dist.group` ties what is donated to what takes its place, and without a
    seed state to its parameter, unless a search decides its sharding: then the
    module has `dist.decisions` with the strategy `auto`.
  }];
  let dependentDialects = ["::tessera::dist::DistDialect"];
}

def BuildBackwardPass
    : Pass<"dist-build-backward", "::mlir::func::FuncOp"> {
  let summary = "makes a function return its gradients too";
  let description = [{
    Appends to a function of one block an argument for each float result, the
    gradient of what is computed from it (its seed), and a result for each float
    argument, its gradient: the vector-Jacobian product. An argument without
    influence has a gradient of zeros. That of `nn.param = "w"` is `nn.output =
    "w.grad"`. With `params` only those with `nn.param` get one; one with
    `nn.frozen` gets none. Works on global types, before shardings are propagated;
    building a training step uses the same library.

    ```mlir
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = arith.mulf %x, %y : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>, %seed: tensor<8xf32>)
        -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
      %0 = arith.mulf %x, %y : tensor<8xf32>
      %1 = arith.mulf %seed, %y : tensor<8xf32>
      %2 = arith.mulf %x, %seed : tensor<8xf32>
      return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::tessera::nn::NNDialect"];
  let options = [
    Option<"params", "params", "bool", "false",
           "gradients of nn.param arguments alone">,
  ];
}

#endif // TESSERA_TRAINING_PASSES_TD
