//===- Optimizer.h - What follows the gradients -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Training: builds, from sums of gradients, the norm, the
// learning rate and the new parameters and state. All tensors are global and
// whole; how they are sharded is decided later.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_OPTIMIZER_H
#define TESSERA_LIB_TRAINING_OPTIMIZER_H

#include "dialects/Dist/Dist.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

/// What one parameter is trained with.
struct ParameterSettings {
  double lrScale = 1, weightDecay = 0;
};

/// The settings of the parameter `name`: of the first group that matches it.
/// Matrices alone decay, see MatrixUses.h. Failure, with an error at `op`: a
/// pattern that is none.
mlir::FailureOr<ParameterSettings>
getParameterSettings(mlir::Operation *op, const Plan &plan,
                     llvm::StringRef name, mlir::BlockArgument parameter);

/// One parameter at the update.
struct ParameterUpdate {
  /// The f32 copy where there is one, else the parameter.
  mlir::Value param;
  mlir::Value gradient;
  /// m and v, or the velocity, or nothing.
  llvm::SmallVector<mlir::Value, 2> moments;
  ParameterSettings settings;
};

/// Builds the end of a step. Scalars are tensors of rank 0 and of the state's
/// element type.
class OptimizerBuilder {
public:
  OptimizerBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                   const Plan &plan, mlir::Type element)
      : b{builder, loc}, plan(plan), element(element) {}

  mlir::Value scalar(double value) {
    return b.splatOf(mlir::RankedTensorType::get({}, element), value);
  }

  /// The root of the sum of the squares of all gradients.
  mlir::Value buildNorm(llvm::ArrayRef<mlir::Value> gradients);
  /// min(1, clip / (norm + 1e-6)), as in the usual trainers.
  mlir::Value buildClip(mlir::Value norm);
  /// The learning rate of step `step`, which counts from 1, and the corrections
  /// of both moments. Computed in f64: 1 - beta^step cancels.
  void buildSchedule(mlir::Value step);
  mlir::Value getLearningRate() const { return lr; }

  /// The new parameter and moments. `skip` may be null.
  llvm::SmallVector<mlir::Value> buildUpdate(const ParameterUpdate &update,
                                             mlir::Value gradScale,
                                             mlir::Value skip);

private:
  mlir::Value narrowScalar(mlir::Value wide) { return b.cast(wide, element); }
  mlir::Value buildCorrection(mlir::Value step, double beta);
  mlir::Value scaledRate(double scale);

  ElementwiseBuilder b;
  const Plan &plan;
  mlir::Type element;
  mlir::Value lr, mCorrection, vCorrection;
  /// Learning rates by factor.
  llvm::MapVector<uint64_t, mlir::Value> rates;
};

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_OPTIMIZER_H
