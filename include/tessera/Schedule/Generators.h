//===- Generators.h - The known pipeline schedules --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generates the schedules known from the literature. p ranks, m micro-batches,
// v chunks per rank; F, B, W: forward, input gradient, weight gradient of a
// stage with one micro-batch. docs/plan.md has the table of their bubbles and
// of the activations that they keep.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_GENERATORS_H
#define TESSERA_SCHEDULE_GENERATORS_H

#include "tessera/Plan/Plan.h"
#include "tessera/Schedule/Schedule.h"
#include "tessera/Schedule/Timing.h"
#include "llvm/Support/Error.h"

namespace tessera::schedule {

/// All kinds, in the order of the enum.
llvm::ArrayRef<ScheduleKind> allScheduleKinds();

/// True if B and W are separate actions, so that an optimizer step that needs a
/// global norm must be validated afterwards for the schedule to keep its
/// bubble.
bool splitsBackward(ScheduleKind kind);

/// Fails if a kind cannot schedule this many micro-batches on this many ranks.
llvm::Error checkMicroBatches(ScheduleKind kind, int ranks, int microBatches);

/// The problem that a kind solves. `chunks` matters only to Interleaved. Errors
/// name the number that does not fit.
llvm::Expected<ScheduleProblem> makeProblem(ScheduleKind kind, int ranks,
                                            int chunks, int microBatches);

/// True if forwards of one chunk overlap with backwards of another.
bool overlapsPairs(ScheduleKind kind);

/// Micro-batches of each round of Interleaved: as many rounds as can have at
/// least `ranks` micro-batches each, or one. Sizes differ by at most one, the
/// larger first.
std::vector<int> interleavedRounds(int ranks, int microBatches);

/// Inputs of the automatic schedulers.
struct AutoOptions {
  /// Seconds of one stage (the same on all ranks or, with several entries, one
  /// per rank), and of a transfer between neighbours.
  std::vector<ChunkTimes> stages = {{1, 1, 1, -1}};
  double link = 0;
  /// Share of a micro-batch's activations that lives until W.
  double keptForWeightGrad = 1.0;
  /// Most activations alive on a rank, in micro-batches; 0: p for ZeroBubble1P,
  /// 2p for ZeroBubble2P.
  double limit = 0;
};

/// The schedule of a problem from makeProblem(), without transfers. `options`
/// affects only ZeroBubble1P and ZeroBubble2P.
Schedule generate(ScheduleKind kind, const ScheduleProblem &problem,
                  const AutoOptions &options = {});

/// The best schedule that a list scheduler finds within a memory limit (Qi et
/// al. 2024, section 3.1): as many forwards as fit before the first backward,
/// then one backward and one forward in turn, and W when a rank would wait or
/// is out of memory. It tries both ways of its choices that may help or hurt,
/// and takes the schedule with the shortest span. Expects one chunk per rank.
Schedule scheduleWithinMemory(const ScheduleProblem &problem,
                              const AutoOptions &options);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_GENERATORS_H
