//===- StageSplit.h - Where a local program can be split --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STAGES_STAGESPLIT_H
#define TESSERA_LIB_STAGES_STAGESPLIT_H

#include "StageAssignment.h"
#include "tessera/Interfaces/WorkTime.h"
#include "tessera/Schedule/SplitPoints.h"

namespace tessera {

/// A point of the forward at which a stage may begin.
struct SplitCandidate {
  /// The first op after it.
  mlir::Operation *op;
  /// Blocks of the model before it: whole ones, or a half more.
  double blocks;
};

/// The points at which the micro-batch of a program may be split.
struct SplitCandidates {
  /// In order: before each block of the model (parameters with a common number
  /// in their names), within each block and after the last one, there where the
  /// fewest bytes are alive nearby. Nothing is before the first, and nothing
  /// after the last, that is not of a block, if these are missing.
  llvm::SmallVector<SplitCandidate> points;
  /// Blocks of the model.
  int64_t blocks = 0;
};
SplitCandidates findSplitCandidates(dist::AccumulateOp op);

/// Seconds of the segments between the candidates and bytes that cross them:
/// matmuls by their operations and bytes, other ops by the bytes that fused
/// kernels move, collectives by the links of their mesh; which device it is is
/// not known, so that only their relation matters (WorkTime.h).
schedule::SplitProblem
makeSplitProblem(dist::AccumulateOp op,
                 llvm::ArrayRef<SplitCandidate> candidates, int stages);

/// What a device of the module's target does.
WorkRates getTargetRates(mlir::Operation *op);

/// Seconds of an op in a task, as above, ops in its regions included.
double getTaskSeconds(mlir::Operation *op, const WorkRates &rates);

/// Blocks of each stage, in halves; the starts of all stages but the first are
/// candidates, by number from 1.
std::vector<double> getStageLayers(const SplitCandidates &candidates,
                                   const schedule::SplitPoints &points);

/// The points that give stages these blocks; an error if there are none.
llvm::Expected<schedule::SplitPoints>
findSplitPoints(const SplitCandidates &candidates,
                llvm::ArrayRef<double> layers);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_STAGESPLIT_H
