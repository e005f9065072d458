//===- TrainedFunction.h - The function to be trained -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_TRAINEDFUNCTION_H
#define TESSERA_TRAINING_TRAINEDFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tessera {

/// A forward function, with a loss if it is trained.
struct TrainedFunction {
  mlir::func::FuncOp function;
  /// Arguments with nn.param, in order.
  llvm::SmallVector<mlir::BlockArgument> parameters;
  /// All other arguments, and the batch dimension of each: the one named
  /// "batch" in nn.dims, else the first.
  llvm::SmallVector<mlir::BlockArgument> inputs;
  llvm::SmallVector<int64_t> batchDims;
  /// The value to differentiate: the result "objective_sum", without one
  /// "loss_sum", or "loss" without either. Null for a function that is not
  /// trained.
  mlir::Value objective;
  /// The result "tokens" that accompanies "loss_sum"; null: the loss counts as
  /// one.
  mlir::Value tokens;
  /// The results "loss_sum" and "aux_sum" whose sum the objective is; null: the
  /// objective is the loss.
  mlir::Value lossSum, auxSum;
  /// The loads of experts, results "NAME.load", of each parameter NAME with
  /// nn.trained that has one, by its argument number.
  llvm::SmallVector<std::pair<unsigned, mlir::Value>> loads;

  /// `inputs` as values.
  llvm::SmallVector<mlir::Value> getInputs() const {
    return llvm::SmallVector<mlir::Value>(inputs.begin(), inputs.end());
  }
  /// The objective, those of tokens, lossSum and auxSum that exist, and loads.
  llvm::SmallVector<mlir::Value> getOutputs() const {
    llvm::SmallVector<mlir::Value> outputs{objective};
    for (mlir::Value value : {tokens, lossSum, auxSum})
      if (value)
        outputs.push_back(value);
    for (auto [number, load] : loads)
      outputs.push_back(load);
    return outputs;
  }
};

/// Finds the only function of a module with parameters (nn.param) and a result
/// "loss_sum" or "loss" (nn.output) that is not yet a training step (has no
/// nn.state). None if there is none. Fails, with an error, if there are
/// several, the loss is not a float scalar, or an input is not a tensor.
mlir::FailureOr<std::optional<TrainedFunction>>
findTrainedFunction(mlir::ModuleOp module);

/// Finds the only function of a module with parameters that is not a training
/// step. Fails, with an error, if there is none, there are several, or an input
/// is not a tensor.
mlir::FailureOr<TrainedFunction> findForwardFunction(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_TRAINING_TRAINEDFUNCTION_H
