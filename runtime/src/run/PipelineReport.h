//===- PipelineReport.h - How long a pipeline waits -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bubble of a pipeline, 1 - longest busy time of a rank / time of its
// lists, by the stamps of the last step: as it was, and as it would have been
// had each task taken the median of its times and transfers none. What is
// predicted and the latter differ by the times of tasks; the latter and what
// was measured, by transfers and by tasks that did not take equally long.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_PIPELINEREPORT_H
#define TESSERA_RT_SRC_PIPELINEREPORT_H

#include "data/Manifest.h"
#include "ranks/Context.h"

namespace tessera::rt {

/// The stamps of each rank.
using Stamps = std::vector<std::vector<Stamp>>;

/// Those of the last step; empty where lists are not stamped. Other ranks must
/// not run a step meanwhile.
Stamps collectStamps(tessera_rt_context *ctx);

/// The rank of `peer`, a coordinate of the stage axis, in the group of `rank`.
int getPeerRank(const StridedAxis &stageAxis, int rank, int peer);

/// When lists worked, in seconds.
struct ListTiming {
  /// From the first task of any rank to the end of the last.
  double makespan = 0;
  /// Of tasks, by rank.
  std::vector<double> busy;

  /// NaN without tasks.
  double bubble() const;
};

ListTiming measureLists(const Stamps &stamps);

/// Runs the lists anew, where each task takes the median of the times that its
/// function took on its rank. A value arrives `link` seconds after it was sent,
/// with any number of buffers: schedule::CompiledSchedule::simulate() of the
/// compiler gives the same. No tasks at all if the lists do not end.
ListTiming replayLists(const Stamps &stamps, const StridedAxis &stageAxis,
                       double link);

struct PipelineReport {
  ListTiming fromTasks, measured;
  /// The pp rank that worked longest; -1: nothing was measured.
  int slowest = -1;
};

PipelineReport reportPipeline(const Stamps &stamps, const Manifest &manifest,
                              double link);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_PIPELINEREPORT_H
