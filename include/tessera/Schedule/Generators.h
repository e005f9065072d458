//===- Generators.h - The known pipeline schedules --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the schedules that the literature knows by name. p ranks, m
// micro-batches, v chunks per rank; F, B, W: forward, input gradient, weight
// gradient of a stage with one micro-batch. docs/plan.md has the table of their
// bubbles and of the activations that they keep.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_GENERATORS_H
#define TESSERA_SCHEDULE_GENERATORS_H

#include "tessera/Schedule/Schedule.h"
#include "tessera/Schedule/Timing.h"
#include "tessera/Support/Plan.h"
#include "llvm/Support/Error.h"

namespace tessera::schedule {

/// All kinds, in their order.
llvm::ArrayRef<ScheduleKind> allScheduleKinds();

/// True if B and W are separate actions, so that an optimizer step that needs a
/// global norm must be validated afterwards for the schedule to keep its
/// bubble.
bool splitsBackward(ScheduleKind kind);

/// An error if a kind cannot schedule so many micro-batches on so many ranks.
llvm::Error checkMicroBatches(ScheduleKind kind, int ranks, int microBatches);

/// The problem that a kind solves. `chunks` matters to Interleaved only. An
/// error names the number that does not fit.
llvm::Expected<ScheduleProblem> makeProblem(ScheduleKind kind, int ranks,
                                            int chunks, int microBatches);

/// True if forwards of one chunk run beside backwards of another.
bool overlapsPairs(ScheduleKind kind);

/// Micro-batches of each round of Interleaved: as many rounds as have at least
/// `ranks` micro-batches, or one, of sizes that differ by at most one, the
/// larger first.
std::vector<int> interleavedRounds(int ranks, int microBatches);

/// What the automatic schedulers know.
struct AutoOptions {
  /// Seconds of one stage, the same on all ranks or, with several entries, of
  /// each; of a transfer between neighbours.
  std::vector<ChunkTimes> stages = {{1, 1, 1, -1}};
  double link = 0;
  /// Part of a micro-batch's activations that lives until W.
  double keptForWeightGrad = 1.0;
  /// Most activations alive on a rank, in micro-batches; 0: p for ZeroBubble1P,
  /// 2p for ZeroBubble2P.
  double limit = 0;
};

/// The schedule of a problem that makeProblem() gave, without transfers.
/// `options` has influence on ZeroBubble1P and ZeroBubble2P alone.
Schedule generate(ScheduleKind kind, const ScheduleProblem &problem,
                  const AutoOptions &options = {});

/// The best of the schedules that a list scheduler finds within a memory limit
/// (Qi et al. 2024, section 3.1): as many forwards as fit before the first
/// backward, then one backward and one forward in turn, and W where a rank
/// would wait or is out of memory. Its choices that may help or hurt are tried
/// both ways, and the schedule with the shortest span is taken. One chunk a
/// rank.
Schedule scheduleWithinMemory(const ScheduleProblem &problem,
                              const AutoOptions &options);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_GENERATORS_H
