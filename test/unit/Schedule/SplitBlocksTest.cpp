//===- SplitBlocksTest.cpp - Equal blocks on the stages of a pipeline -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/SplitBlocks.h"
#include "tessera/Schedule/Generators.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <functional>
#include <numeric>

using namespace tessera;
using namespace tessera::schedule;

namespace {

using Blocks = std::vector<double>;

ScheduleProblem problem(ScheduleKind kind, int ranks, int chunks) {
  auto made = makeProblem(kind, ranks, chunks, 4 * ranks);
  EXPECT_TRUE(bool(made)) << llvm::toString(made.takeError());
  return std::move(*made);
}

TEST(SplitBlocks, counts_what_else_a_stage_has) {
  ScheduleProblem p = problem(ScheduleKind::OneFOneB, 4, 1);
  EXPECT_EQ(splitBlocks(p, {0, 0, 0, 0}, 8, 1), (Blocks{2, 2, 2, 2}));
  // A head as long as two blocks.
  EXPECT_EQ(splitBlocks(p, {0, 0, 0, 2}, 10, 1), (Blocks{3, 3, 3, 1}));
  // A head longer than all blocks of another stage.
  EXPECT_EQ(splitBlocks(p, {0, 0, 0, 5}, 9, 1), (Blocks{3, 3, 3, 0}));
}

TEST(SplitBlocks, gives_what_is_left_to_later_stages) {
  ScheduleProblem p = problem(ScheduleKind::OneFOneB, 4, 1);
  EXPECT_EQ(splitBlocks(p, {1, 0, 0, 0}, 6, 1), (Blocks{0, 2, 2, 2}));
}

TEST(SplitBlocks, halves_blocks_where_that_helps) {
  ScheduleProblem p = problem(ScheduleKind::OneFOneB, 2, 1);
  EXPECT_EQ(splitBlocks(p, {0, 0}, 3, 1), (Blocks{1.5, 1.5}));
  EXPECT_EQ(splitBlocks(p, {0, 1}, 12, 1), (Blocks{6.5, 5.5}));
  // The times differ by less than 1 %: 100.5 and 101.
  EXPECT_EQ(splitBlocks(p, {0, 0}, 201, 1), (Blocks{100, 101}));
}

TEST(SplitBlocks, makes_ranks_of_several_stages_equal) {
  // Rank 0 has the first stage and the last.
  ScheduleProblem v = problem(ScheduleKind::ZeroBubbleV, 2, 2);
  EXPECT_EQ(splitBlocks(v, {0, 0, 0, 2}, 10, 1), (Blocks{3, 3, 3, 1}));
  EXPECT_EQ(splitBlocks(v, {0, 0, 0, 3}, 5, 1), (Blocks{1, 2, 2, 0}));
  // Two copies of the model: both ranks have both stages.
  ScheduleProblem dual = problem(ScheduleKind::DualPipe, 2, 1);
  EXPECT_EQ(splitBlocks(dual, {0, 2}, 6, 1), (Blocks{4, 2}));
}

/// No other counts of whole blocks have a shorter longest stage.
TEST(SplitBlocks, is_the_best_of_all_splits) {
  ScheduleProblem p = problem(ScheduleKind::OneFOneB, 4, 1);
  for (Blocks others : {Blocks{0.3, 0, 0, 2.7}, Blocks{3.1, 0, 0, 0.4},
                        Blocks{0, 0, 0, 0.1}, Blocks{1, 1, 1, 1}})
    for (int64_t blocks = 1; blocks <= 9; ++blocks) {
      auto longest = [&](const Blocks &counts) {
        double most = 0;
        for (size_t i = 0; i < counts.size(); ++i)
          most = std::max(most, others[i] + counts[i]);
        return most;
      };
      double best = 1e9;
      Blocks counts(4);
      std::function<void(size_t, int64_t)> tryAll = [&](size_t stage,
                                                        int64_t left) {
        if (stage == 3) {
          counts[3] = double(left);
          best = std::min(best, longest(counts));
          return;
        }
        for (int64_t count = 0; count <= left; ++count) {
          counts[stage] = double(count);
          tryAll(stage + 1, left - count);
        }
      };
      tryAll(0, blocks);
      Blocks found = splitBlocks(p, others, blocks, 1);
      EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0.0),
                double(blocks));
      // Half blocks may be better still.
      EXPECT_LE(longest(found), best + 1e-12);
    }
}

} // namespace
