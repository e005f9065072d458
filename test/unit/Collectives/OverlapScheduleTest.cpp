//===- OverlapScheduleTest.cpp - Overlap of work and transfers ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Collectives/OverlapSchedule.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace tessera;

namespace {

constexpr auto Runs = OverlapEvent::Run;
constexpr auto Starts = OverlapEvent::Start;
constexpr auto Waits = OverlapEvent::Wait;

OverlapTask work(double seconds, llvm::ArrayRef<unsigned> after = {}) {
  OverlapTask task;
  task.seconds = seconds;
  task.after.assign(after.begin(), after.end());
  return task;
}

OverlapTask transfer(double seconds, llvm::ArrayRef<unsigned> after = {},
                     int communicator = 0) {
  OverlapTask task = work(seconds, after);
  task.communicator = communicator;
  return task;
}

OverlapOrder scheduled(const OverlapProblem &problem,
                       int64_t limit = INT64_MAX / 2) {
  EXPECT_EQ(llvm::toString(problem.check()), "");
  OverlapOrder order = scheduleOverlap(problem, limit);
  EXPECT_EQ(llvm::toString(verifyOverlap(problem, order)), "");
  return order;
}

/// Checks that only invalid problems are refused.
TEST(OverlapSchedule, checks_problems) {
  OverlapProblem problem;
  problem.tasks = {work(1), transfer(2, {0})};
  EXPECT_EQ(llvm::toString(problem.check()), "");
  problem.tasks[0].after = {1};
  EXPECT_TRUE(llvm::errorToBool(problem.check()));
  problem.tasks[0] = work(-1);
  EXPECT_TRUE(llvm::errorToBool(problem.check()));
  problem.tasks[0] = work(1);
  problem.tasks[1].isBarrier = true;
  EXPECT_TRUE(llvm::errorToBool(problem.check()));
  problem.tasks[1].isBarrier = false;
  problem.tasks[1].notBefore = 2;
  EXPECT_TRUE(llvm::errorToBool(problem.check()));
  problem.tasks[1].notBefore = 0;
  problem.blocks = {{16, {2}}};
  EXPECT_TRUE(llvm::errorToBool(problem.check()));
}

TEST(OverlapSchedule, orders_that_are_wrong) {
  OverlapProblem problem;
  problem.tasks = {work(1), transfer(2, {0}), work(1, {1})};
  OverlapOrder right = {{Runs, 0}, {Starts, 1}, {Waits, 1}, {Runs, 2}};
  EXPECT_EQ(llvm::toString(verifyOverlap(problem, right)), "");
  for (OverlapOrder wrong : {
           OverlapOrder{{Starts, 1}, {Runs, 0}, {Waits, 1}, {Runs, 2}},
           OverlapOrder{{Runs, 0}, {Starts, 1}, {Runs, 2}, {Waits, 1}},
           OverlapOrder{{Runs, 0}, {Starts, 1}, {Waits, 1}},
           OverlapOrder{
               {Runs, 0}, {Starts, 1}, {Waits, 1}, {Waits, 1}, {Runs, 2}},
           OverlapOrder{{Runs, 0}, {Runs, 1}, {Runs, 2}},
           OverlapOrder{
               {Runs, 0}, {Runs, 0}, {Starts, 1}, {Waits, 1}, {Runs, 2}},
       })
    EXPECT_TRUE(llvm::errorToBool(verifyOverlap(problem, wrong)));
  problem.tasks.insert(problem.tasks.begin(), transfer(1));
  problem.tasks = {transfer(1), work(1), transfer(1), work(1)};
  problem.tasks[1].isBarrier = true;
  EXPECT_TRUE(
      llvm::errorToBool(verifyOverlap(problem, OverlapOrder{{Starts, 2},
                                                            {Starts, 0},
                                                            {Runs, 1},
                                                            {Waits, 0},
                                                            {Waits, 2},
                                                            {Runs, 3}})));
  problem.maxInFlight = 1;
  EXPECT_TRUE(
      llvm::errorToBool(verifyOverlap(problem, OverlapOrder{{Starts, 0},
                                                            {Runs, 1},
                                                            {Starts, 2},
                                                            {Waits, 0},
                                                            {Waits, 2},
                                                            {Runs, 3}})));
}

/// Two collectives of one communicator run one after the other; two of
/// different communicators overlap.
TEST(OverlapSchedule, times_and_exposure) {
  OverlapProblem problem;
  problem.tasks = {transfer(2), transfer(2), work(3), work(1, {0, 1})};
  OverlapOrder order = {{Starts, 0}, {Starts, 1}, {Runs, 2},
                        {Waits, 0},  {Waits, 1},  {Runs, 3}};
  OverlapTimes times = timeOverlap(problem, order);
  EXPECT_DOUBLE_EQ(times.seconds, 5);
  EXPECT_DOUBLE_EQ(times.spans[0].exposed, 0);
  EXPECT_DOUBLE_EQ(times.spans[1].begin, 2);
  EXPECT_DOUBLE_EQ(times.spans[1].exposed, 1);
  problem.tasks[1].communicator = 1;
  times = timeOverlap(problem, order);
  EXPECT_DOUBLE_EQ(times.seconds, 4);
  EXPECT_DOUBLE_EQ(times.spans[1].exposed, 0);
  EXPECT_DOUBLE_EQ(timeOverlap(problem, getBlockingOrder(problem)).seconds, 8);
}

/// A gradient's reduction overlaps with the rest of the backward.
TEST(OverlapSchedule, reductions_run_beside_the_backward) {
  OverlapProblem problem;
  problem.tasks = {work(1), transfer(2, {0}), work(2, {0}), work(1, {1, 2})};
  OverlapOrder order = scheduled(problem);
  EXPECT_EQ(
      order,
      (OverlapOrder{{Runs, 0}, {Starts, 1}, {Runs, 2}, {Waits, 1}, {Runs, 3}}));
  EXPECT_DOUBLE_EQ(timeOverlap(problem, order).seconds, 4);
}

/// Work that does not depend on a stalled step runs first.
TEST(OverlapSchedule, independent_work_fills_a_stall) {
  OverlapProblem problem;
  problem.tasks = {work(1), transfer(3, {0}), work(1, {1}), work(3, {0}),
                   work(1, {2, 3})};
  OverlapOrder order = scheduled(problem);
  EXPECT_EQ(order, (OverlapOrder{{Runs, 0},
                                 {Starts, 1},
                                 {Runs, 3},
                                 {Waits, 1},
                                 {Runs, 2},
                                 {Runs, 4}}));
}

/// The collective that is needed first uses the links first.
TEST(OverlapSchedule, urgent_before_early) {
  OverlapProblem problem;
  problem.tasks = {work(1),      transfer(5, {0}), transfer(1, {0}), work(1),
                   work(1, {2}), work(9),          work(1, {1})};
  OverlapOrder order = scheduled(problem);
  auto at = [&](OverlapEvent event) {
    return std::find(order.begin(), order.end(), event) - order.begin();
  };
  EXPECT_LT(at({Starts, 2}), at({Starts, 1}));
  EXPECT_DOUBLE_EQ(timeOverlap(problem, order).seconds, 13);
}

/// Gathers of parameters stay one layer ahead.
TEST(OverlapSchedule, gathers_no_earlier_than_allowed) {
  OverlapProblem problem;
  for (unsigned layer = 0; layer < 4; ++layer) {
    OverlapTask gather = transfer(1);
    gather.notBefore = layer == 0 ? 0 : 2 * layer - 1;
    problem.tasks.push_back(gather);
    problem.tasks.push_back(work(2, {2 * layer}));
    if (layer)
      problem.tasks.back().after.push_back(2 * layer - 1);
    problem.blocks.push_back({100, {2 * layer, 2 * layer + 1}});
  }
  OverlapOrder order = scheduled(problem);
  OverlapTimes times = timeOverlap(problem, order);
  EXPECT_DOUBLE_EQ(times.seconds, 9);
  EXPECT_EQ(times.peakBytes, 200);
  // No layer is gathered ahead if there is no room for two.
  OverlapTimes tight = timeOverlap(problem, scheduled(problem, 100));
  EXPECT_EQ(tight.peakBytes, 100);
  EXPECT_DOUBLE_EQ(tight.seconds, 12);
}

/// A source that nothing else needs is freed some time after the end.
TEST(OverlapSchedule, waits_early_where_that_frees_memory) {
  OverlapProblem problem;
  problem.tasks = {work(1), transfer(1, {0})};
  problem.blocks = {{1000, {0, 1}}, {10, {1}}};
  for (unsigned i = 0; i < 6; ++i)
    problem.tasks.push_back(work(1));
  problem.tasks.push_back(work(1, {1}));
  problem.blocks[1].tasks.push_back(8);
  OverlapOrder order = scheduled(problem);
  auto wait = std::find(order.begin(), order.end(), OverlapEvent{Waits, 1});
  EXPECT_EQ(wait - order.begin(), 4);
}

TEST(OverlapSchedule, no_work_at_all) {
  EXPECT_TRUE(scheduled({}).empty());
  OverlapProblem problem;
  problem.tasks = {transfer(1), transfer(1, {0}), transfer(1)};
  EXPECT_EQ(scheduled(problem).size(), 6u);
}

//===----------------------------------------------------------------------===//
// Random programs
//===----------------------------------------------------------------------===//

OverlapProblem randomProblem(std::mt19937 &random) {
  auto pick = [&](unsigned n) { return unsigned(random() % n); };
  OverlapProblem problem;
  unsigned n = 1 + pick(40);
  for (unsigned i = 0; i < n; ++i) {
    OverlapTask task = work(pick(4) ? pick(9) : 0);
    if (pick(3) == 0)
      task.communicator = int(pick(2));
    else if (pick(10) == 0)
      task.isBarrier = true;
    if (pick(10) == 0)
      task.insideBytes = pick(100);
    for (unsigned other = 0; other < i; ++other)
      if (pick(6) == 0)
        task.after.push_back(other);
    task.notBefore = pick(3) ? 0 : pick(i + 1);
    problem.tasks.push_back(task);
  }
  for (unsigned i = 0; i < n; ++i) {
    OverlapBlock block{pick(200), {i}};
    for (unsigned j = i + 1; j < n; ++j)
      if (llvm::is_contained(problem.tasks[j].after, i))
        block.tasks.push_back(j);
    problem.blocks.push_back(block);
  }
  problem.maxInFlight = 1 + pick(6);
  return problem;
}

/// Any problem gives a valid order, within the limit, not slower than waiting
/// for each collective at once, and the same order each time.
TEST(OverlapSchedule, random_programs) {
  std::mt19937 random(7);
  unsigned faster = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    OverlapProblem problem = randomProblem(random);
    OverlapTimes blocking = timeOverlap(problem, getBlockingOrder(problem));
    int64_t limit = blocking.peakBytes + int64_t(random() % 300);
    OverlapOrder order = scheduled(problem, limit);
    OverlapTimes times = timeOverlap(problem, order);
    ASSERT_LE(times.peakBytes, limit) << "round " << round;
    ASSERT_LE(times.seconds, blocking.seconds + 1e-9) << "round " << round;
    ASSERT_EQ(order, scheduleOverlap(problem, limit));
    double computing = 0;
    for (const OverlapTask &task : problem.tasks)
      computing += task.isTransfer() ? 0 : task.seconds;
    ASSERT_GE(times.seconds, computing - 1e-9);
    for (size_t i = 0; i < problem.tasks.size(); ++i)
      ASSERT_LE(times.spans[i].exposed, problem.tasks[i].seconds + 1e-9);
    faster += times.seconds < blocking.seconds;
  }
  EXPECT_GT(faster, 2000u);
}

