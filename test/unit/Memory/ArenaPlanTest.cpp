//===- ArenaPlanTest.cpp - Offsets for blocks with lifetimes --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Memory/ArenaPlan.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <numeric>
#include <random>

using namespace tessera;

namespace {

/// The smallest possible arena: tries every order of blocks, each at the lowest
/// offset at which it fits. Some order gives each left-justified plan, and one
/// of these is optimal.
int64_t smallestArena(const ArenaProblem &problem) {
  llvm::SmallVector<unsigned> order(problem.blocks.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    llvm::SmallVector<int64_t> offsets(order.size(), -1);
    int64_t bytes = 0;
    for (unsigned number : order) {
      const ArenaBlock &block = problem.blocks[number];
      int64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (unsigned other = 0; other < order.size(); ++other) {
          const ArenaBlock &o = problem.blocks[other];
          if (offsets[other] < 0 || !o.livesWith(block) ||
              at >= offsets[other] + o.bytes ||
              offsets[other] >= at + block.bytes)
            continue;
          at = llvm::alignTo(offsets[other] + o.bytes, problem.alignment);
          moved = true;
        }
      }
      offsets[number] = at;
      bytes = std::max<int64_t>(
          bytes, llvm::alignTo(at + block.bytes, problem.alignment));
    }
    best = std::min(best, bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// Places each block, in the given order, into the tightest gap between all
/// earlier blocks whose lifetimes overlap with it.
ArenaPlan scanInOrder(const ArenaProblem &problem,
                      llvm::ArrayRef<unsigned> order) {
  ArenaPlan plan;
  plan.offsets.resize(problem.blocks.size(), 0);
  std::vector<unsigned> placed;
  for (unsigned number : order) {
    const ArenaBlock &block = problem.blocks[number];
    std::sort(placed.begin(), placed.end(), [&](unsigned a, unsigned b) {
      return plan.offsets[a] < plan.offsets[b];
    });
    int64_t end = 0, best = -1, bestGap = 0;
    for (unsigned other : placed) {
      if (!problem.blocks[other].livesWith(block))
        continue;
      int64_t gap = plan.offsets[other] - end;
      if (gap >= block.bytes && (best < 0 || gap < bestGap)) {
        best = end;
        bestGap = gap;
      }
      end = std::max<int64_t>(
          end, llvm::alignTo(plan.offsets[other] + problem.blocks[other].bytes,
                             problem.alignment));
    }
    plan.offsets[number] = best < 0 ? end : best;
    plan.bytes = std::max<int64_t>(
        plan.bytes,
        llvm::alignTo(plan.offsets[number] + block.bytes, problem.alignment));
    placed.push_back(number);
  }
  return plan;
}

/// The first plan with the least memory among the orders by size, area, begin
/// and length.
ArenaPlan scanAllOrders(const ArenaProblem &problem) {
  std::vector<unsigned> order(problem.blocks.size());
  std::optional<ArenaPlan> best;
  auto tryOrder = [&](auto key) {
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
      return std::pair(key(problem.blocks[a]), a) <
             std::pair(key(problem.blocks[b]), b);
    });
    ArenaPlan plan = scanInOrder(problem, order);
    if (!best || plan.bytes < best->bytes)
      best = plan;
  };
  tryOrder([](const ArenaBlock &b) { return -b.bytes; });
  tryOrder(
      [](const ArenaBlock &b) { return -b.bytes * (b.end - b.begin + 1); });
  tryOrder([](const ArenaBlock &b) { return b.begin; });
  tryOrder([](const ArenaBlock &b) { return b.begin - b.end; });
  return *best;
}

TEST(ArenaPlan, no_blocks_need_no_arena) {
  ArenaPlan plan = planArena({});
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_TRUE(plan.offsets.empty());
}

TEST(ArenaPlan, blocks_of_different_times_share_an_offset) {
  ArenaProblem problem{{{128, 0, 1}, {128, 2, 3}}, 64};
  ArenaPlan plan = planArena(problem);
  EXPECT_EQ(plan.bytes, 128);
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
}

TEST(ArenaPlan, both_ends_of_a_lifetime_count) {
  // In step 1 an op reads one and writes the other.
  ArenaProblem problem{{{128, 0, 1}, {128, 1, 2}}, 64};
  EXPECT_EQ(planArena(problem).bytes, 256);
}

TEST(ArenaPlan, offsets_are_aligned) {
  ArenaProblem problem{{{1, 0, 0}, {65, 0, 0}, {3, 0, 0}}, 64};
  ArenaPlan plan = planArena(problem);
  EXPECT_EQ(llvm::toString(plan.verify(problem)), "");
  EXPECT_EQ(plan.bytes, 64 + 128 + 64);
}

TEST(ArenaPlan, a_gap_is_used) {
  // The long block splits the arena; the last one fits at the first one's
  // offset.
  ArenaProblem problem{{{256, 0, 1}, {64, 0, 9}, {256, 3, 4}, {128, 3, 4}}, 64};
  ArenaPlan plan = planArena(problem);
  EXPECT_EQ(llvm::toString(plan.verify(problem)), "");
  EXPECT_EQ(plan.bytes, problem.lowerBound());
}

TEST(ArenaPlan, lower_bound_names_its_step) {
  ArenaProblem problem{{{64, 0, 2}, {64, 2, 4}, {64, 4, 5}, {64, 4, 4}}, 64};
  int64_t step = -1;
  EXPECT_EQ(problem.lowerBound(&step), 192);
  EXPECT_EQ(step, 4);
}

TEST(ArenaPlan, small_cases_are_near_the_optimum) {
  std::mt19937 random(1);
  double ratios = 0;
  const int cases = 200;
  for (int i = 0; i < cases; ++i) {
    ArenaProblem problem;
    problem.alignment = 8;
    for (int b = 0; b < 6; ++b) {
      int64_t begin = random() % 6;
      problem.blocks.push_back(
          {int64_t(1 + random() % 100), begin, begin + int64_t(random() % 4)});
    }
    ArenaPlan plan = planArena(problem);
    ASSERT_EQ(llvm::toString(plan.verify(problem)), "");
    int64_t best = smallestArena(problem);
    ASSERT_GE(best, problem.lowerBound());
    ASSERT_GE(plan.bytes, best);
    ASSERT_LE(plan.bytes, best * 5 / 4) << "case " << i;
    ratios += double(plan.bytes) / double(best);
  }
  EXPECT_LT(ratios / cases, 1.01);
}

TEST(ArenaPlan, offsets_are_those_of_a_scan_of_all_blocks) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    ArenaProblem problem;
    problem.alignment = 1 << random() % 5;
    unsigned numBlocks = 1 + random() % 80, numSteps = 1 + random() % 100;
    for (unsigned b = 0; b < numBlocks; ++b) {
      // Also tests steps in which nothing begins.
      int64_t begin = int64_t(random() % numSteps) * 3 - 7;
      int64_t length = random() % (random() % 4 ? 6 : 3 * numSteps);
      problem.blocks.push_back(
          {int64_t(1 + random() % 50), begin, begin + length});
    }
    ArenaPlan plan = planArena(problem), scanned = scanAllOrders(problem);
    ASSERT_EQ(llvm::toString(plan.verify(problem)), "");
    ASSERT_EQ(plan.bytes, scanned.bytes) << "case " << i;
    ASSERT_EQ(plan.offsets, scanned.offsets) << "case " << i;
  }
}

