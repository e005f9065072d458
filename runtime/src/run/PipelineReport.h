//===- PipelineReport.h - Idle time of a pipeline ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bubble of a pipeline, 1 - longest busy time of a rank / time of its
// lists, computed from the stamps of the last step. It is given as measured,
// and as replayed with the median time for each task and no time for transfers.
// The predicted and the replayed bubble differ by the times of tasks; the
// replayed and the measured one differ by transfers and by variation of the
// tasks' times.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_PIPELINEREPORT_H
#define TESSERA_RT_SRC_PIPELINEREPORT_H

#include "data/Manifest.h"
#include "ranks/Context.h"

namespace tessera::rt {

/// The stamps of each rank.
using Stamps = std::vector<std::vector<Stamp>>;

/// Returns the stamps of the last step; empty if lists are not stamped. Other
/// ranks must not run a step meanwhile.
Stamps collectStamps(tessera_rt_context *ctx);

/// The rank of `peer`, a coordinate of the stage axis, in the group of `rank`.
int getPeerRank(const StridedAxis &stageAxis, int rank, int peer);

/// Times of lists, in seconds.
struct ListTiming {
  /// Time from the start of the first task on any rank to the end of the last.
  double makespan = 0;
  /// Busy time in tasks, by rank.
  std::vector<double> busy;

  /// The bubble; NaN without tasks.
  double bubble() const;
};

ListTiming measureLists(const Stamps &stamps);

/// Replays the lists, with the median time of each function on its rank for its
/// tasks. A value arrives `link` seconds after it was sent, with any number of
/// buffers; the compiler's schedule::CompiledSchedule::simulate() gives the
/// same result. Returns no tasks if the lists do not end.
ListTiming replayLists(const Stamps &stamps, const StridedAxis &stageAxis,
                       double link);

struct PipelineReport {
  ListTiming fromTasks, measured;
  /// The pp rank that was busy longest; -1: nothing was measured.
  int slowest = -1;
};

PipelineReport reportPipeline(const Stamps &stamps, const Manifest &manifest,
                              double link);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_PIPELINEREPORT_H
