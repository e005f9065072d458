//===- RecomputeTest.cpp - Choice of values to keep for the backward ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Recompute/Recompute.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace tessera;

namespace {

/// Appends an op with one value and returns the value's number.
unsigned add(RecomputeProblem &problem, int64_t bytes, int64_t time,
             std::vector<unsigned> operands, bool isNeeded = false,
             bool isRepeatable = true) {
  problem.values.push_back(
      {static_cast<unsigned>(problem.ops.size()), bytes, 0, isNeeded});
  problem.ops.push_back({time, isRepeatable, std::move(operands)});
  return problem.values.size() - 1;
}

/// Bytes and time if these ops are recomputed; none if that is not allowed.
std::optional<std::pair<int64_t, int64_t>>
evaluate(const RecomputeProblem &problem, const std::vector<bool> &isRepeated) {
  std::vector<bool> isNeeded;
  for (const auto &value : problem.values)
    isNeeded.push_back(value.isNeeded);
  int64_t time = 0;
  for (size_t i = 0; i < problem.ops.size(); ++i) {
    if (!isRepeated[i])
      continue;
    if (!problem.ops[i].isRepeatable)
      return std::nullopt;
    time += problem.ops[i].time;
    for (unsigned operand : problem.ops[i].operands)
      isNeeded[operand] = true;
  }
  int64_t bytes = 0;
  for (size_t i = 0; i < problem.values.size(); ++i)
    if (isNeeded[i] && !isRepeated[problem.values[i].op])
      bytes += problem.values[i].bytes;
  return std::make_pair(bytes, time);
}

RecomputeProblem makeRandom(std::mt19937 &random, unsigned numOps) {
  RecomputeProblem problem;
  for (unsigned i = 0; i < numOps; ++i) {
    std::vector<unsigned> operands;
    for (unsigned k = 0; k < problem.values.size(); ++k)
      if (random() % 3 == 0)
        operands.push_back(k);
    add(problem, 1 + random() % 20, random() % 50, operands, random() % 2,
        random() % 4 != 0);
    // A second result, such as statistics.
    if (random() % 4 == 0)
      problem.values.push_back(
          {i, 1 + static_cast<int64_t>(random() % 5), 0, random() % 2 == 0});
  }
  return problem;
}

template <typename Fn>
void forEachSubset(const RecomputeProblem &problem, Fn &&fn) {
  unsigned numOps = problem.ops.size();
  for (unsigned bits = 0; bits < (1u << numOps); ++bits) {
    std::vector<bool> isRepeated;
    for (unsigned i = 0; i < numOps; ++i)
      isRepeated.push_back(bits >> i & 1);
    if (auto cost = evaluate(problem, isRepeated))
      fn(cost->first, cost->second);
  }
}

TEST(Recompute, check) {
  RecomputeProblem problem;
  unsigned x = add(problem, 4, 1, {});
  EXPECT_EQ(llvm::toString(problem.check()), "");
  add(problem, 4, 1, {x, 1});
  EXPECT_EQ(llvm::toString(problem.check()),
            "op 1 expects values of earlier ops but got value 1");
  problem.ops[1] = {-1, true, {x}};
  EXPECT_EQ(llvm::toString(problem.check()),
            "op 1 expects a time of at least 0 but got -1");
  problem.ops.pop_back();
  EXPECT_EQ(llvm::toString(problem.check()),
            "value 1 expects an op and bytes of at least 0 but "
            "got op 1 and 4");
}

/// x -> matmul h -> gelu g: the backward needs all three; g is recomputed from
/// h.
TEST(Recompute, repeats_what_is_made_of_kept_values) {
  RecomputeProblem problem;
  unsigned x = add(problem, 8, 10, {}, true, false);
  unsigned h = add(problem, 32, 100, {x}, true, false);
  unsigned g = add(problem, 32, 1, {h}, true);
  RecomputeChoice all = keepAll(problem), least = keepLeast(problem);
  EXPECT_EQ(all.keptBytes[0], 72);
  EXPECT_EQ(least.keptBytes[0], 40);
  EXPECT_EQ(least.time, 1);
  EXPECT_TRUE(least.isRepeated[problem.values[g].op]);
  EXPECT_FALSE(least.isKept[g]);
}

/// g -> silu s is free to recompute. t, computed from s, must not be computed
/// from a recomputed value. v is kept, because its operand u is not kept.
TEST(Recompute, repeats_for_nothing_what_is_made_of_kept_values) {
  RecomputeProblem problem;
  unsigned g = add(problem, 32, 100, {}, true, false);
  unsigned s = add(problem, 32, 1, {g}, true);
  unsigned t = add(problem, 32, 1, {s}, true);
  unsigned u = add(problem, 32, 100, {}, false, false);
  unsigned v = add(problem, 32, 1, {u}, true);
  for (unsigned value : {s, t, v})
    problem.ops[problem.values[value].op].isFree = true;
  RecomputeChoice choice = repeatFree(problem, keepAll(problem));
  EXPECT_EQ(choice.isRepeated,
            std::vector<bool>({false, true, false, false, false}));
  EXPECT_EQ(choice.isKept, std::vector<bool>({true, false, true, false, true}));
  EXPECT_EQ(choice.keptBytes[0], 96);
}

/// Recomputing an op gains nothing if a larger value must be kept instead.
TEST(Recompute, keeps_the_narrowest_place) {
  RecomputeProblem problem;
  unsigned wide = add(problem, 100, 1, {}, false, false);
  unsigned narrow = add(problem, 10, 1, {wide});
  unsigned last = add(problem, 40, 1, {narrow}, true);
  RecomputeChoice least = keepLeast(problem);
  EXPECT_EQ(least.keptBytes[0], 10);
  EXPECT_TRUE(least.isKept[narrow]);
  EXPECT_FALSE(least.isKept[wide]);
  EXPECT_FALSE(least.isKept[last]);
}

TEST(Recompute, least_is_the_least_of_all_choices) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    RecomputeProblem problem = makeRandom(random, 9);
    ASSERT_EQ(llvm::toString(problem.check()), "");
    int64_t best = keepAll(problem).keptBytes[0];
    forEachSubset(
        problem, [&](int64_t bytes, int64_t) { best = std::min(best, bytes); });
    RecomputeChoice least = keepLeast(problem);
    EXPECT_EQ(least.keptBytes[0], best);
    auto cost = evaluate(problem, least.isRepeated);
    ASSERT_TRUE(cost);
    EXPECT_EQ(cost->first, least.keptBytes[0]);
    EXPECT_EQ(cost->second, least.time);
  }
}

