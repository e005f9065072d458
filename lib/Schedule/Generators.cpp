//===- Generators.cpp - GPipe, 1F1B, interleaved; names -------------------===//
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
    ScheduleKind::GPipe,        ScheduleKind::OneFOneB,
    ScheduleKind::Interleaved,  ScheduleKind::ZeroBubbleH1,
    ScheduleKind::ZeroBubbleH2, ScheduleKind::ZeroBubble1P,
    ScheduleKind::ZeroBubble2P, ScheduleKind::ZeroBubbleV,
    ScheduleKind::DualPipe};
llvm::ArrayRef<ScheduleKind> tessera::schedule::allScheduleKinds() {
  return kKinds;
}

bool tessera::schedule::splitsBackward(ScheduleKind kind) {
  return kind >= ScheduleKind::ZeroBubbleH1;
}

/// What a kind asks of the numbers beyond ScheduleProblem::check().
static llvm::Error checkKind(ScheduleKind kind,
                             const ScheduleProblem &problem) {
  int p = problem.ranks, m = problem.microBatches;
  auto micro = [&](const std::string &what) {
    return llvm::createStringError("schedule " + stringify(kind).str() +
                                   " expects " + what + " but got " +
                                   std::to_string(m) + " micro-batches on " +
                                   std::to_string(p) + " stages");
  };
  if (kind == ScheduleKind::Interleaved && m % p)
    return micro("micro-batches to be a multiple of the stages");
  if (kind == ScheduleKind::ZeroBubbleV && m < 2 * p)
    return micro("at least two micro-batches a stage");
  if (kind == ScheduleKind::DualPipe && (p % 2 || m % 2 || m < 2 * p))
    return micro("even numbers of stages and micro-batches, at least two "
                 "micro-batches a stage,");
  return llvm::Error::success();
}

llvm::Expected<ScheduleProblem>
tessera::schedule::makeProblem(ScheduleKind kind, int ranks, int chunks,
                               int microBatches) {
  ScheduleProblem problem;
  problem.ranks = ranks;
  problem.microBatches = microBatches;
  switch (kind) {
  case ScheduleKind::Interleaved:
    problem.chunks = chunks;
    break;
  case ScheduleKind::ZeroBubbleV:
    problem.chunks = 2;
    problem.placement = Placement::Vee;
    break;
  case ScheduleKind::DualPipe:
    problem.chunks = 2;
    problem.placement = Placement::Bidirectional;
    break;
  default:
    break;
  }
  // The kind's own rule says more than the general one, where both fail.
  if (ranks >= 1 && microBatches >= 1)
    if (llvm::Error error = checkKind(kind, problem))
      return std::move(error);
  if (llvm::Error error = problem.check())
    return std::move(error);
  return problem;
}

namespace {

Schedule makeGPipe(const ScheduleProblem &problem) {
  Schedule schedule;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    RankBuilder builder(problem);
    builder.repeat(problem.microBatches, [&] { builder.forward(); });
    builder.repeat(problem.microBatches, [&] { builder.backward(); });
    schedule.ranks.push_back(builder.take());
  }
  return schedule;
}

Schedule makeOneFOneB(const ScheduleProblem &problem) {
  Schedule schedule;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    RankBuilder builder(problem);
    builder.repeat(problem.ranks - 1 - rank, [&] { builder.forward(); });
    builder.repeat(problem.microBatches, [&] {
      builder.forward();
      builder.backward();
    });
    schedule.ranks.push_back(builder.take());
  }
  return schedule;
}

/// The k-th forward of a rank is of group k / (p v): p micro-batches, which go
/// through the first chunk, then all through the second, and so on. Backwards
/// go through the chunks from the last to the first.
Schedule makeInterleaved(const ScheduleProblem &problem) {
  int p = problem.ranks, v = problem.chunks, m = problem.microBatches;
  int total = m * v;
  auto action = [&](ActionKind kind, int k) {
    int chunk = k % (p * v) / p;
    if (kind == ActionKind::Backward)
      chunk = v - 1 - chunk;
    return Action{kind, chunk, k / (p * v) * p + k % p};
  };
  Schedule schedule;
  for (int rank = 0; rank < p; ++rank) {
    int warmUp = std::min(total, 2 * (p - rank - 1) + (v - 1) * p);
    std::vector<Action> actions;
    for (int k = 0; k < warmUp; ++k)
      actions.push_back(action(ActionKind::Forward, k));
    for (int k = 0; k < total; ++k) {
      if (k + warmUp < total)
        actions.push_back(action(ActionKind::Forward, k + warmUp));
      actions.push_back(action(ActionKind::Backward, k));
    }
    schedule.ranks.push_back(std::move(actions));
  }
  return schedule;
}

} // namespace

Schedule tessera::schedule::generate(ScheduleKind kind,
                                     const ScheduleProblem &problem,
                                     const AutoOptions &options) {
  AutoOptions limited = options;
  switch (kind) {
  case ScheduleKind::GPipe:
    return makeGPipe(problem);
  case ScheduleKind::OneFOneB:
    return makeOneFOneB(problem);
  case ScheduleKind::Interleaved:
    return makeInterleaved(problem);
  case ScheduleKind::ZeroBubbleH1:
    return makeZeroBubbleH(problem, 1);
  case ScheduleKind::ZeroBubbleH2:
    return makeZeroBubbleH(problem, 2);
  case ScheduleKind::ZeroBubble1P:
  case ScheduleKind::ZeroBubble2P:
    if (limited.limit <= 0)
      limited.limit =
          problem.ranks * (kind == ScheduleKind::ZeroBubble1P ? 1 : 2);
    return scheduleWithinMemory(problem, limited);
  case ScheduleKind::ZeroBubbleV:
    return makeZeroBubbleV(problem);
  case ScheduleKind::DualPipe:
    return makeDualPipe(problem);
  }
  return {};
}
