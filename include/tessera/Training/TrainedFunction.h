//===- TrainedFunction.h - The function that is to be trained ---*- C++ -*-===//
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
  /// All other arguments, and which dimension of each is the batch: that named
  /// "batch" in nn.dims, else the first.
  llvm::SmallVector<mlir::BlockArgument> inputs;
  llvm::SmallVector<int64_t> batchDims;
  /// What is differentiated: the result "loss_sum", or "loss" without one. Null
  /// of a function that is not trained.
  mlir::Value lossSum;
  /// The result "tokens" beside "loss_sum"; null: the loss counts as one.
  mlir::Value tokens;

  /// `inputs` as values.
  llvm::SmallVector<mlir::Value> getInputs() const {
    return llvm::SmallVector<mlir::Value>(inputs.begin(), inputs.end());
  }
  /// lossSum, and tokens if there is one.
  llvm::SmallVector<mlir::Value> getOutputs() const {
    llvm::SmallVector<mlir::Value> outputs{lossSum};
    if (tokens)
      outputs.push_back(tokens);
    return outputs;
  }
};

/// The only function of a module with parameters (nn.param) and a result
/// "loss_sum" or "loss" (nn.output) that is no training step yet (has no
/// nn.state). None if there is none. Failure, with an error: there are several,
/// the loss is no float scalar, or an input is no tensor.
mlir::FailureOr<std::optional<TrainedFunction>>
findTrainedFunction(mlir::ModuleOp module);

/// The only function of a module with parameters that is no training step.
/// Failure, with an error: there is none, there are several, or an input is no
/// tensor.
mlir::FailureOr<TrainedFunction> findForwardFunction(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_TRAINING_TRAINEDFUNCTION_H