/// The choice fits, and no choice that keeps as few bytes is faster.
TEST(Recompute, within_a_budget) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    RecomputeProblem problem = makeRandom(random, 9);
    int64_t least = keepLeast(problem).keptBytes[0];
    int64_t all = keepAll(problem).keptBytes[0];
    EXPECT_FALSE(keepWithin(problem, least - 1));
    EXPECT_EQ(keepWithin(problem, all)->time, 0);
    for (int64_t budget = least; budget <= all; budget += 7) {
      std::optional<RecomputeChoice> choice = keepWithin(problem, budget);
      ASSERT_TRUE(choice);
      EXPECT_LE(choice->keptBytes[0], budget);
      int64_t fastest = choice->time;
      forEachSubset(problem, [&](int64_t bytes, int64_t time) {
        if (bytes <= choice->keptBytes[0])
          fastest = std::min(fastest, time);
      });
      // Within a hundredth of the price of a byte, which is at most the price
      // of the most expensive op.
      EXPECT_LE(choice->time, fastest + 0.01 * 50 * 9);
    }
  }
}

/// Among equal layers only as many as necessary are recomputed.
TEST(Recompute, equal_layers_are_decided_one_at_a_time) {
  RecomputeProblem problem;
  unsigned x = add(problem, 0, 0, {}, false, false);
  for (int layer = 0; layer < 100; ++layer)
    add(problem, 1000, 3000, {x}, true);
  std::optional<RecomputeChoice> choice = keepWithin(problem, 70500);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->keptBytes[0], 70000);
  EXPECT_EQ(choice->time, 30 * 3000);
}