/// Frames of three sizes, whose lifetimes overlap as in a zero-bubble schedule,
/// between the scratch of tasks.
TEST(ArenaPlan, frames_of_a_pipeline_leave_few_gaps) {
  const int64_t forward[] = {1, 3, 5, 8, 13, 21, 25, 30},
                inputGrad[] = {10, 16, 18, 19, 27, 32, 35, 39},
                weightGrad[] = {11, 20, 23, 28, 34, 36, 38, 40};
  ArenaProblem problem;
  problem.alignment = 1;
  problem.blocks.push_back({327, 0, 50});
  for (int i = 0; i < 10; ++i)
    problem.blocks.push_back({141, 0, 50});
  for (int i = 0; i < 8; ++i) {
    problem.blocks.push_back({1706, forward[i], inputGrad[i]});
    problem.blocks.push_back({998, forward[i], weightGrad[i]});
    problem.blocks.push_back({1745, inputGrad[i], weightGrad[i]});
    problem.blocks.push_back({128, inputGrad[i], inputGrad[i]});
    problem.blocks.push_back({1415, weightGrad[i], weightGrad[i]});
  }
  ArenaPlan plan = planArena(problem, /*searches=*/true);
  EXPECT_EQ(llvm::toString(plan.verify(problem)), "");
  auto bound = double(problem.lowerBound());
  EXPECT_GT(double(planArena(problem).bytes), 1.1 * bound);
  EXPECT_LE(double(plan.bytes), 1.05 * bound);
}

