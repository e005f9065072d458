//===- ActionListTest.cpp - Lists of actions as text ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/ActionList.h"
#include "tessera/Schedule/Generators.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::schedule;

static std::string parseError(llvm::StringRef text) {
  auto actions = parseActions(text);
  return actions ? "" : llvm::toString(actions.takeError());
}

TEST(ActionList, ThereAndBack) {
  for (ScheduleKind kind : allScheduleKinds()) {
    auto problem = makeProblem(kind, /*ranks=*/4, /*chunks=*/2,
                               /*microBatches=*/8);
    ASSERT_TRUE(bool(problem));
    Schedule schedule = generate(kind, *problem);
    insertTransfers(*problem, schedule);
    for (const std::vector<Action> &actions : schedule.ranks) {
      auto read = parseActions(printActions(actions));
      ASSERT_TRUE(bool(read));
      EXPECT_EQ(*read, actions);
    }
    StageRanks paths = getStageRanks(*problem);
    auto found = findProblem(paths, problem->microBatches);
    ASSERT_TRUE(bool(found));
    EXPECT_EQ(getStageRanks(*found), paths);
    EXPECT_EQ(found->ranks, problem->ranks);
    EXPECT_EQ(found->chunks, problem->chunks);
  }
}

TEST(ActionList, Errors) {
  EXPECT_EQ(parseError("F0.0  BW0.0 F1.2|BW0.1"), "");
  for (const char *word : {"F", "F0", "F0.", "F-1.0", "X0.0", "F0.0x",
                           "B0.0|BW0.0", "F0.0|W0.0", "F0.0|BW0"})
    EXPECT_EQ(parseError(word),
              "expects actions such as F0.3, BW0.3, sA0.3 or F0.3|BW1.2 but "
              "got '" +
                  std::string(word) + "'");
}

TEST(ActionList, NoProblem) {
  auto found = findProblem({{0, 1, 2}, {0, 2, 1}}, 4);
  ASSERT_FALSE(bool(found));
  EXPECT_EQ(llvm::toString(found.takeError()),
            "expects one path, or one down the pp ranks and one up");
}
