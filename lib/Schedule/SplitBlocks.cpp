//===- SplitBlocks.cpp - Splits equal blocks among stages -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy: gives each block to the stage that is the shortest with it. Blocks
// are equal, so no other split has a shorter longest stage.
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/SplitBlocks.h"
#include <algorithm>
#include <cassert>
#include <queue>
#include <tuple>

using namespace tessera::schedule;

namespace {

/// Seconds of a stage or rank: without blocks, plus its blocks.
struct Load {
  double others = 0;
  int64_t blocks = 0;
  double seconds(double block) const {
    return others + static_cast<double>(blocks) * block;
  }
};

class BlockSplitter {
public:
  /// `block`: seconds of one block.
  BlockSplitter(const ScheduleProblem &problem,
                const std::vector<double> &others, double block)
      : block(block), stages(others.size()), ranksOf(others.size()),
        ranks(problem.ranks) {
    for (size_t stage = 0; stage < stages.size(); ++stage)
      stages[stage].others = others[stage];
    for (int rank = 0; rank < problem.ranks; ++rank)
      for (int chunk = 0; chunk < problem.chunks; ++chunk) {
        int stage = problem.stageOf({rank, chunk});
        (ranksOf[stage].first < 0 ? ranksOf[stage].first
                                  : ranksOf[stage].second) = rank;
        ranks[rank].others += others[stage];
      }
    assert(problem.numPaths() <= 2 && "expects at most two ranks for a stage");
  }

  void split(int64_t blocks) {
    // No stage gets more blocks than stages whose ranks have no other work, so
    // these get at least the average.
    int64_t average = blocks / static_cast<int64_t>(stages.size());
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      auto [first, second] = ranksOf[stage];
      if (ranks[first].others != 0 ||
          (second >= 0 && ranks[second].others != 0))
        continue;
      give(stage, average);
      blocks -= average;
    }
    // Loads only grow, so a stale entry comes too early and is pushed again.
    std::vector<Entry> entries;
    entries.reserve(stages.size());
    for (size_t stage = 0; stage < stages.size(); ++stage)
      entries.push_back(entryOf(stage));
    std::priority_queue<Entry> queue(std::less<Entry>(), std::move(entries));
    while (blocks > 0) {
      Entry entry = queue.top(), now = entryOf(entry.stage);
      queue.pop();
      if (!(now < entry)) {
        give(entry.stage, 1);
        --blocks;
        now = entryOf(entry.stage);
      }
      queue.push(now);
    }
  }

  double longestRank() const {
    double longest = 0;
    for (const Load &rank : ranks)
      longest = std::max(longest, rank.seconds(block));
    return longest;
  }

  /// Lower bound on the longest rank for any split of blocks.
  double averageRank() const {
    double sum = 0;
    for (const Load &rank : ranks)
      sum += rank.seconds(block);
    return sum / static_cast<double>(ranks.size());
  }

  /// Blocks of each stage, where a block here counts as `size` blocks.
  std::vector<double> counts(double size) const {
    std::vector<double> result;
    result.reserve(stages.size());
    for (const Load &stage : stages)
      result.push_back(size * static_cast<double>(stage.blocks));
    return result;
  }

private:
  /// Order: the shortest ranks first, then the shortest stages, then the last.
  struct Entry {
    double rank, seconds;
    size_t stage;
    bool operator<(const Entry &o) const {
      return std::tie(rank, seconds, o.stage) >
             std::tie(o.rank, o.seconds, stage);
    }
  };

  void give(size_t stage, int64_t blocks) {
    stages[stage].blocks += blocks;
    auto [first, second] = ranksOf[stage];
    ranks[first].blocks += blocks;
    if (second >= 0)
      ranks[second].blocks += blocks;
  }

  Entry entryOf(size_t stage) const {
    auto [first, second] = ranksOf[stage];
    double rank = std::max(0.0, ranks[first].seconds(block));
    if (second >= 0)
      rank = std::max(rank, ranks[second].seconds(block));
    return {rank, stages[stage].seconds(block), stage};
  }

  double block;
  std::vector<Load> stages;
  /// The rank of a stage, and its rank in the model's second copy; -1 if none.
  struct Owners {
    int first = -1, second = -1;
  };
  std::vector<Owners> ranksOf;
  /// The sum of each rank's stages.
  std::vector<Load> ranks;
};

} // namespace

std::vector<double>
tessera::schedule::splitBlocks(const ScheduleProblem &problem,
                               const std::vector<double> &others,
                               int64_t blocks, double seconds) {
  assert(others.size() == size_t(problem.stages()) && blocks >= 0);
  constexpr double kGain = 0.01;
  BlockSplitter whole(problem, others, seconds);
  whole.split(blocks);
  double most = (1 - kGain) * whole.longestRank();
  if (whole.averageRank() < most) {
    BlockSplitter half(problem, others, seconds / 2);
    half.split(2 * blocks);
    if (half.longestRank() < most)
      return half.counts(0.5);
  }
  return whole.counts(1);
}
