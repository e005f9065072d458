//===- CallNames.h - The names of a step's ops in messages ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A name says what an op does, the parameter that it reads, changes or computes
// the gradient of, and in a training step the pass: "matmul blocks.1.attn.wq,
// backward". A parameter is found through casts, changes of shape and
// collectives alone, so an op on activations has none.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_CALLNAMES_H
#define TESSERA_LIB_CONVERSION_CALLNAMES_H

#include "dialects/RT/RT.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <string>

namespace tessera {

class CallNames {
public:
  /// Names the ops of a step function.
  explicit CallNames(mlir::func::FuncOp step);
  /// Names the ops of a task of the pipeline of `step`.
  CallNames(mlir::func::FuncOp task, rt::PipelineOp pipeline,
            const CallNames &step);

  /// Returns the name of an op.
  std::string describe(mlir::Operation *op) const;

private:
  void findUpdates();
  void followParameters(mlir::Block &block);
  void followGradients(mlir::Block &block);
  void followGradient(mlir::Operation *op, mlir::Value result,
                      llvm::StringRef name);
  void findForward();
  llvm::StringRef getParameter(mlir::Operation *op) const;
  llvm::StringRef getPass(mlir::Operation *op) const;

  mlir::func::FuncOp func;
  /// The parameter whose contents a value has, or whose gradient.
  llvm::DenseMap<mlir::Value, llvm::StringRef> parameters, gradients;
  /// Ops that write a donated parameter or its state, with the parameter.
  llvm::DenseMap<mlir::Operation *, llvm::StringRef> updates;
  /// Ops that the loss depends on.
  llvm::DenseSet<mlir::Operation *> forward;
  bool isTraining = false;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_CALLNAMES_H
