//===- BlocksTest.cpp - Watched blocks of memory --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tessera::rt;

TEST(blocks, what_is_forgotten_is_no_number) {
  SingleRank rank(1, 4096);
  float *block = reinterpret_cast<float *>(rank.arena() + 256);
  block[0] = block[9] = 1;
  ASSERT_EQ(tessera_rt_block_begin(rank, 256, 40, 1), 0);
  EXPECT_TRUE(std::isnan(block[0]) && std::isnan(block[9]));
  block[0] = block[9] = 2;
  ASSERT_EQ(tessera_rt_block_end(rank, 256, 40, 0), 0);
  EXPECT_EQ(block[9], 2);
  ASSERT_EQ(tessera_rt_block_end(rank, 256, 40, 1), 0);
  EXPECT_TRUE(std::isnan(block[0]) && std::isnan(block[9]));
}

TEST(blocks, a_write_after_a_block_is_found) {
  for (int64_t beyond : {0, 1, 63}) {
    SingleRank rank(1, 4096);
    ASSERT_EQ(tessera_rt_block_begin(rank, 64, 100, 0), 0);
    ASSERT_EQ(tessera_rt_block_end(rank, 64, 100, 0), 0);
    rank.arena()[64 + 100 + beyond] = 1;
    EXPECT_EQ(tessera_rt_block_end(rank, 64, 100, 0), TESSERA_RT_INVALID);
  }
}
