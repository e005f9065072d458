//===- SplitPointsTest.cpp - Splits compared with all splits --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/SplitPoints.h"
#include "tessera/Schedule/PipelinePricer.h"
#include "gtest/gtest.h"
#include <random>

using namespace tessera;
using namespace tessera::schedule;

namespace {

/// A model with `blocks` blocks of two segments each, and an embedding and a
/// head with their own times.
SplitProblem makeModel(std::mt19937 &random, int blocks, int stages) {
  std::uniform_real_distribution<double> seconds(0.5, 2);
  SplitProblem problem;
  problem.stages = stages;
  auto add = [&](double f) { problem.segments.push_back({f, f, f * 0.9}); };
  add(seconds(random) * 0.2);
  double attention = seconds(random), mlp = seconds(random);
  for (int i = 0; i < blocks; ++i) {
    add(attention);
    add(mlp);
  }
  add(seconds(random) * 2);
  for (size_t i = 1; i < problem.segments.size(); ++i) {
    // Small numbers, so that several points have the same bytes.
    double bytes = double(1 + random() % 3);
    problem.points.push_back({bytes, bytes});
  }
  return problem;
}

/// Calls `visit` with every split.
void forEachSplit(const SplitProblem &problem,
                  llvm::function_ref<void(const SplitPoints &)> visit) {
  SplitPoints points;
  int count = problem.segments.size();
  auto choose = [&](auto &self, int from) -> void {
    if (int(points.size()) + 1 == problem.stages)
      return visit(points);
    for (int point = from; point < count; ++point) {
      points.push_back(point);
      self(self, point + 1);
      points.pop_back();
    }
  };
  choose(choose, 1);
}

TEST(SplitPoints,
     no_split_has_a_shorter_longest_stage_or_as_short_and_fewer_bytes) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 40; ++trial) {
    SplitProblem problem = makeModel(random, 2 + trial % 4, 2 + trial % 3);
    ASSERT_FALSE(bool(problem.check()));
    SplitCost cost = getSplitCost(problem, minimizeLongest(problem));
    forEachSplit(problem, [&](const SplitPoints &points) {
      SplitCost other = getSplitCost(problem, points);
      EXPECT_GE(other.longest, cost.longest * (1 - 1e-9));
      if (other.longest <= cost.longest)
        EXPECT_GE(other.bytes, cost.bytes);
    });
  }
}

TEST(SplitPoints, makespan_is_near_that_of_the_best_split) {
  std::mt19937 random(2);
  PipelinePricer pricer;
  for (ScheduleKind kind : {ScheduleKind::OneFOneB, ScheduleKind::ZeroBubbleH1,
                            ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe})
    for (int trial = 0; trial < 5; ++trial) {
      ScheduleProblem pipeline =
          llvm::cantFail(makeProblem(kind, /*ranks=*/2, /*chunks=*/1,
                                     /*microBatches=*/8));
      SplitProblem problem =
          makeModel(random, 3 + trial % 3, pipeline.stages());
      auto price = [&](const SplitPoints &points) {
        PipelineTimes times =
            makePipelineTimes(pipeline, problem, points,
                              [](double bytes) { return bytes * 0.02; });
        return pricer.price(kind, pipeline, times).makespan;
      };
      double best = std::numeric_limits<double>::infinity();
      forEachSplit(problem, [&](const SplitPoints &points) {
        best = std::min(best, price(points));
      });
      SplitPoints first = minimizeLongest(problem);
      double found = price(improveSplit(problem, first, price));
      EXPECT_LE(found, price(first));
      EXPECT_LE(found, best * 1.01) << "trial " << trial;
    }
}

TEST(SplitPoints, the_number_of_prices_is_limited) {
  std::mt19937 random(3);
  SplitProblem problem = makeModel(random, 6, 4);
  int asked = 0;
  improveSplit(
      problem, {1, 2, 3}, [&](const SplitPoints &) { return -double(++asked); },
      /*maxPrices=*/10);
  EXPECT_EQ(asked, 10);
}

TEST(SplitPoints, errors) {
  SplitProblem problem;
  problem.segments.resize(3);
  problem.points.resize(2);
  problem.stages = 4;
  EXPECT_EQ(llvm::toString(problem.check()),
            "expects at most 3 stages but got 4");
  problem.stages = 2;
  problem.points.resize(1);
  EXPECT_EQ(llvm::toString(problem.check()),
            "expects a point between any two of 3 segments but got 1");
  problem.points.resize(2);
  problem.points[1].gradient = -1;
  EXPECT_EQ(llvm::toString(problem.check()),
            "expects no negative seconds or bytes");
}

} // namespace
