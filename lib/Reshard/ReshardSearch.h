//===- ReshardSearch.h - A shortest way between two states ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A* over the states of a ReshardSpace. Equal inputs give equal ways: ties go
// to fewer steps, then to what was found first.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RESHARD_RESHARDSEARCH_H
#define TESSERA_LIB_RESHARD_RESHARDSEARCH_H

#include "ReshardSpace.h"
#include <limits>

namespace tessera {

struct ReshardWay {
  bool found = false;
  /// False where the search stopped before it knew that there is no shorter
  /// way.
  bool complete = true;
  /// Seconds, and a little for each step.
  double length = 0;
  std::vector<ReshardSpace::Move> moves;
  /// States after each move.
  std::vector<ReshardSpace::State> states;
};

struct ReshardSearchOptions {
  /// No state is larger than this, in elements.
  int64_t cap = std::numeric_limits<int64_t>::max();
  /// A step that may not be taken.
  const BannedStep *banned = nullptr;
  /// How much more the time that is left counts than that so far: with more
  /// than 1 a way is found soon but need not be the shortest.
  double greed = 1;
  /// Only ways that are shorter.
  double limit = std::numeric_limits<double>::infinity();
  /// Moves looked at after which the search stops.
  size_t maxMoves = std::numeric_limits<size_t>::max();
};

/// The shortest way from `start` to the dimensions of `goal`, with no more
/// partial parts than it has.
ReshardWay findWay(const ReshardSpace &space, const ReshardSpace::State &start,
                   const ReshardSpace::State &goal,
                   const ReshardSearchOptions &options);

} // namespace tessera

#endif // TESSERA_LIB_RESHARD_RESHARDSEARCH_H