TEST(ArenaPlan, verify_finds_each_overlap) {
  std::mt19937 random(4);
  int wrong = 0;
  for (int i = 0; i < 2000; ++i) {
    ArenaProblem problem;
    ArenaPlan plan;
    problem.alignment = 1;
    plan.bytes = 1000;
    for (int b = 0; b < 6; ++b) {
      int64_t begin = random() % 9;
      problem.blocks.push_back(
          {int64_t(random() % 12), begin, begin + int64_t(random() % 4)});
      plan.offsets.push_back(random() % 40);
    }
    bool overlaps = false;
    for (int a = 0; a < 6; ++a)
      for (int b = 0; b < a; ++b)
        overlaps |=
            problem.blocks[a].livesWith(problem.blocks[b]) &&
            problem.blocks[a].bytes && problem.blocks[b].bytes &&
            plan.offsets[a] < plan.offsets[b] + problem.blocks[b].bytes &&
            plan.offsets[b] < plan.offsets[a] + problem.blocks[a].bytes;
    wrong += overlaps;
    ASSERT_EQ(llvm::errorToBool(plan.verify(problem)), overlaps)
        << "case " << i;
  }
  // Both kinds occur.
  EXPECT_GT(wrong, 200);
  EXPECT_LT(wrong, 1800);
}

TEST(ArenaPlan, large_cases_are_near_the_bound) {
  std::mt19937 random(2);
  ArenaProblem problem;
  // A chain of layers: most values die soon, some live long.
  for (int i = 0; i < 1000; ++i)
    problem.blocks.push_back({int64_t(64 * (1 + random() % 64)), i,
                              i + 1 + int64_t(random() % (i % 10 ? 3 : 40))});
  ArenaPlan plan = planArena(problem);
  EXPECT_EQ(llvm::toString(plan.verify(problem)), "");
  EXPECT_LE(plan.bytes, problem.lowerBound() * 6 / 5);
}

TEST(ArenaPlan, verify_finds_what_is_wrong) {
  ArenaProblem problem{{{128, 0, 1}, {128, 1, 2}}, 64};
  EXPECT_EQ(llvm::toString(ArenaPlan({{0, 64}, 256}).verify(problem)),
            "blocks 0 and 1 overlap");
  EXPECT_EQ(llvm::toString(ArenaPlan({{0, 130}, 512}).verify(problem)),
            "block 1 is at 130");
  EXPECT_EQ(llvm::toString(ArenaPlan({{0, 128}, 192}).verify(problem)),
            "block 1 is outside the arena");
  EXPECT_EQ(llvm::toString(ArenaPlan({{0}, 128}).verify(problem)),
            "expects an offset for each block");
}

TEST(ArenaPlan, check_finds_what_is_wrong) {
  EXPECT_EQ(llvm::toString(ArenaProblem{{{-1, 0, 1}}, 64}.check()),
            "expects bytes of block 0 not to be negative but got -1");
  EXPECT_EQ(llvm::toString(ArenaProblem{{{8, 2, 1}}, 64}.check()),
            "expects block 0 to end no earlier than it begins but got 2 to 1");
  EXPECT_EQ(llvm::toString(ArenaProblem{{}, 0}.check()),
            "expects an alignment of at least 1 but got 0");
}

} // namespace