/// Each arena has its own limit: one with room recomputes nothing.
TEST(Recompute, places_are_limited_apart) {
  RecomputeProblem problem;
  problem.numPlaces = 2;
  unsigned x = add(problem, 0, 0, {}, false, false);
  for (int layer = 0; layer < 20; ++layer) {
    add(problem, 1000, 3000, {x}, true);
    problem.values.back().place = layer >= 10;
  }
  std::optional<RecomputeChoice> choice = keepWithin(problem, {4500, 10000});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->keptBytes, (std::vector<int64_t>{4000, 10000}));
  EXPECT_EQ(choice->time, 6 * 3000);
  EXPECT_EQ(keepWithin(problem, {10000, 2000})->keptBytes,
            (std::vector<int64_t>{10000, 2000}));
  problem.values.back().place = 2;
  EXPECT_EQ(llvm::toString(problem.check()),
            "value 20 expects one of 2 places but got 2");
}

/// Fits an arena of a single rank.
static std::optional<int64_t> fitOne(KeptRange range, int64_t limit,
                                     llvm::function_ref<int64_t(int64_t)> arena,
                                     int64_t &needed) {
  std::vector<int64_t> all;
  auto kept = fitKeptBytes(
      range, limit,
      [&](llvm::ArrayRef<int64_t> bytes) {
        return std::vector<int64_t>{arena(bytes.front())};
      },
      all);
  needed = all.front();
  return kept ? std::optional(kept->front()) : std::nullopt;
}

TEST(Recompute, fits_the_arena_of_each_place) {
  // The first arena has more bytes that it cannot free.
  auto measure = [](llvm::ArrayRef<int64_t> kept) {
    return std::vector<int64_t>{3000 + kept[0], 1000 + kept[1] / 2};
  };
  KeptRange ranges[] = {{100, 4000}, {100, 4000}};
  std::vector<int64_t> needed;
  auto kept = fitKeptBytes(ranges, 5000, measure, needed);
  ASSERT_TRUE(kept);
  EXPECT_LE((*kept)[0], 2000);
  EXPECT_GT((*kept)[0], 1900);
  EXPECT_EQ((*kept)[1], 4000);
  EXPECT_FALSE(fitKeptBytes(ranges, 3050, measure, needed));
  EXPECT_EQ(needed, (std::vector<int64_t>{3100, 3000}));
}

TEST(Recompute, fits_an_arena_by_trial) {
  // Two thirds of the kept bytes are live at the peak, in steps of a tensor.
  int calls = 0;
  auto measure = [&](int64_t kept) {
    ++calls;
    return 1000 + kept / 64 * 64 * 2 / 3;
  };
  for (int64_t limit : {1100, 1500, 3000, 7000}) {
    calls = 0;
    int64_t needed = 0;
    std::optional<int64_t> kept = fitOne({100, 8192}, limit, measure, needed);
    ASSERT_TRUE(kept);
    EXPECT_LE(calls, 12);
    EXPECT_LE(measure(*kept), limit);
    if (*kept < 8192) // the boundary of the search
      EXPECT_GT(measure(*kept + 300), limit);
  }
  int64_t needed = 0;
  EXPECT_FALSE(fitOne({100, 8192}, 1000, measure, needed));
  EXPECT_EQ(needed, measure(100));
}

TEST(Recompute, fits_an_arena_that_is_not_monotone) {
  // If too little is kept, all recomputed values are live at once.
  auto measure = [](int64_t kept) {
    return 5000 + std::abs(kept - 3000) + kept % 7 * 20;
  };
  int64_t needed = 0;
  for (int64_t limit = 5120; limit < 9000; limit += 97) {
    std::optional<int64_t> kept = fitOne({0, 6000}, limit, measure, needed);
    ASSERT_TRUE(kept);
    EXPECT_LE(measure(*kept), limit);
  }
}

} // namespace
