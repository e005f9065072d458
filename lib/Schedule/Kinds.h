//===- Kinds.h - Declarations of the generators -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SCHEDULE_KINDS_H
#define TESSERA_LIB_SCHEDULE_KINDS_H

#include "tessera/Schedule/Generators.h"
#include <array>
#include <deque>

namespace tessera::schedule {

/// Appends a rank's actions by kind; each chunk takes its micro-batches in
/// order. Does nothing once a chunk has no micro-batches left.
class RankBuilder {
public:
  RankBuilder(const ScheduleProblem &problem, int rank)
      : problem(problem), rank(rank) {}

  template <typename Body> void repeat(int times, Body body) {
    for (int i = 0; i < times; ++i)
      body();
  }
  void forward(int chunk = 0) { add(ActionKind::Forward, forwards, chunk); }
  void backward(int chunk = 0) { add(ActionKind::Backward, backwards, chunk); }
  /// Appends B, and leaves its W for later.
  void inputGrad(int chunk = 0) {
    if (add(ActionKind::InputGrad, backwards, chunk))
      owed.push_back(actions.back());
  }
  /// Appends the oldest remaining W.
  void weightGrad() {
    if (owed.empty())
      return;
    Action action = owed.front();
    owed.pop_front();
    action.kind = ActionKind::WeightGrad;
    actions.push_back(action);
  }
  /// Appends the oldest remaining W of one chunk.
  void weightGrad(int chunk) {
    for (auto it = owed.begin(); it != owed.end(); ++it) {
      if (it->chunk != chunk)
        continue;
      actions.push_back({ActionKind::WeightGrad, chunk, it->microBatch});
      owed.erase(it);
      return;
    }
  }
  /// Appends the forward of one chunk, overlapped with the backward of another.
  void overlapped(int forwardChunk, int backwardChunk) {
    Action action{ActionKind::Overlapped, forwardChunk,
                  number(forwardChunk, forwards[forwardChunk]++), backwardChunk,
                  number(backwardChunk, backwards[backwardChunk]++)};
    actions.push_back(action);
  }

  int numForwards(int chunk = 0) const { return forwards[chunk]; }
  size_t numOwed() const { return owed.size(); }
  std::vector<Action> take() { return std::move(actions); }

private:
  /// The k-th micro-batch of a chunk.
  int number(int chunk, int k) const {
    return k + problem.firstMicroBatchOf({rank, chunk});
  }
  bool add(ActionKind kind, std::array<int, 2> &counts, int chunk) {
    if (counts[chunk] >= problem.microBatchesOf())
      return false;
    actions.push_back({kind, chunk, number(chunk, counts[chunk]++)});
    return true;
  }

  const ScheduleProblem &problem;
  int rank;
  std::vector<Action> actions;
  std::array<int, 2> forwards{}, backwards{};
  std::deque<Action> owed;
};

/// The generators of ScheduleKinds.def. Only ZeroBubble1P and ZeroBubble2P read
/// the options.
#define TESSERA_SCHEDULE(kind, name, generator, placement, splits)             \
  Schedule generator(const ScheduleProblem &problem,                           \
                     const AutoOptions &options);
#include "tessera/Plan/ScheduleKinds.def"

} // namespace tessera::schedule

#endif // TESSERA_LIB_SCHEDULE_KINDS_H