/// Parameters that are gathered on two levels: chains of collectives with room
/// for only a few of them at a time.
TEST(OverlapSchedule, chains_of_collectives_in_little_memory) {
  std::mt19937 random(11);
  auto pick = [&](unsigned n) { return unsigned(random() % n); };
  for (unsigned round = 0; round < 2000; ++round) {
    OverlapProblem problem;
    auto add = [&](OverlapTask task) {
      problem.tasks.push_back(std::move(task));
      return unsigned(problem.tasks.size() - 1);
    };
    unsigned layers = 2 + pick(10);
    std::optional<unsigned> before;
    for (unsigned layer = 0; layer < layers; ++layer) {
      unsigned last = add(transfer(1 + pick(5), {}, int(pick(2))));
      for (unsigned level = pick(3); level-- > 0;) {
        unsigned next = add(transfer(1 + pick(5), {last}, int(pick(2))));
        problem.blocks.push_back({1 + pick(100), {last, next}});
        last = next;
      }
      OverlapTask compute = work(1 + pick(4), {last});
      if (before)
        compute.after.push_back(*before);
      unsigned used = add(std::move(compute));
      problem.blocks.push_back({1 + pick(100), {last, used}});
      before = used;
    }
    problem.maxInFlight = 1 + pick(6);
    OverlapTimes blocking = timeOverlap(problem, getBlockingOrder(problem));
    int64_t limit = blocking.peakBytes - int64_t(pick(100));
    OverlapOrder order = scheduled(problem, limit);
    ASSERT_LE(timeOverlap(problem, order).peakBytes, blocking.peakBytes)
        << "round " << round;
  }
}

} // namespace
