//===- StageSplit.h - Split points of a local program -----------*- C++ -*-===//
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
  /// The first op after the point.
  mlir::Operation *op;
  /// Blocks of the model before the point: a multiple of one half.
  double blocks;
};

/// The points at which a program's micro-batch may be split.
struct SplitCandidates {
  /// Points in order: before each block of the model (parameters with a common
  /// number in their names), within each block and after the last one. Each is
  /// at the nearby position with the fewest bytes alive. The first or last
  /// point is missing if there are no ops before the first block or after the
  /// last one.
  llvm::SmallVector<SplitCandidate> points;
  /// Number of blocks of the model.
  int64_t blocks = 0;
};
SplitCandidates findSplitCandidates(dist::AccumulateOp op);

/// Seconds of the segments between the candidates, and the bytes that cross
/// these. Matmuls count by operations and bytes, other ops by the bytes that
/// fused kernels move, collectives by the links of their mesh. The device is
/// unknown, so only ratios are meaningful (WorkTime.h).
schedule::SplitProblem
makeSplitProblem(dist::AccumulateOp op,
                 llvm::ArrayRef<SplitCandidate> candidates, int stages);

/// The rates of a device of the module's target.
WorkRates getTargetRates(mlir::Operation *op);

/// Seconds of an op in a task, as above, including ops in its regions.
double getTaskSeconds(mlir::Operation *op, const WorkRates &rates);

/// Blocks of each stage, in halves. All stages but the first start at
/// candidates, by number from 1.
std::vector<double> getStageLayers(const SplitCandidates &candidates,
                                   const schedule::SplitPoints &points);

/// The points that give stages these blocks; fails if there are none.
llvm::Expected<schedule::SplitPoints>
findSplitPoints(const SplitCandidates &candidates,
                llvm::ArrayRef<double> layers);

} // namespace tessera

#endif // TESSERA_LIB_STAGES_STAGESPLIT_H
