//===- Staging.h - Where stages begin, and their schedule -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_STAGING_H
#define TESSERA_LIB_STAGES_STAGING_H

#include "StageSplit.h"
#include "tessera/Recompute/ModelBlocks.h"
#include "tessera/Schedule/PipelinePricer.h"
#include "tessera/Support/Plan.h"

namespace tessera {

/// The schedule of a program and where its stages begin.
class Staging {
public:
  Staging(dist::AccumulateOp accumulate, const Plan &plan)
      : accumulate(accumulate),
        isTrained(findBackward(accumulate.getBody().front())), plan(plan),
        candidates(findSplitCandidates(accumulate)) {}

  /// An error, without the op, if the plan does not suit the program.
  llvm::Error make();
  llvm::SmallVector<mlir::Operation *> getStarts() const {
    return llvm::map_to_vector(
        points, [&](int point) { return candidates.points[point - 1].op; });
  }
  /// The model has numbered blocks.
  bool hasBlocks() const { return candidates.blocks > 0; }
  /// Blocks of the model in each stage.
  std::vector<double> getLayers() const {
    return getStageLayers(candidates, points);
  }

  schedule::ScheduleProblem problem;
  schedule::Schedule schedule;
  /// The part of the step that the busiest pp rank waits, by the times of the
  /// tasks that split points are chosen by.
  double bubble = 0;

private:
  llvm::Error readFile(schedule::Schedule &list);
  llvm::Error findPoints();
  llvm::Error checkLayers() const;
  schedule::PipelineTimes getTimes(const schedule::SplitPoints &points) const;

  dist::AccumulateOp accumulate;
  bool isTrained;
  const Plan &plan;
  SplitCandidates candidates;
  schedule::SplitProblem split;
  schedule::SplitPoints points;
  schedule::Pipeline pipeline;
  schedule::PipelinePricer pricer;
};

/// Notes in the module's plan which blocks of the model each stage has.
void setStageLayers(mlir::ModuleOp module, const Staging &staging);

/// The micro-batches of a local function whose plan asks for stages: its one
/// dist.accumulate. Null, with an error, if it has none or several.
dist::AccumulateOp findMicroBatches(mlir::func::FuncOp function);

/// True for the functions of a module that are split into stages.
bool isToBeSplit(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_STAGING_H
