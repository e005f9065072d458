//===- Staging.h - Starts of stages and their schedule ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_STAGING_H
#define TESSERA_LIB_STAGES_STAGING_H

#include "StageSplit.h"
#include "tessera/Plan/Layout.h"
#include "tessera/Schedule/PipelinePricer.h"

namespace tessera {

/// The schedule of a program and the starts of its stages.
class Staging {
public:
  /// The stages of a local function's micro-batches, in its one
  /// dist.accumulate, whose unused ops are removed. Fails with an error if
  /// there are none or several, or if the plan does not fit.
  static mlir::FailureOr<Staging> make(mlir::func::FuncOp function,
                                       const Layout &layout);

  dist::AccumulateOp getAccumulate() const { return accumulate; }
  llvm::SmallVector<mlir::Operation *> getStarts() const {
    return llvm::map_to_vector(
        points, [&](int point) { return candidates.points[point - 1].op; });
  }
  /// True if the model has numbered blocks.
  bool hasBlocks() const { return candidates.blocks > 0; }
  /// Blocks of the model per stage.
  std::vector<double> getLayers() const {
    return getStageLayers(candidates, points);
  }

  schedule::ScheduleProblem problem;
  schedule::Schedule schedule;
  /// The fraction of the step in which the busiest pp rank is idle, from the
  /// task times that also choose the split points.
  double bubble = 0;

private:
  Staging(dist::AccumulateOp accumulate, const Layout &layout)
      : accumulate(accumulate),
        isTrained(dist::findBackward(accumulate.getBody().front())),
        layout(layout), candidates(findSplitCandidates(accumulate)) {}

  llvm::Error makeLists();
  llvm::Error readFile(schedule::Schedule &list);
  llvm::Error findPoints();
  llvm::Error checkLayers() const;
  schedule::PipelineTimes getTimes(const schedule::SplitPoints &points) const;

  dist::AccumulateOp accumulate;
  bool isTrained;
  const Layout &layout;
  SplitCandidates candidates;
  schedule::SplitProblem split;
  schedule::SplitPoints points;
  schedule::Pipeline pipeline;
  schedule::PipelinePricer pricer;
};

/// Records the blocks of the model per stage in the module's plan.
void setStageLayers(mlir::ModuleOp module, const Staging &staging);

/// True for the functions of a module that are split into stages.
bool isToBeSplit(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_STAGING_H
