//===- CopyTest.cpp - Strided copies and fills ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies against a loop over multi-indices.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {
constexpr int64_t arenaBytes = 1 << 22, destinationAt = 1 << 21;

struct Case {
  std::vector<int64_t> shape, from, to, fromStarts, toStarts;
};

void check(SingleRank &rank, const Case &c, int64_t size) {
  uint8_t *arena = rank.arena();
  for (int64_t i = 0; i < destinationAt; ++i)
    arena[i] = uint8_t(i * 7 + (i >> 8));
  memset(arena + destinationAt, 0xee, size_t(arenaBytes - destinationAt));
  std::vector<uint8_t> wanted(arena + destinationAt, arena + arenaBytes);
  int32_t dims = int32_t(c.shape.size());
  int64_t count = 1;
  for (int64_t extent : c.shape)
    count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, from = 0, to = 0;
    for (size_t d = c.shape.size(); d-- > 0; rest /= c.shape[d]) {
      int64_t x = rest % c.shape[d];
      from += (x + (c.fromStarts.empty() ? 0 : c.fromStarts[d])) * c.from[d];
      to += (x + (c.toStarts.empty() ? 0 : c.toStarts[d])) * c.to[d];
    }
    memcpy(&wanted[size_t(to * size)], arena + from * size, size_t(size));
  }
  ASSERT_EQ(
      tessera_rt_copy(rank, size, dims, c.shape.data(), 0, c.from.data(),
                      c.fromStarts.empty() ? nullptr : c.fromStarts.data(),
                      destinationAt, c.to.data(),
                      c.toStarts.empty() ? nullptr : c.toStarts.data()),
      0);
  ASSERT_EQ(memcmp(wanted.data(), arena + destinationAt, wanted.size()), 0)
      << "elements of " << size << " bytes, rank " << dims;
}

const Case cases[] = {
    // A scalar, a line, a merged block.
    {{}, {}, {}, {}, {}},
    {{5}, {1}, {1}, {}, {}},
    {{4, 6, 8}, {48, 8, 1}, {48, 8, 1}, {}, {}},
    // A slice with starts; an insertion.
    {{3, 5}, {20, 1}, {5, 1}, {2, 7}, {}},
    {{3, 5}, {5, 1}, {40, 1}, {}, {1, 30}},
    // Transposes.
    {{70, 50}, {1, 70}, {50, 1}, {}, {}},
    {{300, 200}, {1, 300}, {200, 1}, {}, {}},
    {{3, 40, 50}, {1, 3, 120}, {2000, 50, 1}, {}, {}},
    {{2, 3, 4, 5}, {60, 5, 15, 1}, {60, 20, 5, 1}, {}, {}},
    {{7, 9}, {9, 1}, {1, 7}, {}, {}},
    // Broadcasts.
    {{6, 7}, {0, 1}, {7, 1}, {}, {}},
    {{6, 7}, {1, 0}, {7, 1}, {}, {}},
    // Backwards.
    {{9}, {-1}, {1}, {-8}, {}},
    // Nothing.
    {{3, 0, 2}, {1, 1, 1}, {1, 1, 1}, {}, {}},
};
} // namespace

TEST(copy, all_layouts_and_sizes) {
  for (int threads : {1, 2}) {
    SingleRank rank(threads, arenaBytes);
    for (const Case &c : cases)
      for (int64_t size : {1, 2, 4, 8})
        check(rank, c, size);
  }
}

TEST(copy, large_enough_for_threads) {
  SingleRank rank(3, arenaBytes);
  check(rank, {{500, 400}, {1, 500}, {400, 1}, {}, {}}, 8);
  check(rank, {{3, 100000}, {100000, 1}, {100001, 1}, {}, {}}, 4);
}

TEST(copy, fill) {
  SingleRank rank(2, arenaBytes);
  uint16_t *half = reinterpret_cast<uint16_t *>(rank.arena());
  ASSERT_EQ(tessera_rt_fill(rank, 2, 2, 5, 0x3f80), 0);
  EXPECT_EQ(half[0], 0);
  EXPECT_EQ(half[1], 0x3f80);
  EXPECT_EQ(half[5], 0x3f80);
  EXPECT_EQ(half[6], 0);
  ASSERT_EQ(tessera_rt_fill(rank, 8, 0, arenaBytes / 8, -1), 0);
  EXPECT_EQ(rank.arena()[arenaBytes - 1], 0xff);
}

TEST(copy, beyond_the_arena_is_refused) {
  SingleRank rank(1, 4096);
  int64_t shape[1] = {1024}, stride[1] = {1}, starts[1] = {1};
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      tessera_rt_copy(rank, 4, 1, shape, 0, stride, starts, 0, stride, nullptr),
      TESSERA_RT_INVALID);
  EXPECT_EQ(tessera_rt_fill(rank, 4, 8, 1024, 0), TESSERA_RT_INVALID);
  testing::internal::GetCapturedStderr();
}
