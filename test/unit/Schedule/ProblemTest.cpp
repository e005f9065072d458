//===- ProblemTest.cpp - Ranks of stages ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Schedule.h"
#include "gtest/gtest.h"

using namespace tessera::schedule;

namespace {

/// The ranks of a micro-batch's stages.
std::vector<int> path(const ScheduleProblem &problem, int microBatch) {
  std::vector<int> ranks;
  for (int stage = 0; stage < problem.stages(); ++stage) {
    Slot slot = problem.slotOf(stage, microBatch);
    EXPECT_EQ(problem.stageOf(slot), stage);
    EXPECT_TRUE(problem.passes(slot, microBatch));
    ranks.push_back(slot.rank);
  }
  return ranks;
}

std::vector<int> links(const ScheduleProblem &problem, int microBatch) {
  std::vector<int> numbers;
  for (int stage = 0; stage + 1 < problem.stages(); ++stage)
    numbers.push_back(problem.linkOf(stage, microBatch).value_or(-1));
  return numbers;
}

TEST(Problem, known_placements) {
  auto loop = llvm::cantFail(ScheduleProblem::make(Placement::Loop, 3, 2, 4));
  EXPECT_EQ(path(loop, 0), (std::vector<int>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(links(loop, 0), (std::vector<int>{0, 1, 2, 0, 1}));
  EXPECT_EQ(loop.numLinks(), 3);
  EXPECT_EQ(loop.chunkShare(), 0.5);
  auto vee = llvm::cantFail(ScheduleProblem::make(Placement::Vee, 3, 2, 4));
  EXPECT_EQ(path(vee, 0), (std::vector<int>{0, 1, 2, 2, 1, 0}));
  EXPECT_EQ(links(vee, 0), (std::vector<int>{0, 1, -1, 1, 0}));
  auto both =
      llvm::cantFail(ScheduleProblem::make(Placement::Bidirectional, 3, 2, 4));
  EXPECT_EQ(path(both, 1), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(path(both, 2), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(links(both, 2), (std::vector<int>{1, 0}));
  EXPECT_FALSE(both.passes({0, 0}, 2));
  EXPECT_EQ(both.firstMicroBatchOf({0, 1}), 2);
  EXPECT_EQ(both.chunkShare(), 1);
  // One link joins two ranks, in whichever direction the path goes.
  EXPECT_EQ(llvm::cantFail(ScheduleProblem::make(Placement::Loop, 2, 3, 1))
                .numLinks(),
            1);
  EXPECT_EQ(ScheduleProblem().stages(), 1);
}

TEST(Problem, stages_anywhere) {
  auto problem = llvm::cantFail(ScheduleProblem::make({1, 0, 2, 0, 1, 2}, 5));
  EXPECT_EQ(problem.ranks, 3);
  EXPECT_EQ(problem.chunks, 2);
  EXPECT_EQ(path(problem, 4), (std::vector<int>{1, 0, 2, 0, 1, 2}));
  EXPECT_EQ(problem.slotOf(3, 0), (Slot{0, 1}));
  EXPECT_EQ(links(problem, 0), (std::vector<int>{0, 1, 1, 0, 2}));
  EXPECT_EQ(problem.numLinks(), 3);
  EXPECT_EQ(llvm::toString(ScheduleProblem::make({0, 1, 1}, 2).takeError()),
            "expects as many stages on each rank but got 1 on rank 0 and 2 on "
            "rank 1");
  EXPECT_EQ(llvm::toString(
                ScheduleProblem::make(llvm::ArrayRef<int>(), 2).takeError()),
            "expects pipeline ranks to be at least 1 but got 0");
}

} // namespace
