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
  /// The stages of the micro-batches of a local function: of its one
  /// dist.accumulate, whose ops without use are removed. A failure, with an
  /// error, if it has none or several or if the plan does not suit it.
  static mlir::FailureOr<Staging> make(mlir::func::FuncOp function,
                                       const Plan &plan);

  dist::AccumulateOp getAccumulate() const { return accumulate; }
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
  Staging(dist::AccumulateOp accumulate, const Plan &plan)
      : accumulate(accumulate),
        isTrained(findBackward(accumulate.getBody().front())), plan(plan),
        candidates(findSplitCandidates(accumulate)) {}

  llvm::Error makeLists();
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

/// True for the functions of a module that are split into stages.
bool isToBeSplit(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_STAGING_H
