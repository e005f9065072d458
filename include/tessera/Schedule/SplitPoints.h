//===- SplitPoints.h - Splits a model into stages ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model is a chain of segments between the points at which it may be split.
// Stages are runs of segments. The step of a pipeline is about as long as its
// longest stage takes for all micro-batches, so the longest stage is minimized
// first; a search by makespan decides the rest, which depends on the schedule.
//
//     segments   embedding | attn | mlp | attn | mlp | head
//     seconds        1        2     3     2      3     4
//     two stages     1        2     3     2   ^  3     4     8 and 7, longest 8
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_SPLITPOINTS_H
#define TESSERA_SCHEDULE_SPLITPOINTS_H

#include "tessera/Schedule/Timing.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera::schedule {

/// The model to split.
struct SplitProblem {
  /// Bytes that cross a point with one micro-batch.
  struct Point {
    double activation = 0, gradient = 0;
    double bytes() const { return activation + gradient; }
  };
  /// Seconds of each segment with one micro-batch, in order of the forward.
  std::vector<ChunkTimes> segments;
  /// points[i] is between the segments i and i + 1.
  std::vector<Point> points;
  int stages = 1;

  /// Fails unless there are at least as many segments as stages, a point
  /// between any two segments, and nothing is negative.
  llvm::Error check() const;
};

/// The first segment of each stage but the first, ascending.
using SplitPoints = std::vector<int>;

/// Seconds of each stage.
std::vector<ChunkTimes> getStageTimes(const SplitProblem &problem,
                                      const SplitPoints &points);

/// The cost of a split without a schedule.
struct SplitCost {
  /// Seconds of the longest stage, F, B and W together.
  double longest = 0;
  /// Bytes sent with one micro-batch over all points.
  double bytes = 0;
};
SplitCost getSplitCost(const SplitProblem &problem, const SplitPoints &points);

/// The split whose longest stage is shortest, and among those the one that
/// sends the fewest bytes, by dynamic programming in time at most cubic in the
/// segments. Expects a problem that passes check().
SplitPoints minimizeLongest(const SplitProblem &problem);

/// Moves single points by one segment, and pairs of neighbours together, as
/// long as `price` falls: the best move each time, with at most `maxPrices`
/// calls of `price`.
SplitPoints improveSplit(const SplitProblem &problem, SplitPoints points,
                         llvm::function_ref<double(const SplitPoints &)> price,
                         int maxPrices = 1000);

/// Seconds of the tasks and links of a pipeline with this split; `linkSeconds`
/// gives the seconds of a transfer of `bytes`.
PipelineTimes
makePipelineTimes(const ScheduleProblem &pipeline, const SplitProblem &problem,
                  const SplitPoints &points,
                  llvm::function_ref<double(double bytes)> linkSeconds);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_SPLITPOINTS_H
