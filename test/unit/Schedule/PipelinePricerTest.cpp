//===- PipelinePricerTest.cpp - The extrapolation equals the simulation ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/PipelinePricer.h"
#include "gtest/gtest.h"
#include <random>

using namespace tessera;
using namespace tessera::schedule;

namespace {

/// A pipeline of a repeated-layer model: inner stages are equal, the first and
/// the last may differ by an embedding, a head, or a layer less.
struct Plan {
  ScheduleKind kind;
  ScheduleProblem problem;
  PipelineTimes times;
  double kept;
};

class RandomPlans {
public:
  explicit RandomPlans(unsigned seed) : random(seed) {}

  Plan next() {
    for (;;) {
      Plan plan;
      plan.kind = pick(allScheduleKinds());
      int p = pick<int>({2, 4, 8, 12, 16, 32, 64});
      int v = pick<int>({1, 2, 4, 8});
      int m = pick<int>({1, 2, 5, 8, 16, 24, 48, 64, 96, 128, 256, 512});
      if (plan.kind == ScheduleKind::Interleaved) {
        m = p * pick<int>({1, 2, 3, 4, 8, 16});
        if (random() % 2)
          m += random() % p;
      }
      // Full automatic schedules of wide pipelines are too slow for a test.
      bool isAutomatic = plan.kind == ScheduleKind::ZeroBubble1P ||
                         plan.kind == ScheduleKind::ZeroBubble2P;
      if (isAutomatic && p > 16)
        continue;
      auto problem = makeProblem(plan.kind, p, v, m);
      if (!problem) {
        llvm::consumeError(problem.takeError());
        continue;
      }
      plan.problem = *problem;
      plan.kept = real(0.4, 1);
      plan.times = PipelineTimes::uniform(
          plan.problem, {1, real(0.9, 1.3), real(0.6, 1), -1}, real(0, 0.1));
      if (random() % 3)
        changeEnds(plan);
      return plan;
    }
  }

private:
  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
  template <typename T> T pick(llvm::ArrayRef<T> choices) {
    return choices[random() % choices.size()];
  }
  void changeEnds(Plan &plan) {
    double first = real(0.7, 1.2), last = real(0.7, 1.4);
    const ScheduleProblem &problem = plan.problem;
    for (int m : {0, problem.microBatches - 1})
      for (auto [stage, factor] :
           {std::pair(0, first), std::pair(problem.stages() - 1, last)}) {
        Slot slot = problem.slotOf(stage, m);
        ChunkTimes &times =
            plan.times.chunks[slot.rank * problem.chunks + slot.chunk];
        times = {factor, factor, factor * 0.8, -1};
      }
  }
  std::mt19937 random;
};

TEST(PipelinePricer, equals_the_whole_simulation) {
  RandomPlans plans(2024);
  PipelinePricer fast, whole(/*maxSteps=*/0);
  // Plans that are small enough for a full simulation are not counted.
  for (int shortened = 0; shortened < 200;) {
    Plan plan = plans.next();
    SCOPED_TRACE(testing::Message()
                 << stringify(plan.kind).str() << " on " << plan.problem.ranks
                 << " ranks, " << plan.problem.chunks << " chunks, "
                 << plan.problem.microBatches << " micro-batches");
    if (plan.problem.ranks * plan.problem.chunks * plan.problem.microBatches <
        7000)
      continue;
    ++shortened;
    CompiledSchedule::Ends expected =
        whole.price(plan.kind, plan.problem, plan.times, plan.kept);
    CompiledSchedule::Ends got =
        fast.price(plan.kind, plan.problem, plan.times, plan.kept);
    EXPECT_NEAR(got.makespan / expected.makespan, 1, 0.005);
    EXPECT_NEAR(got.span / expected.span, 1, 0.005);
  }
}

/// Cached schedules of earlier queries must not change a result.
TEST(PipelinePricer, does_not_depend_on_what_was_asked_before) {
  RandomPlans plans(7);
  std::vector<Plan> list;
  for (int i = 0; i < 40; ++i)
    list.push_back(plans.next());
  PipelinePricer used;
  for (const Plan &plan : list)
    used.price(plan.kind, plan.problem, plan.times, plan.kept);
  for (const Plan &plan : list) {
    PipelinePricer fresh;
    auto a = used.price(plan.kind, plan.problem, plan.times, plan.kept);
    auto b = fresh.price(plan.kind, plan.problem, plan.times, plan.kept);
    EXPECT_EQ(a.makespan, b.makespan);
    EXPECT_EQ(a.span, b.span);
  }
}

/// An embedding by itself takes little or no time.
TEST(PipelinePricer, stages_may_take_no_time) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::ZeroBubble2P, 4, 1, 12));
  PipelineTimes times = PipelineTimes::uniform(problem, {1, 1, 1, -1});
  times.chunks[0] = {0, 0, 0, -1};
  auto ends =
      PipelinePricer().price(ScheduleKind::ZeroBubble2P, problem, times);
  EXPECT_GE(ends.span, 36);
  EXPECT_LT(ends.span, 40);
}

TEST(PipelinePricer, counts_live_micro_batches_as_the_whole_schedule) {
  for (ScheduleKind kind : allScheduleKinds())
    for (int m : {16, 24, 36, 38, 64, 78, 136, 142})
      for (double kept : {0.0, 0.5, 1.0}) {
        SCOPED_TRACE(testing::Message()
                     << stringify(kind).str() << " " << m << " kept " << kept);
        ScheduleProblem problem = llvm::cantFail(makeProblem(kind, 8, 2, m));
        auto live = PipelinePricer().liveAtPeak(kind, problem, kept);
        AutoOptions options;
        options.keptForWeightGrad = kept;
        auto whole =
            liveAtPeak(problem, generate(kind, problem, options), kept);
        bool isAutomatic = kind == ScheduleKind::ZeroBubble1P ||
                           kind == ScheduleKind::ZeroBubble2P;
        if (!isAutomatic)
          EXPECT_EQ(live, whole);
        else
          for (int rank = 0; rank < 8; ++rank)
            EXPECT_GE(live[rank][0], whole[rank][0]) << rank;
      }
}

/// Problems cached for other numbers of micro-batches equal new ones, with the
/// same errors.
TEST(PipelinePricerTest, problems_that_are_kept_are_those_that_are_made) {
  PipelinePricer pricer;
  for (int repeat = 0; repeat < 2; ++repeat)
    for (ScheduleKind kind : allScheduleKinds())
      for (int p : {1, 2, 4, 5})
        for (int m : {8, 10, 7, 1, 0}) {
          auto kept = pricer.getProblem(kind, p, /*chunks=*/3, m);
          auto made = makeProblem(kind, p, /*chunks=*/3, m);
          ASSERT_EQ(bool(kept), bool(made)) << p << ' ' << m;
          if (!made) {
            EXPECT_EQ(llvm::toString(kept.takeError()),
                      llvm::toString(made.takeError()));
            continue;
          }
          EXPECT_EQ(kept->microBatches, m);
          EXPECT_EQ(kept->numLinks(), made->numLinks());
          EXPECT_EQ(generate(kind, *kept), generate(kind, *made));
        }
}

} // namespace
