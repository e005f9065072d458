//===- Passes.td - Strategies and the training step --------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_PASSES_TD
#define TESSERA_TRAINING_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyStrategyPass : Pass<"dist-apply-strategy", "::mlir::ModuleOp"> {
  let summary = "writes a mesh and the seed shardings of a strategy";
  let description = [{
    Creates `dist.mesh @mesh` and gives arguments and the residual stream seed
    shardings by the names in `nn.dims`:

    * `dp`: "batch" over axis dp.
    * `tp`: of parameters, "ffn" and "vocab" over axis tp, and "kv_heads" and
      "q_per_kv" as `splitHeads` shares it between them.
    * `sp`: "seq" of the residual stream over tp, as seeds of priority 1: the
      weights decide first how a block is spread.
    * `zero=3`: parameters rest sharded over dp as well, on the first dimension
      that divides or else, padded, on the largest; before the first op that uses
      one stands a `dist.constraint` without dp. `zero=1` and `zero=2` are about
      training state and seed nothing here.

    Other dimensions of arguments and of the residual stream are closed. A value
    that has a sharding keeps it. Without a strategy (`auto`, `none`) the
    program's own seeds stay as they are.

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
    Option<"strategy", "strategy", "std::string", "\"auto\"",
           "list of dp, tp, sp, zero=N; or auto">,
  ];
}

def BuildBackwardPass
    : Pass<"dist-build-backward", "::mlir::func::FuncOp"> {
  let summary = "makes a function return its gradients too";
  let description = [{
    Appends to a function of one block an argument for each float result, the
    gradient of what is computed from it (its seed), and a result for each float
    argument, its gradient: the vector-Jacobian product. An argument without
    influence has a gradient of zeros. That of `nn.param = "w"` is `nn.output =
    "w.grad"`. With `params` only those with `nn.param` get one. Works on global types, before shardings are propagated; building a
    training step uses the same library.

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
