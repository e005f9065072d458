//===- Generators.cpp - All schedules; GPipe, 1F1B, interleaved -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Generators.h"
#include "Kinds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using namespace tessera::schedule;

static constexpr ScheduleKind kKinds[] = {
#define TESSERA_SCHEDULE(kind, name, generator, placement, splits)             \
  ScheduleKind::kind,
#include "tessera/Plan/ScheduleKinds.def"
};
llvm::ArrayRef<ScheduleKind> tessera::schedule::allScheduleKinds() {
  return kKinds;
}

bool tessera::schedule::splitsBackward(ScheduleKind kind) {
  switch (kind) {
#define TESSERA_SCHEDULE(kind, name, generator, placement, splits)             \
  case ScheduleKind::kind:                                                     \
    return splits;
#include "tessera/Plan/ScheduleKinds.def"
  }
  llvm_unreachable("all kinds are in the table");
}

bool tessera::schedule::overlapsPairs(ScheduleKind kind) {
  return kind == ScheduleKind::DualPipe || kind == ScheduleKind::DualPipeV;
}

std::vector<int> tessera::schedule::interleavedRounds(int ranks,
                                                      int microBatches) {
  int rounds = std::max(1, microBatches / ranks);
  std::vector<int> sizes(rounds, microBatches / rounds);
  for (int i = 0; i < microBatches % rounds; ++i)
    ++sizes[i];
  return sizes;
}

/// The placement of chunks of a kind.
static Placement placementOf(ScheduleKind kind) {
  switch (kind) {
#define TESSERA_SCHEDULE(kind, name, generator, placement, splits)             \
  case ScheduleKind::kind:                                                     \
    return Placement::placement;
#include "tessera/Plan/ScheduleKinds.def"
  }
  llvm_unreachable("all kinds are in the table");
}

/// Checks the requirements of a kind beyond its placement.
llvm::Error tessera::schedule::checkMicroBatches(ScheduleKind kind, int p,
                                                 int m) {
  auto micro = [&](const std::string &what) {
    return llvm::createStringError("schedule " + stringify(kind).str() +
                                   " expects " + what + " but got " +
                                   std::to_string(m) + " micro-batches on " +
                                   std::to_string(p) + " stages");
  };
  // Numbers below 1 are reported elsewhere.
  if (p < 1 || m < 1)
    return llvm::Error::success();
  if (placementOf(kind) == Placement::Vee && m < 2 * p)
    return micro("at least two micro-batches per stage");
  if (kind == ScheduleKind::DualPipe && (p % 2 || m % 2 || m < 2 * p))
    return micro("even numbers of stages and micro-batches, at least two "
                 "micro-batches per stage,");
  return llvm::Error::success();
}

llvm::Expected<ScheduleProblem>
tessera::schedule::makeProblem(ScheduleKind kind, int ranks, int chunks,
                               int microBatches) {
  // The kind's own error is more specific than the general one, if both occur.
  if (llvm::Error error = checkMicroBatches(kind, ranks, microBatches))
    return std::move(error);
  Placement placement = placementOf(kind);
  if (placement != Placement::Loop)
    chunks = 2;
  else if (kind != ScheduleKind::Interleaved)
    chunks = 1;
  return ScheduleProblem::make(placement, ranks, chunks, microBatches);
}

Schedule tessera::schedule::makeGPipe(const ScheduleProblem &problem,
                                      const AutoOptions &) {
  Schedule schedule;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    RankBuilder builder(problem, rank);
    builder.repeat(problem.microBatches, [&] { builder.forward(); });
    builder.repeat(problem.microBatches, [&] { builder.backward(); });
    schedule.ranks.push_back(builder.take());
  }
  return schedule;
}

Schedule tessera::schedule::makeOneFOneB(const ScheduleProblem &problem,
                                         const AutoOptions &) {
  Schedule schedule;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    RankBuilder builder(problem, rank);
    builder.repeat(problem.ranks - 1 - rank, [&] { builder.forward(); });
    builder.repeat(problem.microBatches, [&] {
      builder.forward();
      builder.backward();
    });
    schedule.ranks.push_back(builder.take());
  }
  return schedule;
}

/// The micro-batches of a round go through the first chunk, then all through
/// the second, and so on; backwards go through the chunks from the last to the
/// first. A rank starts with just enough forwards for the first backward to
/// return to it without waiting, then alternates a forward and a backward.
/// Larger rounds come first: a later larger round would need more forwards
/// ahead than the first one left and would deadlock.
Schedule tessera::schedule::makeInterleaved(const ScheduleProblem &problem,
                                            const AutoOptions &) {
  int p = problem.ranks, v = problem.chunks, m = problem.microBatches;
  std::vector<int> rounds = interleavedRounds(p, m);
  std::vector<Action> forwards, backwards;
  int firstOfRound = 0;
  for (int size : rounds) {
    for (int chunk = 0; chunk < v; ++chunk)
      for (int i = firstOfRound; i < firstOfRound + size; ++i) {
        forwards.push_back({ActionKind::Forward, chunk, i});
        backwards.push_back({ActionKind::Backward, v - 1 - chunk, i});
      }
    firstOfRound += size;
  }
  size_t total = forwards.size();
  Schedule schedule;
  for (int rank = 0; rank < p; ++rank) {
    size_t warmUp =
        std::min<size_t>(total, 2 * (p - rank - 1) + (v - 1) * rounds.front());
    std::vector<Action> actions(forwards.begin(), forwards.begin() + warmUp);
    for (size_t k = 0; k < total; ++k) {
      if (k + warmUp < total)
        actions.push_back(forwards[k + warmUp]);
      actions.push_back(backwards[k]);
    }
    schedule.ranks.push_back(std::move(actions));
  }
  return schedule;
}

/// Schedules within memory for `microBatches` if no limit is given.
static Schedule makeZeroBubbleAuto(const ScheduleProblem &problem,
                                   AutoOptions options, double microBatches) {
  if (options.limit <= 0)
    options.limit = microBatches;
  return scheduleWithinMemory(problem, options);
}

Schedule tessera::schedule::makeZeroBubble1P(const ScheduleProblem &problem,
                                             const AutoOptions &options) {
  return makeZeroBubbleAuto(problem, options, problem.ranks);
}

Schedule tessera::schedule::makeZeroBubble2P(const ScheduleProblem &problem,
                                             const AutoOptions &options) {
  return makeZeroBubbleAuto(problem, options, 2.0 * problem.ranks);
}

Schedule tessera::schedule::generate(ScheduleKind kind,
                                     const ScheduleProblem &problem,
                                     const AutoOptions &options) {
  switch (kind) {
#define TESSERA_SCHEDULE(kind, name, generator, placement, splits)             \
  case ScheduleKind::kind:                                                     \
    return generator(problem, options);
#include "tessera/Plan/ScheduleKinds.def"
  }
  return {};
}
