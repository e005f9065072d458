//===- ListScheduler.cpp - Zero-bubble schedules within a memory limit ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank chooses its next action whenever it is free. The rank whose next
// action starts first is served first, so that the actions started by others
// are known.
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Generators.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace tessera;
using namespace tessera::schedule;

namespace {

/// Options that may help or hurt.
struct Choices {
  /// Before its first backward, a rank with memory for another forward takes it
  /// even if that delays the backward.
  bool fillMemory;
  /// A rank does a weight gradient in a gap that is too short for it, if it has
  /// waited longer than all others.
  bool fillShortGaps;
};

class ListScheduler {
public:
  ListScheduler(const ScheduleProblem &problem, const AutoOptions &options,
                Choices choices)
      : p(problem.ranks), m(problem.microBatches), options(options),
        choices(choices), states(p), forwardEnd(size_t(p) * m, kNever),
        gradEnd(forwardEnd) {}

  /// Fills `schedule`; returns the longest span of any rank in seconds.
  double run(Schedule &schedule);

private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  struct State {
    double now = 0, first = -1, idle = 0;
    int forwards = 0, inputGrads = 0, weightGrads = 0;
    /// Live activations, in micro-batches.
    double live = 0;
    bool lastWasForward = false;
  };
  struct Decision {
    ActionKind kind;
    double start;
  };

  const ChunkTimes &times(int rank) const {
    return options.stages[options.stages.size() == 1 ? 0 : rank];
  }
  /// The times when the operands of the next forward, or backward, arrive;
  /// never if that is unknown yet or none is left.
  double forwardArrival(int rank) const;
  double gradArrival(int rank) const;
  /// False if a rank cannot know its next action yet.
  bool decide(int rank, Decision &decision) const;
  bool decideFirst(int rank, Decision &decision) const;
  void apply(int rank, const Decision &decision, std::vector<Action> &actions);

  int p, m;
  const AutoOptions &options;
  Choices choices;
  std::vector<State> states;
  /// End times of rank r and micro-batch i, at r * m + i.
  std::vector<double> forwardEnd, gradEnd;
  double maxIdle = 0;
};

double ListScheduler::forwardArrival(int rank) const {
  int i = states[rank].forwards;
  if (i == m)
    return kNever;
  return rank == 0 ? 0.0 : forwardEnd[size_t(rank - 1) * m + i] + options.link;
}

double ListScheduler::gradArrival(int rank) const {
  int i = states[rank].inputGrads;
  if (i == m)
    return kNever;
  return rank == p - 1 ? forwardEnd[size_t(rank) * m + i]
                       : gradEnd[size_t(rank + 1) * m + i] + options.link;
}

/// Decides before the first backward.
bool ListScheduler::decideFirst(int rank, Decision &decision) const {
  const State &s = states[rank];
  double forward = std::max(forwardArrival(rank), s.now);
  double grad = std::max(gradArrival(rank), s.now);
  bool fits = s.live + 1 <= options.limit + 1e-9;
  double latest = grad - (choices.fillMemory ? 0 : times(rank).forward);
  if (fits && forward < kNever && forward < latest) {
    decision = {ActionKind::Forward, forward};
    return true;
  }
  decision = {ActionKind::InputGrad, grad};
  return grad < kNever;
}

bool ListScheduler::decide(int rank, Decision &decision) const {
  const State &s = states[rank];
  bool hasWeightGrad = s.weightGrads < s.inputGrads;
  if (s.inputGrads == m) {
    decision = {ActionKind::WeightGrad, s.now};
    return hasWeightGrad;
  }
  if (s.inputGrads == 0)
    return decideFirst(rank, decision);

  constexpr double kTolerance = 1e-9;
  bool fits = s.live + 1 <= options.limit + kTolerance;
  double forward = fits ? std::max(forwardArrival(rank), s.now) : kNever;
  double grad = std::max(gradArrival(rank), s.now);
  double unit = times(rank).forward + times(rank).inputGrad;
  bool gradFirst = s.lastWasForward || s.forwards == m || !fits;
  // Alternates backwards and forwards; an action that can start at once goes
  // first.
  double preferred = gradFirst ? grad : forward;
  double other = gradFirst ? forward : grad;
  bool takeOther = preferred > s.now + kTolerance * unit && other < preferred;
  bool takeGrad = gradFirst != takeOther;
  double start = takeOther ? other : preferred;
  if (hasWeightGrad && start > s.now + kTolerance * unit) {
    double gap = start - s.now;
    bool fillsGap = gap >= times(rank).weightGrad * (1 - kTolerance);
    // Only a weight gradient frees memory for the forward that others wait for.
    bool makesRoom = !fits && s.forwards < m && s.inputGrads == s.forwards;
    bool waitedMost =
        choices.fillShortGaps && s.idle + gap >= maxIdle - kTolerance * unit;
    if (fillsGap || makesRoom || waitedMost) {
      decision = {ActionKind::WeightGrad, s.now};
      return true;
    }
  }
  decision = {takeGrad ? ActionKind::InputGrad : ActionKind::Forward, start};
  return start < kNever;
}

void ListScheduler::apply(int rank, const Decision &decision,
                          std::vector<Action> &actions) {
  State &s = states[rank];
  const ChunkTimes &t = times(rank);
  if (s.first < 0)
    s.first = decision.start;
  else
    s.idle += decision.start - s.now;
  maxIdle = std::max(maxIdle, s.idle);
  switch (decision.kind) {
  case ActionKind::Forward:
    s.now = decision.start + t.forward;
    s.live += 1;
    s.lastWasForward = true;
    actions.push_back({decision.kind, 0, s.forwards});
    forwardEnd[size_t(rank) * m + s.forwards++] = s.now;
    break;
  case ActionKind::InputGrad:
    s.now = decision.start + t.inputGrad;
    s.live -= 1 - options.keptForWeightGrad;
    s.lastWasForward = false;
    actions.push_back({decision.kind, 0, s.inputGrads});
    gradEnd[size_t(rank) * m + s.inputGrads++] = s.now;
    break;
  default:
    s.now = decision.start + t.weightGrad;
    s.live -= options.keptForWeightGrad;
    actions.push_back({decision.kind, 0, s.weightGrads++});
    break;
  }
}

double ListScheduler::run(Schedule &schedule) {
  schedule.ranks.assign(p, {});
  // A rank's decision depends on its neighbors and, for gaps, on how long
  // others have waited; so all ranks decide again each time.
  for (int done = 0; done < 3 * m * p; ++done) {
    int best = -1;
    Decision bestDecision{};
    for (int rank = 0; rank < p; ++rank) {
      Decision decision;
      if (states[rank].weightGrads == m || !decide(rank, decision))
        continue;
      if (best < 0 || decision.start < bestDecision.start) {
        best = rank;
        bestDecision = decision;
      }
    }
    if (best < 0)
      return kNever;
    apply(best, bestDecision, schedule.ranks[best]);
  }
  double span = 0;
  for (const State &state : states)
    span = std::max(span, state.now - state.first);
  return span;
}

} // namespace

Schedule tessera::schedule::scheduleWithinMemory(const ScheduleProblem &problem,
                                                 const AutoOptions &options) {
  Schedule best;
  double bestSpan = std::numeric_limits<double>::infinity();
  for (bool fillMemory : {false, true})
    for (bool fillShortGaps : {false, true}) {
      Schedule schedule;
      ListScheduler scheduler(problem, options, {fillMemory, fillShortGaps});
      double span = scheduler.run(schedule);
      if (best.ranks.empty() || span < bestSpan) {
        best = std::move(schedule);
        bestSpan = span;
      }
    }
  return best;
}
