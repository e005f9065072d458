//===- ReshardSearch.h - A shortest way between two states ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A* over the states of a ReshardSpace. Equal inputs give equal ways: ties go
// to fewer steps, then to the first one found.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RESHARD_RESHARDSEARCH_H
#define TESSERA_LIB_RESHARD_RESHARDSEARCH_H

#include "ReshardSpace.h"
#include <limits>

namespace tessera {

struct ReshardWay {
  bool found = false;
  /// False if the search stopped before it proved that no way is shorter.
  bool complete = true;
  /// Seconds, plus a small cost per step.
  double length = 0;
  std::vector<ReshardSpace::Move> moves;
  /// The state after each move.
  std::vector<ReshardSpace::State> states;
};

struct ReshardSearchOptions {
  /// The most elements of a state.
  int64_t cap = std::numeric_limits<int64_t>::max();
  /// A step that must not be taken.
  const BannedStep *banned = nullptr;
  /// Weight of the remaining time relative to the time so far: above 1, a way
  /// is found sooner but need not be the shortest.
  double greed = 1;
  /// Only shorter ways count.
  double limit = std::numeric_limits<double>::infinity();
  /// The most moves before the search stops.
  size_t maxMoves = std::numeric_limits<size_t>::max();
};

/// The shortest way from `start` to the dimensions of `goal`, with no more
/// partial parts than `goal` has.
ReshardWay findWay(const ReshardSpace &space, const ReshardSpace::State &start,
                   const ReshardSpace::State &goal,
                   const ReshardSearchOptions &options);

} // namespace tessera

#endif // TESSERA_LIB_RESHARD_RESHARDSEARCH_H
