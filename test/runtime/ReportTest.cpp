//===- ReportTest.cpp - Numbers of reports --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that take longer than others.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/run/Report.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

TEST(report, ranks_that_are_slower_than_the_median_are_slow) {
  std::vector<SlowRank> slow = findSlowRanks({1, 1.19, 1.3, 1, 0.9}, {1, 1});
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].rank, 2);
  EXPECT_DOUBLE_EQ(slow[0].ratio, 1.3);
  // The faster one of two is the median.
  slow = findSlowRanks({1.5, 1}, {1, 1});
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].rank, 0);
  EXPECT_TRUE(findSlowRanks({0.09, 0.01}, {1, 1}).empty());
  EXPECT_TRUE(findSlowRanks({1}, {1, 1}).empty());
}

TEST(report, ranks_are_compared_within_their_stage) {
  // Ranks 0 and 1 are the first stage, which has more to do.
  std::vector<SlowRank> slow = findSlowRanks({3, 3.1, 1, 1.3}, {2, 2});
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].rank, 3);
}
