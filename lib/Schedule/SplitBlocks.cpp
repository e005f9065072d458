//===- SplitBlocks.cpp - Equal blocks on the stages of a pipeline ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives one block after the other to the stage that is the shortest with it.
// Since blocks are equal, no other way makes the longest shorter.
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/SplitBlocks.h"
#include <algorithm>
#include <cassert>

using namespace tessera::schedule;

namespace {

class BlockSplitter {
public:
  BlockSplitter(const ScheduleProblem &problem, std::vector<double> others)
      : stages(std::move(others)), ranksOf(stages.size()),
        ranks(problem.ranks) {
    for (int rank = 0; rank < problem.ranks; ++rank)
      for (int chunk = 0; chunk < problem.chunks; ++chunk) {
        int stage = problem.stageOf({rank, chunk});
        ranksOf[stage].push_back(rank);
        ranks[rank] += stages[stage];
      }
  }

  /// Gives `blocks` blocks of `seconds` away; returns those of each stage.
  std::vector<int64_t> split(int64_t blocks, double seconds) {
    std::vector<int64_t> counts(stages.size());
    for (int64_t i = 0; i < blocks; ++i) {
      size_t stage = findShortest();
      ++counts[stage];
      stages[stage] += seconds;
      for (int rank : ranksOf[stage])
        ranks[rank] += seconds;
    }
    return counts;
  }

  double longestRank() const {
    return *std::max_element(ranks.begin(), ranks.end());
  }

private:
  /// The last of the shortest stages on the shortest ranks.
  size_t findShortest() const {
    size_t shortest = 0;
    std::pair<double, double> least;
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      double rank = 0;
      for (int each : ranksOf[stage])
        rank = std::max(rank, ranks[each]);
      std::pair seconds(rank, stages[stage]);
      if (stage == 0 || seconds <= least) {
        shortest = stage;
        least = seconds;
      }
    }
    return shortest;
  }

  /// Seconds of each stage.
  std::vector<double> stages;
  /// The ranks that have each stage: two where the model has two copies.
  std::vector<std::vector<int>> ranksOf;
  /// Seconds of each rank, all its stages together.
  std::vector<double> ranks;
};

} // namespace

std::vector<double>
tessera::schedule::splitBlocks(const ScheduleProblem &problem,
                               std::vector<double> others, int64_t blocks,
                               double seconds) {
  assert(others.size() == size_t(problem.stages()) && blocks >= 0);
  BlockSplitter whole(problem, others), half(problem, std::move(others));
  std::vector<int64_t> counts = whole.split(blocks, seconds);
  std::vector<int64_t> halves = half.split(2 * blocks, seconds / 2);
  double size = 1;
  if (half.longestRank() < 0.99 * whole.longestRank()) {
    counts = std::move(halves);
    size = 0.5;
  }
  std::vector<double> result;
  for (int64_t count : counts)
    result.push_back(size * double(count));
  return result;
}
