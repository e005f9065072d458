//===- Optimizer.h - Builds the optimizer's update --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Training: builds the norm, the learning rate and the new
// parameters and state from sums of gradients. All tensors are global; their
// shardings are chosen later.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_OPTIMIZER_H
#define TESSERA_LIB_TRAINING_OPTIMIZER_H

#include "dialects/Dist/Dist.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

/// Training settings of one parameter.
struct ParameterSettings {
  double lrScale = 1, weightDecay = 0;
};

/// The settings of the parameter `name`, from the first group that matches it.
/// Only matrices decay, see MatrixUses.h. Fails with an error at `op` if a
/// pattern is invalid.
mlir::FailureOr<ParameterSettings>
getParameterSettings(mlir::Operation *op, const OptimizerConfig &config,
                     llvm::StringRef name, mlir::BlockArgument parameter);

/// One parameter in the update.
struct ParameterUpdate {
  /// The f32 copy if there is one, else the parameter.
  mlir::Value param;
  mlir::Value gradient;
  /// m and v, or the velocity, or nothing.
  llvm::SmallVector<mlir::Value, 2> moments;
  ParameterSettings settings;
};

/// Builds the end of a step. Scalars are tensors of rank 0 with the state's
/// element type.
class OptimizerBuilder {
public:
  OptimizerBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                   const OptimizerConfig &config, mlir::Type element)
      : b{builder, loc}, config(config), element(element) {}

  mlir::Value scalar(double value) {
    return b.splatOf(mlir::RankedTensorType::get({}, element), value);
  }

  /// The square root of the sum of squares of all gradients.
  mlir::Value buildNorm(llvm::ArrayRef<mlir::Value> gradients);
  /// min(1, clip / (norm + 1e-6)), as in the usual trainers.
  mlir::Value buildClip(mlir::Value norm);
  /// Builds the learning rate of step `step`, which counts from 1, and the
  /// corrections of both moments. Computed in f64, as 1 - beta^step cancels.
  void buildSchedule(mlir::Value step);
  mlir::Value getLearningRate() const { return lr; }

  /// Returns the new parameter and moments. `skip` may be null.
  llvm::SmallVector<mlir::Value> buildUpdate(const ParameterUpdate &update,
                                             mlir::Value gradScale,
                                             mlir::Value skip);

private:
  mlir::Value narrowScalar(mlir::Value wide) { return b.cast(wide, element); }
  mlir::Value buildCorrection(mlir::Value step, double beta);
  mlir::Value scaledRate(double scale);

  ElementwiseBuilder b;
  const OptimizerConfig &config;
  mlir::Type element;
  mlir::Value lr, mCorrection, vCorrection;
  /// Learning rates by factor.
  llvm::MapVector<uint64_t, mlir::Value> rates;
};

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_OPTIMIZER_H
